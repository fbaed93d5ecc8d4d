"""A program as functions on arrays: NumPy for oracles and small work, JAX for the solvers.

A printed function takes the state vector and `Arguments`, all of them data: parameters, table columns, link matrices
and gates are never compiled in, so one compilation serves every parameter value (of equally sized tables).

How kinks are read is chosen at printing:
    frozen   relu(x) = gate·x, step(x) = gate: smooth between switches, as the event-driven solver needs it
    smooth   relu(x) = δ log(1 + e^(x/δ)), δ = kink_width: the gradient flow of the smoothed loss
    exact    relu and step as they are
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from flowsys.program import Program
from flowsys.program.parsing import called, parsed_expression, variable

Kinks = Literal["frozen", "smooth", "exact"]
_MOST_AT_ONCE = 200_000  # rows of states times rows of a table


class Arguments(NamedTuple):
    """What a program reads besides its state; every field is an array or a mapping of arrays (a JAX pytree)."""

    parameters: Any
    tables: Mapping[str, Any]
    links: Mapping[str, Any]
    gates: Any
    kink_width: Any


def arguments(
    program: Program,
    parameters: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    links: Mapping[str, Any] | None = None,
    kink_width: float = 0.0,
) -> Arguments:
    """Arguments for a program from values by name, numbers or arrays over points; gates start open."""
    missing = [p for p in program.parameters if p not in parameters]
    if missing:
        raise ValueError(f"the program needs a value for {missing}")
    tables, links = tables or {}, links or {}
    stacked = {
        name: np.array([np.asarray(tables[name][c], dtype=float) for c in columns])
        for name, columns in program.tables.items()
    }
    sizes = [stacked[t].shape[1] if (t := program.table_of.get(k)) else 1 for k in program.kinks]
    return Arguments(
        parameters=in_columns([parameters[p] for p in program.parameters]),
        tables=stacked,
        links={link.name: np.asarray(links[link.name], dtype=float) for link in program.links},
        gates=np.ones(sum(sizes)),
        kink_width=np.float64(kink_width),
    )


def in_columns(values: Sequence[Any]) -> np.ndarray:
    """Numbers as a vector; where some are arrays over points, a row for every point."""
    shapes = {np.shape(value) for value in values}
    if not any(shapes):
        return np.array(values, dtype=float)
    rows = np.empty((*np.broadcast_shapes(*shapes), len(values)))
    for i, value in enumerate(values):
        rows[..., i] = value
    return rows


class _Reading(ast.NodeTransformer):
    """Rewrites one line's expression for arrays: crossings become matrix products, kinks become gates."""

    def __init__(self, program: Program, over: str, kinks: Kinks):
        self.program, self.over, self.kinks = program, over, kinks

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = called(node)
        if name in ("linked", "spread"):
            other = self.program.table_of[variable(node.args[0])]
            child, parent = (other, self.over) if name == "linked" else (self.over, other)
            node.args.append(ast.Name(f"link_{child}_to_{parent}"))
        if name in ("relu", "step") and self.kinks == "frozen":
            node.args.append(ast.Name(f"gate_{variable(node.args[0])}"))
        if name in ("relu", "step") and self.kinks == "smooth":
            node.args.append(ast.Name("kink_width"))
        return node


def source(program: Program, outputs: Sequence[str], kinks: Kinks) -> str:
    """Python text of a function `evaluate(y, arguments)` that returns the named values as a tuple."""
    text = ["def evaluate(_state, _arguments):"]
    text.append("    _parameters, _tables, _links, _gates, kink_width = _arguments")
    blocks = program.needed_for(outputs)
    reads = {name for block in blocks for line in block.lines for name in line.reads} | set(outputs)
    text += [f"    {name} = _state[{i}]" for i, name in enumerate(program.state) if name in reads]
    text += [f"    {name} = _parameters[{i}]" for i, name in enumerate(program.parameters) if name in reads]
    for table, columns in program.tables.items():
        text += [f"    {name} = _tables[{table!r}][{i}]" for i, name in enumerate(columns) if name in reads]
    text += [f"    link_{link.name} = _links[{link.name!r}]" for link in program.links]
    if kinks == "frozen":
        text += ["    _gate_end = 0"]
        for kink in program.kinks:
            place = program.table_of.get(kink)
            rows = f"_tables[{place!r}].shape[1]" if place else "1"
            cut = "_gates[_gate_end : _gate_end + {rows}]" if place else "_gates[_gate_end]"
            text += [f"    gate_{kink} = {cut.format(rows=rows)}", f"    _gate_end += {rows}"]
    for block in blocks:
        for line in block.lines:
            tree = _Reading(program, block.over, kinks).visit(parsed_expression(line.expression))
            text.append(f"    {line.name} = {ast.unparse(tree)}")
    text.append(f"    return ({', '.join(outputs)},)")
    return "\n".join(text)


