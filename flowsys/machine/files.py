"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from flowsys.errors import InputError


def unreadable(path: str | Path, error: Exception) -> str:
    """Why a netCDF file cannot be read as one of the program's own, in words that do not need HDF5's."""
    if not Path(path).exists():
        return "there is no such file"
    if isinstance(error, OSError):
        return "it is no netCDF-4 file, or is broken"
    return "it is a netCDF file of something else"


def check_writable(path: str | Path) -> None:
    """Refuse a path that no file can be written to, before something is computed for it."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"file = {path} cannot be written: there is no directory {path.parent}.")
    if path.is_dir():
        raise InputError(f"file = {path} cannot be written: it is a directory.")
    if not os.access(path if _is_device(path) else path.parent, os.W_OK):
        raise InputError(f"file = {path} cannot be written: permission denied.")


def write_atomically(path: str | Path, write: Callable[[Path], object], room: int = 0) -> Path:
    """Let `write` fill a temporary file beside `path`, then move it there; a failure leaves nothing behind.

    A device or a pipe (/dev/stdout) is written to as it is: moving a file there would take its place. `room` is asked
    for before `write` begins, for writers that do not survive a full disk (HDF5).
    """
    path = Path(path)
    check_writable(path)
    try:
        if _is_device(path):
            write(path)
        else:
            _write_and_move(path, write, room)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(f"file = {path} cannot be written: {reason}.") from None
    return path


def _write_and_move(path: Path, write: Callable[[Path], object], room: int) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    temporary = Path(name)
    try:
        os.close(handle)
        ask_for_room(temporary, room)
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def ask_for_room(path: Path, size: int) -> None:
    """Fail early, with the system's reason, where so many bytes do not fit; the file is left empty."""
    if size and hasattr(os, "posix_fallocate"):
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(0)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | Path, text: str) -> Path:
    """Write text to a file, whole or not at all."""
    return write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


KEPT = {
    "programs": "programs derived before",
    "limits": "limits of models found before",
    "kernels": "machine code compiled from programs",
    "jax": "what JAX compiled",
    "report": "parts of reports",
    "check": "verdicts of checks that were broken off",
    "prove": "proofs that were broken off",
    "robust": "which limits are robust",
}


def cache_directory(kind: str) -> Path:
    """Where what can be made again is kept, one of KEPT: in FLOWSYS_CACHE, or in the user's cache directory."""
    if given := os.environ.get("FLOWSYS_CACHE"):
        return Path(given) / kind
    import platformdirs

    return Path(platformdirs.user_cache_dir("flowsys")) / kind
