"""Results kept on disk until the code that makes them changes: the dear parts of a report, a check that was broken off.

A system's results depend on its own package and on the engine, not on the other systems. A file that cannot be read
counts as missing; a directory that cannot be written is no error, only slower.
"""

import contextlib
import hashlib
import pickle
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import flowsys
from flowsys.errors import InputError
from flowsys.machine.files import write_atomically

SOURCES = (".py", ".json", ".npz")


@lru_cache(maxsize=16)
def digest_of_sources(system: str | None = None) -> str:
    """A digest of the engine's and a system's source files and stored runs; verdicts on record make nothing.

    Without a system, of the whole package: a model from elsewhere may use any part of it.
    """
    root, found = Path(flowsys.__file__).parent, hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in SOURCES and p.name != "verdicts.json"):
        place = path.relative_to(root)
        if system is None or place.parts[0] != "systems" or place.parts[1] == system:
            found.update(place.as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


class Kept:
    """Named results of a system in a directory, for one digest of its code; without a directory nothing is kept."""

    def __init__(self, directory: Path | None, system: str, digest: str):
        self._all = None if directory is None else directory / system
        self._digest = digest

    def read(self, name: str) -> Any | None:
        """What was kept under a name by the code as it is now."""
        if self._all is None:
            return None
        try:
            return pickle.loads((self._all / self._digest / f"{name}.pickle").read_bytes())
        except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError):
            return None

    def write(self, name: str, value: Any) -> None:
        """Keep a result, and forget those that other code made."""
        if self._all is None:
            return
        path = self._all / self._digest / f"{name}.pickle"
        with contextlib.suppress(OSError, InputError):
            if not path.parent.exists():
                shutil.rmtree(self._all, ignore_errors=True)
                path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda temporary: temporary.write_bytes(pickle.dumps(value)))

    def forget(self, name: str) -> None:
        """Keep a result no longer."""
        if self._all is not None:
            with contextlib.suppress(OSError):
                (self._all / self._digest / f"{name}.pickle").unlink(missing_ok=True)
