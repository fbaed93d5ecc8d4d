"""Expressions in the syntax of a program: the names of its functions, every bit of a number."""

import math

import pytest
import sympy as sp

from flowsys.program import FUNCTIONS
from flowsys.symbolic.lower import program_text

x = sp.Symbol("x", real=True)


def value(text, at):
    return eval(text, {name: getattr(math, name, None) for name in FUNCTIONS} | {"x": at})


@pytest.mark.parametrize("function", [sp.erf, sp.asin, sp.sin, sp.cos, sp.tanh, sp.sinh, sp.cosh, sp.exp, sp.log])
def test_a_function_and_its_derivative_are_printed_in_functions_of_a_program(function):
    for expression in (function(x), function(x).diff(x)):
        assert value(program_text(expression), 0.3) == pytest.approx(float(expression.subs(x, 0.3)), rel=1e-14)


@pytest.mark.parametrize("number", [0.1 + 0.2, 1 / 3, 2**0.5 * 1e-7, -1e300 / 3, 123456789.123456789, 5e-324])
def test_a_number_keeps_every_bit(number):
    assert value(program_text(sp.Float(number) * x), 1.0) == number
    assert value(program_text(sp.exp(x) - sp.Float(number)), -1e6) == -number
