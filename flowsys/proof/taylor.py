"""Taylor polynomials of a solution, and how far they are from solving the equation.

The polynomials p only need to be good; what is proven is the residual p' - f(p) on the whole step: its first
coefficients are enclosed at the step's start, and the next one, by Lagrange, over the step's interval.
"""

from collections.abc import Callable, Sequence

import flint
from flint import arb, arb_poly, arb_series

Field = Callable[[Sequence], list]  # values or series of the state -> those of the derivative


def taylor_polynomials(field: Field, start: Sequence[arb], order: int) -> list[list[arb]]:
    """The solution's Taylor coefficients to `order`, as exact numbers (midpoints)."""
    coefficients = [[y.mid()] for y in start]
    cap = flint.ctx.cap
    try:
        for k in range(order):
            flint.ctx.cap = k + 1
            rates = field([arb_series(c, k + 1) for c in coefficients])
            for c, rate in zip(coefficients, rates):
                c.append((coefficient(rate, k) / (k + 1)).mid())
    finally:
        flint.ctx.cap = cap
    return coefficients


def coefficient(x, k: int) -> arb:
    """The k-th coefficient of a series, or of a constant."""
    if isinstance(x, arb_series):
        return x[k]
    return arb(x) if k == 0 else arb(0)


def over(polynomial: Sequence[arb], low: arb, high: arb, length: int) -> list[arb]:
    """The coefficients of p(τ + s), τ in [low, high]: an enclosure, made around the middle."""
    middle, half = (low + high) / 2, (high - low) / 2
    shifted = arb_poly(list(polynomial))(arb_poly([middle, 1]))
    if not half.is_zero():
        shifted = shifted(arb_poly([arb(0, half.upper()), 1]))
    return [shifted[k] for k in range(min(length, len(polynomial)))]


def residual(
    field: Field, polynomials: Sequence[Sequence[arb]], width: Sequence[arb], step: arb, order: int
) -> list[arb]:
    """Upper bounds of |p_i' - f_i(p + w)| on [0, step], w anything in the balls `width` (of what rests)."""
    cap = flint.ctx.cap
    try:
        flint.ctx.cap = order
        series = [arb_series([p[0] + w, *p[1:order]], order) for p, w in zip(polynomials, width)]
        rates = field(series)
        flint.ctx.cap = order + 1
        shifted = [over(p, arb(0), step, order + 1) for p in polynomials]
        shifted = [arb_series([s[0] + w, *s[1:]], order + 1) for s, w in zip(shifted, width)]
        last = field(shifted)
    finally:
        flint.ctx.cap = cap
    bounds = []
    for p, rate, rest in zip(polynomials, rates, last):
        derivative = [(k + 1) * c for k, c in enumerate(p[1:])]
        bound, power = arb(0), arb(1)
        for k in range(order):
            own = derivative[k] if k < len(derivative) else arb(0)
            bound += abs(own - coefficient(rate, k)) * power
            power *= step
        bounds.append((bound + abs(coefficient(rest, order)) * power).upper())
    return bounds


def value_at(polynomial: Sequence[arb], s: arb) -> arb:
    """p(s)."""
    value = arb(0)
    for c in reversed(polynomial):
        value = value * s + c
    return value
