"""Machine code on disk, found again by content: what was compiled, by which generator, for which processor.

A file that cannot be read, or whose checksum is wrong, counts as missing. Writing is atomic; a cache directory that
cannot be written is no error, only slower.
"""

import contextlib
import hashlib
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from flowsys.errors import InputError
from flowsys.kernels.host import Host
from flowsys.machine.files import cache_directory, write_atomically
from flowsys.program import text

_CHECKSUM = 32
# a program and the driver are compiled side by side, and a file is given its mode by way of the process's umask
_writing = threading.Lock()


def directory() -> Path:
    """Where compiled kernels are kept."""
    return cache_directory("kernels")


@lru_cache(maxsize=1)
def generator() -> str:
    """The identity of this generator: the text of its modules and of `Program`, llvmlite's and SciPy's versions."""
    from importlib.metadata import version

    digest = hashlib.sha256()
    for path in (Path(text.__file__), *sorted(Path(__file__).parent.rglob("*.py"))):
        digest.update(path.read_bytes())
    digest.update(f"{version('llvmlite')} {version('scipy')}".encode())
    return digest.hexdigest()


def key(content: str, host: Host) -> str:
    return hashlib.sha256("\n".join([content, generator(), host.key]).encode()).hexdigest()[:32]


def read(name: str) -> bytes | None:
    """The machine code stored under a key, if it is there and whole."""
    try:
        stored = (directory() / f"{name}.o").read_bytes()
    except OSError:
        return None
    checksum, code = stored[:_CHECKSUM], stored[_CHECKSUM:]
    return code if code and hashlib.sha256(code).digest() == checksum else None


def write(name: str, code: bytes) -> None:
    stored = hashlib.sha256(code).digest() + code
    with contextlib.suppress(OSError, InputError), _writing:
        directory().mkdir(parents=True, exist_ok=True)
        write_atomically(directory() / f"{name}.o", lambda temporary: temporary.write_bytes(stored))


def cached(content: str, host: Host, compile_it: Callable[[], bytes]) -> bytes:
    """The machine code of a content, from disk or compiled now."""
    name = key(content, host)
    code = read(name)
    if code is None:
        code = compile_it()
        write(name, code)
    return code
