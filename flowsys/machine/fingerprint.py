"""A fingerprint of any value by its content: equal in every process, another one when anything in it changes.

Functions count with their code, constants, defaults, closures and the globals they read, recursively; arrays with their
bytes; other objects with their class and state. What is installed (`flowsys.machine.sources`) counts by its name alone,
and what has no content that can be told (a lock, an open file) by its type.
"""

import dis
import functools
import hashlib
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from flowsys.machine.sources import is_installed, texts_of

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_OF_NO_CONTENT = {
    "__module__", "__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__", "_abc_impl",
}  # fmt: skip


def fingerprint(value: Any) -> str:
    """32 hexadecimal digits that stand for the content of a value."""
    return _Reader().read(value).hex()[:32]


def _joined(*parts: bytes | str) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()


class _Reader:
    """One reading: what was read is known by its identity, and a value inside itself by how far up it stands."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}  # the value too, so that its identity stays its own
        self._open: list[int] = []

    def read(self, value: Any) -> bytes:
        if type(value) in _PLAIN:
            return _joined(type(value).__name__, repr(value))
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._open:
            return _joined("above", str(len(self._open) - self._open.index(id(value))))
        self._open.append(id(value))
        found = self._content(value)
        self._open.pop()
        self._known[id(value)] = value, found
        return found

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return _joined(kind, *map(self.read, values))

    def _named(self, kind: str, values: Mapping[str, Any]) -> bytes:
        return _joined(kind, *(part for name in sorted(values) for part in (name, self.read(values[name]))))

    def _content(self, value: Any) -> bytes:
        match value:
            case types.FunctionType():
                return self._function(value)
            case types.CodeType():
                return self._code(value)
            case types.ModuleType():
                return self._module(value)
            case types.CellType():
                return self._cell(value)
            case type():
                return self._class(value)
            case types.MethodType():
                return self._all("method", (value.__func__, value.__self__))
            case types.BuiltinFunctionType():
                return self._all("builtin", (value.__qualname__, _owner(value.__self__)))
            case staticmethod() | classmethod():
                return self._all(type(value).__name__, [value.__func__])
            case property():
                return self._all("property", (value.fget, value.fset, value.fdel))
            case functools.partial():
                return self._all("partial", (value.func, value.args, value.keywords))
            case functools.cached_property():
                return self._all("cached property", [value.func])
            case np.ndarray() | np.generic():
                return self._array(value)
            case dict() | types.MappingProxyType():
                return self._all("mapping", [type(value), *(x for item in value.items() for x in item)])
            case list() | tuple():
                return self._all("sequence", [type(value), *value])
            case set() | frozenset():
                return _joined("set", *sorted(map(self.read, value)))
        return self._object(value)

    def _array(self, array: Any) -> bytes:
        array = np.asarray(array)
        if array.dtype.hasobject:
            return self._all("objects", [array.shape, *array.ravel().tolist()])
        return _joined("array", array.dtype.str, repr(array.shape), np.ascontiguousarray(array).tobytes())

    def _cell(self, cell: types.CellType) -> bytes:
        try:
            return self._all("cell", [cell.cell_contents])
        except ValueError:
            return _joined("empty cell")

    def _module(self, module: types.ModuleType) -> bytes:
        if is_installed(module.__name__):
            return _joined("installed", module.__name__)
        return self._named("module", {k: v for k, v in vars(module).items() if not k.startswith("__")})

    def _function(self, function: types.FunctionType) -> bytes:
        inside = [function.__defaults__, function.__kwdefaults__, *(function.__closure__ or ())]
        home = function.__globals__.get("__name__", "__main__")
        if is_installed(home, function.__globals__.get("__file__")):
            return self._all("installed", [home, function.__code__.co_qualname, *inside])
        names, modules = _looked_up(function.__code__)
        seen = {name: function.__globals__[name] for name in names if name in function.__globals__}
        texts = {name: text for module in modules for name, text in texts_of(module).items()}
        return _joined(self._all("function", [function.__code__, *inside, texts]), self._named("globals", seen))

    def _code(self, code: types.CodeType) -> bytes:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        return self._all("code", [code.co_code, code.co_exceptiontable, *names, *counts, *code.co_consts])

    def _class(self, cls: type) -> bytes:
        if is_installed(cls.__module__):
            return _joined("installed", cls.__module__, cls.__qualname__)
        members = {name: member for name, member in vars(cls).items() if name not in _OF_NO_CONTENT}
        return _joined(cls.__qualname__, self._all("bases", cls.__bases__), self._named("class", members))

    def _object(self, value: Any) -> bytes:
        cls = type(value)
        if callable(value) and hasattr(value, "__wrapped__"):  # a compiled or a remembering function
            return self._all("wrapped", [cls, value.__wrapped__])
        if hasattr(value, "__array__"):
            return self._array(value)
        if is_dataclass(cls) and cls.__reduce__ is object.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__:
            return self._all("object", [cls, {f.name: getattr(value, f.name, None) for f in fields(cls)}])
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # a class may refuse in any way it likes
            return self._all("of no content", [cls])
        if isinstance(reduced, str):
            return _joined("named", cls.__module__, reduced)
        made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        state = {k: v for k, v in state.items() if not _is_cache(cls, k)} if isinstance(state, dict) else state
        return self._all("object", [cls, made, arguments, state, list(items or ()), list(pairs or ())])


def _owner(of: Any) -> Any:
    """What a built-in function belongs to: a module or a class by its name, another object by its content."""
    return of.__name__ if isinstance(of, types.ModuleType) else of


def _is_cache(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, str(name), None), functools.cached_property)


def _looked_up(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The globals that a code reads and the modules that it imports, the codes inside it included."""
    names, modules = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            modules.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _looked_up(constant)
            names |= inner[0]
            modules |= inner[1]
    return names, modules
