"""A right-hand side to take elsewhere: Python, JAX, Julia or C text that needs nothing of flowsys.

Parameters, tables and links stand in the text with the values they were printed at; parameters may be given anew. Kinks
are read as they are (relu, step): between two of them the function is smooth.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flowsys.errors import InputError
from flowsys.program import Block, Program
from flowsys.program.arrays import Arguments
from flowsys.program.parsing import called, parsed_expression, variable
from flowsys.system.problem import Problem, ProgramField


@dataclass(frozen=True)
class Exported:
    """What is printed: a program with its numbers, its start, and where it comes from."""

    title: str
    program: Program
    arguments: Arguments
    start: np.ndarray

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.program.needed_for(self.program.derivatives)

    @property
    def read(self) -> set[str]:
        return {name for block in self.blocks for line in block.lines for name in line.reads} | {
            *self.program.derivatives
        }

    @property
    def parameters(self) -> dict[str, float]:
        return dict(zip(self.program.parameters, map(float, np.asarray(self.arguments.parameters))))

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of tables that are read, by name."""
        tables = self.program.tables.items()
        return {
            name: np.asarray(self.arguments.tables[table][i])
            for table, names in tables
            for i, name in enumerate(names)
            if name in self.read
        }

    @property
    def links(self) -> dict[str, np.ndarray]:
        return {f"link_{name}": np.asarray(matrix) for name, matrix in self.arguments.links.items()}

    @property
    def functions(self) -> set[str]:
        """The functions that the lines call."""
        trees = (line.tree for block in self.blocks for line in block.lines)
        return {called(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)}


def exported(title: str, problem: Problem, stage: int = 0) -> Exported:
    """What there is to print of a problem's stage."""
    if not isinstance(problem.field, ProgramField):
        raise InputError(
            f"{title.partition(':')[0]} is not a program: only forms that were derived can be printed as code."
        )
    return Exported(
        title, problem.field.program, problem.stages[stage].arguments, np.asarray(problem.initial, dtype=float)
    )


class Crossings(ast.NodeTransformer):
    """Names the link of every `linked` and `spread` of a line over a table."""

    def __init__(self, program: Program, over: str):
        self.program, self.over = program, over

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if called(node) in ("linked", "spread"):
            other = self.program.table_of[variable(node.args[0])]
            child, parent = (other, self.over) if called(node) == "linked" else (self.over, other)
            node.args.append(ast.Name(f"link_{child}_to_{parent}"))
        return node


def crossed(program: Program, over: str, expression: str) -> ast.expr:
    """The expression of a line, its crossings with their links."""
    return Crossings(program, over).visit(parsed_expression(expression))


_NUMPY = {
    "sigmoid": "def sigmoid(x):\n    return xp.exp(-xp.logaddexp(-x, 0.0))",
    "softplus": "def softplus(x):\n    return xp.logaddexp(x, 0.0)",
    "relu": "def relu(x):\n    return xp.maximum(x, 0.0)",
    "step": "def step(x):\n    return xp.where(x > 0, 1.0, 0.0)",
    "positive": "def positive(x):\n    return xp.where(x > 0, 1.0, 0.0)",
    "masked": "def masked(score, count):\n    return xp.where(count > 0, score, -xp.inf)",
    "total": "def total(x):\n    return xp.sum(x)",
    "linked": "def linked(x, link):\n    return link @ x",
    "spread": "def spread(x, link):\n    return x @ link",
    "max": "def max(first, *rest):\n    for x in rest:\n        first = xp.maximum(first, x)\n    return first",
    "min": "def min(first, *rest):\n    for x in rest:\n        first = xp.minimum(first, x)\n    return first",
    "asin": "asin = xp.arcsin",
}
_PLAIN = ("exp", "log", "sqrt", "tanh", "sinh", "cosh", "sin", "cos")


def python(this: Exported) -> str:
    """NumPy."""
    erf = ["from scipy.special import erf"] if "erf" in this.functions else []
    usage = "solve_ivp(rhs, (0, 100), START, method='LSODA', rtol=1e-8)  # from scipy.integrate"
    return _array_code(this, ["import numpy as xp", *erf], usage)


def jax(this: Exported) -> str:
    """JAX, in the precision of its caller: `with jax.enable_x64(True)` for float64."""
    erf = ["from jax.scipy.special import erf"] if "erf" in this.functions else []
    usage = "with jax.enable_x64(True): jax.jit(rhs)(0.0, START)"
    return _array_code(this, ["import jax", "import jax.numpy as xp", *erf], usage)


