"""Taylor polynomials of a solution, and how far they are from solving the equation.

The polynomials p only need to be good; what is proven is the residual p' - f(p) on the whole step: on each half of it,
the first coefficients are enclosed around the middle, and the next one, by Lagrange, over the half's interval.
"""

from collections.abc import Callable, Sequence

import flint
from flint import arb, arb_poly, arb_series

PARTS = 2
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


def residual(field: Field, polynomials: Sequence[Sequence[arb]], width: Sequence[arb], step: arb) -> list[arb]:
    """Upper bounds of |p_i' - f_i(p + w)| on [0, step], w anything in the balls `width` (of what rests)."""
    order = max(len(p) for p in polynomials)
    bounds = [arb(0)] * len(polynomials)
    cap = flint.ctx.cap
    try:
        flint.ctx.cap = order + 1
        for part in range(PARTS):
            low, high = step * part / PARTS, step * (part + 1) / PARTS
            middle, half = (low + high) / 2, ((high - low) / 2).upper()
            at_middle = [over(p, middle, middle, order + 1) for p in polynomials]
            rates = field(_widened(at_middle, width, order + 1))
            rests = field(_widened([over(p, low, high, order + 1) for p in polynomials], width, order + 1))
            for i, (p, rate, rest) in enumerate(zip(at_middle, rates, rests)):
                slopes = [(k + 1) * c for k, c in enumerate(p[1:])]
                bound, power = arb(0), arb(1)
                for k in range(order):
                    own = slopes[k] if k < len(slopes) else arb(0)
                    bound += abs(own - coefficient(rate, k)) * power
                    power *= half
                bounds[i] = bounds[i].max((bound + abs(coefficient(rest, order)) * power).upper()).upper()
    finally:
        flint.ctx.cap = cap
    return bounds


def _widened(shifted: Sequence[Sequence[arb]], width: Sequence[arb], length: int) -> list[arb_series]:
    return [arb_series([s[0] + w, *s[1:]], length) for s, w in zip(shifted, width)]


def value_at(polynomial: Sequence[arb], s: arb) -> arb:
    """p(s)."""
    value = arb(0)
    for c in reversed(polynomial):
        value = value * s + c
    return value
