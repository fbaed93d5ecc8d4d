"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from flowsys.errors import InputError


def write_atomically(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary file beside `path`, then move it there; a failure leaves nothing behind."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"file = {path} cannot be written: there is no directory {path.parent}.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as error:
        raise InputError(f"file = {path} cannot be written: {error.strerror}.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"file = {path} cannot be written: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | Path, text: str) -> Path:
    """Write text to a file, whole or not at all."""
    return write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def cache_directory(kind: str) -> Path:
    """Where what can be made again is kept: in FLOWSYS_CACHE, or in the user's cache directory."""
    if given := os.environ.get("FLOWSYS_CACHE"):
        return Path(given) / kind
    import platformdirs

    return Path(platformdirs.user_cache_dir("flowsys")) / kind
