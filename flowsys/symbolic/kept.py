"""Derived programs on disk, found again by content: what was derived, by which modules, under which sympy.

For the sizes a system does not ship a program for. A file that cannot be read, or whose checksum is wrong, counts as
missing; a cache directory that cannot be written is no error, only slower.
"""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from flowsys.errors import InputError
from flowsys.machine.files import cache_directory, write_text
from flowsys.program import Program

_log = logging.getLogger("flowsys")


def directory() -> Path:
    """Where derived programs are kept."""
    return cache_directory("programs")


def kept(name: str, derive: Callable[[], Program], sources: Sequence[Path]) -> Program:
    """The program called `name` that `derive` gives, read if the text of `sources` and of the engine is the same."""
    path = directory() / f"{_key(name, sources)}.txt"
    program = _read(path)
    if program is None:
        _log.info("deriving %s; it is kept for the next time.", name)
        program = derive()
        _write(path, str(program))
    return program


def _key(name: str, sources: Sequence[Path]) -> str:
    texts = [path.read_bytes() for path in sources]
    return hashlib.sha256(b"\n".join([name.encode(), engine_digest().encode(), *texts])).hexdigest()[:32]


@cache
def engine_digest() -> str:
    """A digest of what derives: these modules, those of models and programs, and sympy."""
    root = Path(__file__).parent.parent
    texts = [
        path.read_bytes() for room in ("symbolic", "model", "program") for path in sorted((root / room).glob("*.py"))
    ]
    return hashlib.sha256(b"\n".join([version("sympy").encode(), *texts])).hexdigest()[:32]


def _read(path: Path) -> Program | None:
    try:
        checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return Program.parse(text) if checksum == _checksum(text) else None


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{_checksum(text)}\n{text}")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