def _array_code(this: Exported, imports: Sequence[str], usage: str) -> str:
    program, used = this.program, this.functions
    text = [f'"""{this.title}', "", f"Usage: {usage}", '"""', "", *imports, ""]
    text += [f"STATE = {program.state!r}"]
    text += [f"PARAMETERS = {this.parameters!r}"]
    text += [f"START = {this.start.tolist()!r}"]
    text += [f"{name} = {values.tolist()!r}" for name, values in this.columns.items()]
    text += [f"{name} = {matrix.tolist()!r}" for name, matrix in this.links.items()]
    text += [f"{name} = xp.{name}" for name in _PLAIN if name in used]
    text += ["\n\n" + _NUMPY[name] for name in _NUMPY if name in used]
    text += ["\n\ndef rhs(_t, _y, _p=PARAMETERS):", '    """dy/dt."""', "    _y = xp.asarray(_y)"]
    text += [f"    {name} = _y[{i}]" for i, name in enumerate(program.state) if name in this.read]
    text += [f"    {name} = _p[{name!r}]" for name in program.parameters if name in this.read]
    arrays = [*this.columns, *this.links]
    text += [f"    _{name} = xp.asarray({name})" for name in arrays]
    renamed = {name: f"_{name}" for name in arrays}
    for block in this.blocks:
        for line in block.lines:
            tree = _Renamed(renamed).visit(crossed(program, block.over, line.expression))
            text.append(f"    {line.name} = {ast.unparse(tree)}")
    return "\n".join([*text, f"    return xp.stack([{', '.join(program.derivatives)}])"]) + "\n"


class _Renamed(ast.NodeTransformer):
    """Data stands in arrays that the function makes: their names have an underscore in front."""

    def __init__(self, names: Mapping[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id))


_JULIA = {
    "sigmoid": "sigmoid(x) = x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x))",
    "softplus": "softplus(x) = max(x, 0.0) + log1p(exp(-abs(x)))",
    "relu": "relu(x) = max(x, 0.0)",
    "step": "step_(x) = x > 0 ? 1.0 : 0.0",
    "positive": "positive(x) = x > 0 ? 1.0 : 0.0",
    "masked": "masked(score, count) = count > 0 ? score : -Inf",
    "total": "total(x) = sum(x)",
    "linked": "linked(x, link) = link * x",
    "spread": "spread(x, link) = link' * x",
}


def julia(this: Exported) -> str:
    """Julia, as DifferentialEquations.jl takes it; rows of a table are broadcast over."""
    program = this.program
    text = [f"# {line}" for line in this.title.splitlines()]
    text += [
        "# Usage: using DifferentialEquations; solve(ODEProblem(rhs!, START, (0.0, 100.0), PARAMETERS), Rodas5P())"
    ]
    text += ["using SpecialFunctions: erf"] if "erf" in this.functions else []
    text += [_JULIA[name] for name in _JULIA if name in this.functions]
    named = ", ".join(f"{name} = {value!r}" for name, value in this.parameters.items())
    text += [f"const PARAMETERS = ({named}{',' if len(this.parameters) == 1 else ''})"]
    text += [f"const START = Float64[{', '.join(map(repr, this.start.tolist()))}]"]
    text += [f"const data_{name} = Float64[{', '.join(map(repr, v.tolist()))}]" for name, v in this.columns.items()]
    for name, matrix in this.links.items():
        entries = ", ".join(map(repr, matrix.T.ravel().tolist()))
        text.append(f"const data_{name} = reshape(Float64[{entries}], {matrix.shape[0]}, {matrix.shape[1]})")
    text += ["", "function rhs!(_dy, _y, _p, _t)"]
    text += [f"    {name} = _y[{i + 1}]" for i, name in enumerate(program.state) if name in this.read]
    text += [f"    {name} = _p.{name}" for name in program.parameters if name in this.read]
    renamed = {name: f"data_{name}" for name in (*this.columns, *this.links)} | {"step": "step_"}
    for block in this.blocks:
        for line in block.lines:
            tree = _Renamed(renamed).visit(crossed(program, block.over, line.expression))
            crosses = line.expression.startswith(("linked(", "spread("))
            text.append(f"    {line.name} = {'@. ' if block.over and not crosses else ''}{_julia_text(tree)}")
    text += [f"    _dy[{i + 1}] = {name}" for i, name in enumerate(program.derivatives)]
    return "\n".join([*text, "    return nothing", "end"]) + "\n"


def _julia_text(tree: ast.expr) -> str:
    return ast.unparse(tree).replace("**", "^")