def _functions(xp: Any, kinks: Kinks, of_rows: bool = False) -> dict[str, Callable]:
    """The program's functions in an array library; `of_rows`, for many states at once: a table's rows are last."""

    def sigmoid(x):
        return xp.exp(-xp.logaddexp(-x, 0.0))  # keeps its digits where it is small, which 1 + tanh does not

    def softplus(x):
        return xp.logaddexp(x, 0.0)

    def erf(x):
        return import_module("scipy.special" if xp is np else "jax.scipy.special").erf(x)

    def fold(function):
        def folded(first, *rest):
            for x in rest:
                first = function(first, x)
            return first

        return folded

    readings: dict[str, dict[str, Callable]] = {
        "frozen": {"relu": lambda x, gate: gate * x, "step": lambda x, gate: gate},
        "smooth": {"relu": lambda x, δ: δ * softplus(x / δ), "step": lambda x, δ: sigmoid(x / δ)},
        "exact": {"relu": lambda x: xp.maximum(x, 0.0), "step": lambda x: xp.where(x > 0, 1.0, 0.0)},
    }
    of_tables: dict[str, Callable] = {"total": xp.sum, "linked": lambda x, C: C @ x, "spread": lambda x, C: x @ C}
    if of_rows:  # products row by row: a row's numbers are the same whatever rows stand beside it
        of_tables = {
            "total": lambda x: xp.sum(x, axis=-1, keepdims=True) if np.ndim(x) else x,
            "linked": lambda x, C: xp.stack([C @ row for row in x]) if np.ndim(x) > 1 else C @ x,
            "spread": lambda x, C: xp.stack([row @ C for row in x]) if np.ndim(x) > 1 else x @ C,
        }
    return (
        readings[kinks]
        | of_tables
        | {
            "exp": xp.exp,
            "log": xp.log,
            "sqrt": xp.sqrt,
            "tanh": xp.tanh,
            "sinh": xp.sinh,
            "cosh": xp.cosh,
            "sin": xp.sin,
            "cos": xp.cos,
            "asin": xp.arcsin,
            "erf": erf,
            "sigmoid": sigmoid,
            "softplus": softplus,
            "max": fold(xp.maximum),
            "min": fold(xp.minimum),
            "masked": lambda score, count: xp.where(count > 0, score, -xp.inf),
            "positive": lambda x: xp.where(x > 0, 1.0, 0.0),
        }
    )


def function(program: Program, outputs: Sequence[str], kinks: Kinks, xp: Any) -> Callable:
    """`evaluate(y, arguments)` of the named values, as a tuple of arrays of the library `xp`."""
    return _cached(str(program), tuple(outputs), kinks, xp)


def function_of_rows(program: Program, outputs: Sequence[str], kinks: Kinks) -> Callable:
    """The same of many states (rows) at once, on NumPy: a row each, with one number or with one a row of a table."""
    evaluate = _cached(str(program), tuple(outputs), kinks, np, True)
    return lambda states, arguments: evaluate(states.T[..., None], arguments)


@lru_cache(maxsize=256)
def _cached(program_text: str, outputs: tuple[str, ...], kinks: Kinks, xp: Any, of_rows: bool = False) -> Callable:
    program = Program.parse(program_text)
    namespace = _functions(xp, kinks, of_rows)
    exec(compile(source(program, outputs, kinks), f"<program {program.digest}>", "exec"), namespace)
    return namespace["evaluate"]


def vector_field(program: Program, kinks: Kinks, xp: Any) -> Callable:
    """dy/dt as a vector."""
    evaluate = _cached(str(program), program.derivatives, kinks, xp)
    return lambda y, arguments: xp.stack(evaluate(y, arguments))


def switching_functions(program: Program, kinks: Kinks, xp: Any) -> Callable:
    """The arguments of all ReLUs as one vector: gate i is open where entry i is positive."""
    evaluate = _cached(str(program), program.kinks, kinks, xp)
    return lambda y, arguments: xp.concatenate([xp.atleast_1d(x) for x in evaluate(y, arguments)])


def observed(program: Program, names: Sequence[str], kinks: Kinks, xp: Any) -> Callable:
    """The named observables as one vector."""
    evaluate = _cached(str(program), tuple(program.observables[n] for n in names), kinks, xp)
    return lambda y, arguments: xp.stack([xp.asarray(x, dtype=float) + 0.0 * y[0] for x in evaluate(y, arguments)])


def observed_rows(program: Program, names: Sequence[str], kinks: Kinks) -> Callable:
    """The named observables of many states (rows) at once, a row each, on NumPy."""
    evaluate = function_of_rows(program, tuple(program.observables[n] for n in names), kinks)

    def rows(states: np.ndarray, arguments: Arguments) -> np.ndarray:
        largest = max([1, *(table.shape[-1] for table in arguments.tables.values())])
        size = max(1, _MOST_AT_ONCE // largest)
        found = np.empty((len(states), len(names)))
        for first in range(0, len(states), size):
            part = slice(first, first + size)
            for i, x in enumerate(evaluate(states[part], arguments)):
                found[part, i : i + 1] = x
        return found

    return rows
