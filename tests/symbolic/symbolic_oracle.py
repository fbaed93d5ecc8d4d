"""Opaque functions spelt out in sympy's own, and expressions read as programs: two ways to a number."""

from collections.abc import Mapping

import numpy as np
import sympy as sp

from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.symbolic.assemble import Statement, assemble, symbol
from flowsys.symbolic.flow import Direct
from flowsys.symbolic.primitives import (
    AttentionMean,
    LogSumExp,
    Named,
    PowerRelu,
    PowerReluSlope,
    Relu,
    Sigmoid,
    Softmax,
    Softplus,
    Step,
)
from flowsys.symbolic.reverse import Tape


def _softmax(i, *group):
    half = len(group) // 2
    parts = [n * sp.exp(s) for s, n in zip(group[:half], group[half:])]
    return parts[int(i)] / sp.Add(*parts)


def _attention(*args):
    third = len(args) // 3
    return sp.Add(*[_softmax(i, *args[third:]) * v for i, v in enumerate(args[:third])])


def _log_sum_exp(*args):
    half = len(args) // 2
    return sp.log(sp.Add(*[n * sp.exp(s) for s, n in zip(args[:half], args[half:])]))


def _power_relu(x, width, power):
    inside = x**power / (power * width ** (power - 1))
    return sp.Piecewise((0, x <= 0), (inside, x <= width), (x - width * (1 - 1 / power), True))


SPELT_OUT = {
    Sigmoid: lambda x: 1 / (1 + sp.exp(-x)),
    Softplus: lambda x: sp.log(1 + sp.exp(x)),
    Relu: lambda x: sp.Piecewise((x, x > 0), (0, True)),
    Step: lambda x: sp.Piecewise((1, x > 0), (0, True)),
    PowerRelu: _power_relu,
    PowerReluSlope: lambda x, width, power: sp.Piecewise(
        (0, x <= 0), ((x / width) ** (power - 1), x <= width), (1, True)
    ),
    Named: lambda label, x: x,
    Softmax: _softmax,
    AttentionMean: _attention,
    LogSumExp: _log_sum_exp,
}


def spelt_out(expression: sp.Expr) -> sp.Expr:
    """The same expression in sympy's own functions, from the inside out."""
    if not expression.args:
        return expression
    args = [spelt_out(a) for a in expression.args]
    return SPELT_OUT.get(type(expression), expression.func)(*args)


def without_tape(expression: sp.Expr, tape: Tape) -> sp.Expr:
    """Tape symbols replaced by what they stand for."""
    for name, value in reversed(tape.definitions.items()):
        expression = expression.xreplace({name: value})
    return expression


def number(expression: sp.Expr, point: Mapping[sp.Symbol, float]) -> float:
    return float(sp.N(expression.subs({x: sp.Float(v, 30) for x, v in point.items()}), 20))


def program_of(expression: sp.Expr, variables: tuple[sp.Symbol, ...], parameters=(), differentiate: bool = True):
    """A program that observes `value` and moves along minus its gradient."""
    return assemble(
        Statement(
            blocks=[Direct(variables, tuple(sp.S.One for _ in variables))],
            parameters=tuple(parameters),
            loss=expression if differentiate else sp.S.Zero,
            totals={"total_value": expression},
            observables={"value": symbol("total_value")},
        )
    )


def value_and_gradient(expression: sp.Expr, variables: tuple[sp.Symbol, ...], point, parameters=None):
    """Value and gradient of an expression by its program, in NumPy."""
    given = parameters or {}
    program = program_of(expression, variables, given)
    args = arguments(program, {str(name): value for name, value in given.items()})
    return observed(program, ("value",), "exact", np)(point, args)[0], -vector_field(program, "exact", np)(point, args)


def symbols(n: int) -> tuple[sp.Symbol, ...]:
    return tuple(symbol(f"s{i}") for i in range(n))
