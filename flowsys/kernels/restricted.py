"""A small compiled subset of Python, in which the event-driven driver is written.

Functions on numbers and memory only: `f64` and `i64` scalars, `Doubles` and `Integers` (pointers, indexed and shifted
by adding), records (pointers to structures, read by attribute); assignments, `if`, `while`, `for … in range(…)`,
`break`, `continue`, `return`. Names of the modules that are numbers are constants. Functions of all modules share one
namespace, and so do constants: a name that means two things is refused. Every variable keeps the type of its first
assignment. Anything else is refused, with its line.
"""

import ast
import inspect
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from flowsys.program.parsing import parsed

f64, i64 = float, int


class Doubles:
    """Memory holding doubles."""


class Integers:
    """Memory holding 64-bit integers."""


class Code:
    """The address of a compiled function on memory."""


_TYPES = {"f64": "double", "i64": "i64", "Doubles": "doubles", "Integers": "integers", "Code": "code"}
_TEXT = {"double": "double", "i64": "i64", "i1": "i1", "void": "void"}


def text_type(kind: str) -> str:
    return _TEXT.get(kind, "ptr")


def record_fields(record: type) -> dict[str, tuple[int, str]]:
    """Field -> (position, type) of a record class: every field takes eight bytes."""
    return {name: (i, _TYPES[kind.__name__ if isinstance(kind, type) else kind]) for i, (name, kind) in
            enumerate(_annotations(record).items())}  # fmt: skip


def _annotations(record: type) -> dict[str, Any]:
    renamed = {float: "f64", int: "i64"}
    return {name: renamed.get(kind, kind) for name, kind in record.__annotations__.items()}


class Compiler:
    """Compiles the functions of several modules; `external` names functions whose bodies are written elsewhere."""

    def __init__(self, modules: Sequence[ModuleType], constants: Mapping[str, float], external: Mapping, fused: bool):
        self.fused = fused
        self.constants: dict[str, float] = {}
        self.records: dict[str, dict] = {}
        self.functions: list[ast.FunctionDef] = []
        homes: dict[str, str] = {}
        for module in modules:
            for name, value in vars(module).items():
                if isinstance(value, int | float):
                    if name not in constants and self.constants.get(name, value) != value:
                        other = self.constants[name]
                        raise SyntaxError(f"{name} is {other} elsewhere, but {value} in {module.__name__}")
                    self.constants[name] = value
                if isinstance(value, type) and getattr(value, "is_record", False):
                    self.records[name] = record_fields(value)
            tree = parsed(inspect.getsource(module))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    if node.name in homes or node.name in external:
                        where = homes.get(node.name, "the code that is given")
                        raise SyntaxError(f"{node.name} is a function of {where} and of {module.__name__}")
                    homes[node.name] = module.__name__
                    self.functions.append(node)
        self.constants |= constants
        self.signatures: dict[str, tuple[tuple[str, ...], str]] = dict(external)
        for node in self.functions:
            kinds = tuple(self.kind(a.annotation) for a in node.args.args)
            result = self.kind(node.returns) if node.returns and ast.unparse(node.returns) != "None" else "void"
            self.signatures[node.name] = (kinds, result)

    def kind(self, annotation: ast.expr | None) -> str:
        name = annotation.id if isinstance(annotation, ast.Name) else ""
        if name in self.records:
            return f"record {name}"
        if name not in _TYPES:
            given = ast.unparse(annotation) if annotation else ""
            raise TypeError(f"a compiled function needs typed arguments, not {given!r}")
        return _TYPES[name]

    def text(self, exported: set[str]) -> tuple[str, set[str]]:
        """LLVM assembly of all functions, and the declarations they need."""
        from flowsys.kernels.lowering import Lowering

        bodies, declared = [], set()
        for node in self.functions:
            body = Lowering(self, node)
            bodies.append(body.text("" if node.name in exported else "internal "))
            declared |= body.w.declared
        return "\n".join(bodies), declared
