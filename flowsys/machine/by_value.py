"""Values for other processes: what is not installed there travels along with them, as code and not as a name.

Functions, classes and modules of a script, a notebook or a file (`flowsys.machine.sources`) are sent by value; what is
installed is sent by its name and must be installed there too. Modules that functions import when they are called are
known by their texts, which travel along (`take_along`).
"""

import io
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib.abc import InspectLoader
from importlib.util import spec_from_loader
from typing import Any

from flowsys.errors import InputError
from flowsys.machine.sources import is_installed

_along: dict[str, str] = {}


def take_along(texts: dict[str, str]) -> None:
    """Let these modules, {name: text}, be importable wherever values are sent from now on."""
    _along.clear()
    _along.update(texts)


def packed(value: Any) -> bytes:
    """A value as bytes that `unpacked` understands in any process of the same Python and flowsys."""
    data = io.BytesIO()
    with _sent_by_value():
        try:
            _pickler(data).dump(value)
        except Exception as error:  # a class may refuse in any way it likes
            said = " ".join(str(error).split())
            raise InputError(f"this cannot be sent to another process: {type(error).__name__}: {said}.") from error
    return pickle.dumps((_along, data.getvalue()))


@lru_cache(maxsize=8)
def unpacked(data: bytes) -> Any:
    """The value again: the same object for the same bytes, so that what was compiled for it is found again."""
    texts, value = pickle.loads(data)
    _Texts.become(texts)  # a model is declared again when it is read, and may import them
    try:
        return pickle.loads(value)
    except (ImportError, AttributeError) as error:
        raise InputError(f"a worker lacks what the model needs: {error}.") from error


class _Texts(InspectLoader):
    """Finds the modules that came along with the last value, where they are not there anyway."""

    def __init__(self, texts: dict[str, str]):
        self._texts = texts

    def find_spec(self, name: str, path=None, target=None):
        return spec_from_loader(name, self) if name in self._texts else None

    def get_source(self, name: str) -> str:
        return self._texts[name]

    def is_package(self, name: str) -> bool:
        return any(other.startswith(f"{name}.") for other in self._texts)

    @classmethod
    def become(cls, texts: dict[str, str]) -> None:
        """Find these instead of those that came before, which are forgotten."""
        for name, module in list(sys.modules.items()):
            if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), cls):
                del sys.modules[name]
        sys.meta_path[:] = [*(finder for finder in sys.meta_path if not isinstance(finder, cls)), cls(texts)]


def _pickler(data: io.BytesIO) -> Any:
    """cloudpickle's, which knows functions and classes but neither functions that remember nor properties that do."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, type(unpacked)) and not is_installed(obj.__module__):
                return _remembered, (obj.__wrapped__, obj.cache_parameters())
            if isinstance(obj, cached_property):
                return _cached, (obj.func, obj.attrname)
            return super().reducer_override(obj)

    return Pickler(data)


def _remembered(function: Callable, parameters: dict[str, Any]) -> Callable:
    return lru_cache(**parameters)(function)


def _cached(function: Callable, name: str) -> cached_property:
    found = cached_property(function)
    found.attrname = name
    return found


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
