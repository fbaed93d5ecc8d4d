"""A program's functions on balls (`flint.arb`) and on power series of balls (`flint.arb_series`).

Every result encloses the exact one; what is undefined somewhere on a ball is nan, and nothing is proven of it.
"""

from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import flint
from flint import arb, arb_series


class Undecided(Exception):
    """A branch (max, min, a step) that is not the same on the whole ball."""


@contextmanager
def precision(bits: int, length: int | None = None):
    """Balls of so many bits, and series of so many coefficients."""
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = bits, length or flint.ctx.cap
    try:
        yield
    finally:
        flint.ctx.prec, flint.ctx.cap = before


def first(x: Any) -> arb:
    """The constant term."""
    return x[0] if isinstance(x, arb_series) else arb(x)


def exp(x):
    return (arb(x) if isinstance(x, int) else x).exp()


def log(x):
    return (arb(x) if isinstance(x, int) else x).log()


def sqrt(x):
    return (arb(x) if isinstance(x, int) else x).sqrt()


def sin(x):
    return (arb(x) if isinstance(x, int) else x).sin()


def cos(x):
    return (arb(x) if isinstance(x, int) else x).cos()


def asin(x):
    return (arb(x) if isinstance(x, int) else x).asin()


def erf(x):
    return (arb(x) if isinstance(x, int) else x).erf()


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def softplus(x):
    return (1 + x.exp()).log()


def tanh(x):
    return 1 - 2 / (1 + (2 * x).exp())


def sinh(x):
    return ((x).exp() - (-x).exp()) / 2


def cosh(x):
    return ((x).exp() + (-x).exp()) / 2


def whole_power(x, n: int):
    """xⁿ, n ≥ 0, by squaring: Arb's own is undefined on balls around 0."""
    result, square = arb(1), x
    while n:
        if n & 1:
            result = square * result
        n >>= 1
        square = square * square if n else square
    return result


def power(x, exponent: Fraction):
    if exponent.denominator == 1:
        n = exponent.numerator
        return whole_power(x, n) if n >= 0 else 1 / whole_power(x, -n)
    if exponent.denominator == 2:
        root = whole_power(sqrt(x), abs(exponent.numerator))
        return root if exponent > 0 else 1 / root
    return (x.log() * arb(flint.fmpq(exponent.numerator, exponent.denominator))).exp()


def masked(score, count):
    if count > 0:
        return score
    if count <= 0:
        return None
    raise Undecided("a count that may be 0")


def _compare(x, y) -> int:
    a, b = first(x), first(y)
    if a > b:
        return 1
    if a < b:
        return -1
    raise Undecided("two values of a max or min lie too close")


def _choose(values, sign: int):
    """The extreme value: balls are compared by their ends, series must be apart."""
    values = [v for v in values if v is not None]
    best = values[0]
    for value in values[1:]:
        if not isinstance(best, arb_series) and not isinstance(value, arb_series):
            best = arb(best).max(arb(value)) if sign > 0 else arb(best).min(arb(value))
        elif _compare(value, best) == sign:
            best = value
    return best


def maximum(*values):
    return _choose(values, 1)


def minimum(*values):
    return _choose(values, -1)


def positive(x):
    value = first(x)
    if value > 0:
        return arb(1)
    if value <= 0:
        return arb(0)
    if isinstance(x, arb_series):
        raise Undecided("a value whose sign counts lies too close to 0")
    return arb(0.5, 0.5)


def relu(x, gate):
    if isinstance(gate, int):
        return x if gate else 0 * x
    return gate * x


def step(x, gate):
    return arb(gate)


def quotient(numerator: int, denominator: int) -> arb:
    return arb(flint.fmpq(numerator, denominator))


FUNCTIONS: dict[str, Callable] = {
    "exp": exp, "log": log, "sqrt": sqrt, "sin": sin, "cos": cos, "asin": asin, "erf": erf, "sigmoid": sigmoid,
    "softplus": softplus, "tanh": tanh, "sinh": sinh, "cosh": cosh, "power": power, "masked": masked,
    "max": maximum, "min": minimum, "positive": positive, "relu": relu, "step": step, "Fraction": Fraction,
    "quotient": quotient,
}  # fmt: skip
