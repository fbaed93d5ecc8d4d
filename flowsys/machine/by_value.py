"""Values for other processes: what is not installed there travels along with them, as code and not as a name.

Functions, classes and modules of a script, a notebook or a file (`flowsys.machine.sources`) are sent by value; what is
installed is sent by its name and must be installed there too.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from flowsys.errors import InputError
from flowsys.machine.sources import is_installed


def packed(value: Any) -> bytes:
    """A value as bytes that `unpacked` understands in any process of the same Python and flowsys."""
    import cloudpickle

    with _sent_by_value():
        try:
            return cloudpickle.dumps(value)
        except Exception as error:  # a class may refuse in any way it likes
            said = " ".join(str(error).split())
            raise InputError(f"this cannot be sent to another process: {type(error).__name__}: {said}.") from error


@lru_cache(maxsize=8)
def unpacked(data: bytes) -> Any:
    """The value again: the same object for the same bytes, so that what was compiled for it is found again."""
    import cloudpickle

    return cloudpickle.loads(data)


@contextmanager
def _sent_by_value() -> Iterator[None]:
    import cloudpickle

    known = cloudpickle.list_registry_pickle_by_value()
    mine = [
        module
        for name, module in list(sys.modules.items())
        if name != "__main__"
        and getattr(module, "__name__", None) == name
        and name not in known
        and not is_installed(name)
    ]
    for module in mine:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in mine:
            cloudpickle.unregister_pickle_by_value(module)
