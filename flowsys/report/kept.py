"""What takes long is made once: parts of the page are kept on disk until the code that makes them changes."""

import hashlib
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import flowsys
from flowsys.files import write_text


@lru_cache(maxsize=1)
def digest_of_sources() -> str:
    """A digest of every source file of the package and of the stored runs beside them; verdicts make no picture."""
    root, found = Path(flowsys.__file__).parent, hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".json") and p.name != "verdicts.json"):
        found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def kept(directory: Path | None, name: str, make: Callable[[], str]) -> str:
    """The text that `make` gives, read again if the same code made it before; no directory keeps nothing."""
    if directory is None:
        return make()
    path = directory / digest_of_sources() / f"{name}.html"
    if path.exists():
        return path.read_text(encoding="utf-8")
    text = make()
    if not path.parent.exists():  # other code made what else is there
        shutil.rmtree(directory, ignore_errors=True)
        path.parent.mkdir(parents=True)
    write_text(path, text)
    return text
