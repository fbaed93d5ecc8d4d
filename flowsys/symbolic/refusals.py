"""What a statement may not hold: symbols that it does not declare, functions that a program does not have.

sympy tells symbols apart by their assumptions too: `sp.Symbol("S")` is not `symbol("S")`, and a loss that reads the one
is constant in the other. Names alone would not show it, for both are written "S" in the program.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import sympy as sp

from flowsys.errors import InputError
from flowsys.symbolic.primitives import OPAQUE, Largest, Named, PowerReluSlope, Smallest

if TYPE_CHECKING:
    from flowsys.symbolic.assemble import Statement

OFFERED = (
    "exp", "log", "sqrt", "tanh", "sin", "cos", "arcsin", "erf", "sigmoid", "softplus", "relu", "smooth_relu",
    "power_relu", "hinge", "clip_above", "abs", "maximum", "minimum", "softmax", "attend", "log_sum_exp",
    "cross_entropy",
)  # fmt: skip
_ARITHMETIC = (sp.Add, sp.Mul, sp.Pow, sp.Symbol, sp.Rational, sp.Float, sp.NumberSymbol)
_FUNCTIONS = (sp.exp, sp.log, sp.tanh, sp.sinh, sp.cosh, sp.sin, sp.cos, sp.asin, sp.erf, *OPAQUE)
_NOT_DIFFERENTIATED = (Largest, Smallest, PowerReluSlope)


def refuse(statement: "Statement") -> None:
    """Raise an InputError if the statement holds what no program can be made of, or reads what it does not declare."""
    for place, expressions, declared, is_differentiated in _places(statement):
        for part in _parts(expressions):
            _refuse_function(place, part, is_differentiated)
            if part.is_Symbol and part not in declared:
                _refuse_symbol(place, part, declared)


def _places(statement: "Statement") -> Iterator[tuple[str, list[sp.Expr], set[sp.Symbol], bool]]:
    """Every part of a statement: its name, its expressions, what they may read, and whether they are differentiated."""
    known = {*statement.state, *statement.entries, *statement.parameters}
    yield "the entries", list(statement.entries.values()), known, True
    for block in statement.blocks:
        slopes = {x: sp.Dummy() for x in statement.differentiable}
        rates = [*block.derivatives(slopes.__getitem__).values()]
        yield "a block", rates, known | {*slopes.values(), *_labels(rates)}, False
    rows = known
    for level in statement.levels:
        expressions = list(level.outputs.values())
        rows = known | {*level.columns, *level.linked, *_real(level.outputs), *_labels(expressions)}
        yield f"the level {level.table}", expressions, rows, True
    rows = rows | _labels([statement.loss])
    yield "the loss", [statement.loss], rows, True
    for name, value in statement.totals.items():
        yield f"the total {name}", [value], rows | _labels([value]), False
    totals = {*statement.totals}
    for part in statement.parts:
        columns = known | {*part.level.columns}
        for place, expression in (("the loss", part.loss), *((f"the total {k}", v) for k, v in part.totals.items())):
            yield f"{place} of {part.level.table}", [expression], columns | _labels([expression]), place == "the loss"
        totals |= {*part.totals}
    of_flow = _real(f"d_{x}" for x in statement.state) | _real(f"gradient_{x}" for x in statement.differentiable)
    sums = known | _real(totals) | of_flow
    for name, value in statement.observables.items():
        yield f"the observable {name}", [value], sums | _labels([value]), False


def _parts(expressions: Iterable[sp.Expr]) -> Iterator[sp.Expr]:
    """Every distinct subexpression once; not the label of a `Named` one, which is a name and not read."""
    todo, seen = [sp.sympify(x) for x in expressions], set()
    while todo:
        part = todo.pop()
        if part not in seen:
            seen.add(part)
            yield part
            todo += reversed(part.args[1:] if isinstance(part, Named) else part.args)


def _labels(expressions: Iterable[sp.Expr]) -> set[sp.Symbol]:
    """The symbols under which `Named` parts are written."""
    return _real(part.args[0] for part in _parts(expressions) if isinstance(part, Named))


def _real(names: Iterable) -> set[sp.Symbol]:
    return {sp.Symbol(str(name), real=True) for name in names}


def _refuse_symbol(place: str, read: sp.Symbol, declared: set[sp.Symbol]) -> None:
    made = "flowsys.symbolic.assemble.symbol makes them, always the same one for a name"
    if str(read) in map(str, declared):
        raise InputError(f"{place} reads a symbol {read} that is not the {read} the statement declares: {made}.")
    raise InputError(
        f"{place} reads {read}, which is no state, entry, parameter, column or total of the statement: declare it "
        f"({made})."
    )


def _refuse_function(place: str, part: sp.Expr, is_differentiated: bool) -> None:
    there = f"there are {', '.join(OFFERED)} in flowsys.symbolic.primitives"
    if not isinstance(part, (*_ARITHMETIC, *_FUNCTIONS)):
        kind = f"the function {type(part).__name__}" if part.args else str(part)
        raise InputError(f"{place} holds {kind}, which a program does not have: {there}.")
    if is_differentiated and isinstance(part, _NOT_DIFFERENTIATED):
        kind = type(part).__name__.lower()
        raise InputError(f"{place} holds the function {kind}, which is only for observing: {there}.")
