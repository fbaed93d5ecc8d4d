"""Systems from outside: a model in a file that the user names, and models that installed distributions offer.

A file runs only when it is named, FILE.py or FILE.py:VARIABLE; without VARIABLE it must hold exactly one model. Modules
beside the file can be imported as if it were a script, but none takes the place of one of Python's own. An installed
distribution offers a model by an entry point `name = "module:model"` of the group `flowsys.systems`.
"""

import hashlib
import sys
import traceback
from contextlib import redirect_stdout
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from flowsys.errors import InputError
from flowsys.machine.by_value import take_along
from flowsys.machine.kept import SOURCES
from flowsys.machine.sources import is_installed, texts
from flowsys.system import Source, System

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "flowsys.systems"


def from_file(place: str) -> System:
    """The model at FILE.py[:VARIABLE]; the file is executed, and what is wrong with it is said in a sentence."""
    path, variable = _split(place)
    module = _executed(path)
    if variable is None:
        found = _models(module)
        if not found:
            raise InputError(f"file = {path} holds no model: it must define one, as model = flowsys.Model(…).")
        if len(found) > 1:
            example = f"{path}:{next(iter(found))}"
            raise InputError(f"file = {path} holds several models, {', '.join(found)}: name one, as {example}.")
        return next(iter(found.values()))
    if not hasattr(module, variable):
        known = ", ".join(_models(module)) or "none"
        raise InputError(f"file = {path} defines no {variable!r}; the models it holds: {known}.")
    system = getattr(module, variable)
    if not isinstance(system, System):
        raise InputError(f"file = {path}: {variable} is no model but of type {type(system).__name__}.")
    return system


def models_in(place: str) -> dict[str, System]:
    """All models of a file by the names of their variables, or the one that is named."""
    path, variable = _split(place)
    return {variable: from_file(place)} if variable is not None else _models(_executed(path))


def _split(place: str) -> tuple[Path, str | None]:
    """The file and the variable of FILE.py[:VARIABLE]."""
    head, colon, tail = place.rpartition(":")
    path, variable = (Path(head), tail) if colon and head.endswith(".py") else (Path(place), None)
    if path.suffix != ".py":
        raise InputError(f"file = {path} is no file of Python: its name must end in .py.")
    if variable is not None and not variable.isidentifier():
        raise InputError(f"file = {path}: {variable!r} is no name of a variable.")
    if not path.is_file():
        raise InputError(f"file = {path} is not there." if not path.exists() else f"file = {path} is no file.")
    return path, variable


def _models(module: ModuleType) -> dict[str, System]:
    """The models a module holds, each under its first name; flowsys' own that it looks at are not its models."""
    found: dict[int, tuple[str, System]] = {}
    for name, value in vars(module).items():
        if isinstance(value, System) and not name.startswith("_") and value.package is None:
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def _executed(path: Path) -> ModuleType:
    """The file as a module, its models marked with where they come from."""
    text = path.read_bytes()
    module = ModuleType(f"{path.stem}_file")
    module.__file__ = str(path.resolve())
    _Beside.become(path.resolve().parent)
    sys.modules[module.__name__] = module
    try:
        with redirect_stdout(sys.stderr):  # what the file prints is not the command's answer
            exec(compile(text, module.__file__, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise InputError(_sentence(path, error)) from error
    beside = texts(text.decode("utf-8", "replace"), path.resolve())
    take_along(beside)
    digest = _digest([text, *(part.encode() for item in beside.items() for part in item)])
    for name, system in _models(module).items():
        object.__setattr__(system, "source", Source(f"{path.name}:{name}", digest))
    return module


def _sentence(path: Path, error: BaseException) -> str:
    """The file (or the module beside it), the line and the message."""
    said = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, SyntaxError):
        where, line, said = error.filename or str(path), error.lineno, f"SyntaxError: {error.msg}"
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(path.resolve().parent)]
        where, line = (own[-1].filename, own[-1].lineno) if own else (str(path), None)
        if not isinstance(error, InputError):
            said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    shown = path if Path(where) == path.resolve() else Path(where).name
    return f"file = {shown}{f', line {line}' if line else ''}: {said}."


def _digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()[:16]


class _AsItStands(SourceFileLoader):
    """Loads a module from its text: compiled code kept from before may be older than an edit within the same second."""

    def get_code(self, fullname: str):
        return self.source_to_code(self.get_data(self.path), self.path)


class _Beside:
    """Finds what lies beside the file that was loaded last, before others of that name, except Python's own."""

    LOADERS = (_AsItStands, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES)

    def __init__(self, directory: Path):
        self._directory = directory

    def find_spec(self, name: str, path=None, target=None):
        if path is None:
            places = [] if name in sys.stdlib_module_names else [str(self._directory)]
        else:
            places = [p for p in path if Path(p).is_relative_to(self._directory) and not is_installed(name, p)]
        specs = (FileFinder(place, *self.LOADERS).find_spec(name) for place in places)
        return next((spec for spec in specs if spec and spec.loader), None)

    @classmethod
    def become(cls, directory: Path) -> None:
        """Look beside another file; modules found beside the last one or named as this one's are loaded anew."""
        named = {path.stem for path in directory.iterdir() if path.suffix in ("", *SOURCE_SUFFIXES)}
        for name, module in list(sys.modules.items()):
            is_mine = isinstance(getattr(getattr(module, "__spec__", None), "loader", None), _AsItStands)
            is_alike = name.partition(".")[0] in named - {"__main__"} and not is_installed(name)
            if is_mine or is_alike:
                del sys.modules[name]
        sys.meta_path[:] = [cls(directory), *(finder for finder in sys.meta_path if not isinstance(finder, cls))]


def offered() -> "dict[str, EntryPoint]":
    """The models of installed distributions by name; nothing of them is imported."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda e: e.value, reverse=True)}


def from_entry_point(entry: "EntryPoint") -> System:
    """The model an entry point names; InputError if it cannot be had."""
    try:
        system = entry.load()
    except Exception as error:  # somebody else's module may fail in any way
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"system = {entry.name} cannot be loaded: {type(error).__name__}: {said}.") from error
    if not isinstance(system, System):
        raise InputError(
            f"system = {entry.name} cannot be loaded: {entry.value} is of type {type(system).__name__}, "
            "but an entry point names a model."
        )
    if system.name != entry.name:
        raise InputError(
            f"system = {entry.name} cannot be loaded: the model at {entry.value} is named {system.name}, "
            "not as its entry point."
        )
    if system.source is None:
        object.__setattr__(system, "source", Source(entry.value, _digest_of_package(entry.module.partition(".")[0])))
    return system


def _digest_of_package(name: str) -> str:
    """Of the source and data files of a package, or of a module."""
    spec = find_spec(name)
    roots = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []
    files = [path for root in roots for path in sorted(root.rglob("*")) if path.suffix in SOURCES]
    files = files or ([Path(spec.origin)] if spec and spec.origin else [])
    return _digest([part for path in files for part in (path.name.encode(), path.read_bytes())])
