"""Which modules are installed, and the texts of those that are not: found by reading, nothing is executed.

A module is installed if a worker on another machine can be expected to have it: the standard library, what lies in
site-packages, this package. Everything else (a script, a notebook, a file and the modules beside it) belongs to whoever
wrote the model, travels with it and is part of its digest.
"""

import ast
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

ENGINE = "flowsys"
_PACKAGES = {"site-packages", "dist-packages"}  # of this Python, or of another one on its path


@lru_cache(maxsize=1)
def _installations() -> tuple[Path, ...]:
    paths = [sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(Path(path).resolve() for path in {*paths, *site.getsitepackages(), site.getusersitepackages()})


@lru_cache(maxsize=4096)
def _is_installed_file(path: str) -> bool:
    found = Path(path).resolve()
    return not _PACKAGES.isdisjoint(found.parts) or any(found.is_relative_to(place) for place in _installations())


def is_installed(name: str, file: str | None = None) -> bool:
    """Whether a module is installed, by its name and the file it comes from (by default, where it was loaded from)."""
    if name.partition(".")[0] == ENGINE:
        return True
    if name == "__main__":
        return False
    file = file or getattr(sys.modules.get(name), "__file__", None)
    return file is None or _is_installed_file(str(file))


def texts(text: str, path: Path) -> dict[str, str]:
    """{module: text} of every module that a file imports and that is not installed, and of those they import."""
    return _collected(_imported(text, str(path), ""), [str(path.parent)])


def texts_of(name: str) -> dict[str, str]:
    """The same for a module by its name, itself included."""
    return _collected([name], [])


def _collected(names: Iterable[str], beside: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        for spec in _specs(name, beside):
            path = spec.origin or ""
            if spec.name in found or not path.endswith(".py") or is_installed(spec.name, path):
                continue
            found[spec.name] = text = Path(path).read_text(encoding="utf-8", errors="replace")
            package = spec.name if spec.submodule_search_locations else spec.name.rpartition(".")[0]
            waiting += _imported(text, path, package)
    return dict(sorted(found.items()))


def _specs(name: str, beside: Sequence[str]) -> Iterator[ModuleSpec]:
    """The specs of a dotted name's packages and of itself, as far as they are there."""
    parts = name.split(".")
    spec = PathFinder.find_spec(parts[0], beside) if beside else None
    try:
        spec = spec or find_spec(parts[0])
    except (ImportError, ValueError):  # a module without a spec, as __main__
        return
    for depth in range(1, len(parts) + 1):
        if spec is None:
            return
        yield spec
        if depth < len(parts):
            inside = spec.submodule_search_locations
            spec = PathFinder.find_spec(".".join(parts[: depth + 1]), inside) if inside else None


def _imported(text: str, path: str, package: str) -> Iterator[str]:
    """The names a text imports, wherever it does; of `from a import b` both a and a.b, as b may be a module."""
    try:
        nodes = ast.walk(ast.parse(text, path))
    except SyntaxError:
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*parents, node.module]))
            if base:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)
