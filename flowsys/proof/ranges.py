"""Where functions of the state are on a part of a proven step, and whether their signs are certain there.

On [a, b], F(p(t) + η) is expanded in t around the middle, η anything in the error's ball: a few coefficients there, the
last one over the whole interval (Lagrange). So linear functions are as sharp as the polynomials themselves.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb, arb_series

from flowsys.proof.numbers import Undecided, precision, whole_power
from flowsys.proof.steps import Passage, Step, ball
from flowsys.proof.taylor import coefficient, over

Functions = Callable[[Sequence], list]
LENGTH = 5


def ranges(functions: Functions, step: Step | Passage, low: Fraction, high: Fraction, bits: int) -> list[arb]:
    """Enclosures of functions of the state for all times in [low, high], counted from the step's start."""
    if isinstance(step, Passage):
        with precision(bits, 1):
            return [coefficient(value, 0) for value in functions(step.box(ball(low), ball(high)))]
    with precision(bits, LENGTH):
        a, b = ball(low), ball(high)
        middle, half = (a + b) / 2, ((b - a) / 2).upper()
        if half.is_zero():
            return [coefficient(value, 0) for value in functions(step.box(a, b))]
        around = arb(0, half)
        try:
            centre = functions(_series(step, middle, middle, LENGTH))
            whole = functions(_series(step, a, b, LENGTH))
        except Undecided:
            return [coefficient(value, 0) for value in functions(step.box(a, b))]
        found = []
        for c, w in zip(centre, whole):
            total = coefficient(w, LENGTH - 1) * whole_power(around, LENGTH - 1)
            for k in reversed(range(LENGTH - 1)):
                total += coefficient(c, k) * whole_power(around, k)
            plain = coefficient(w, 0)
            found.append(total.intersection(plain) if total.is_finite() and plain.overlaps(total) else plain)
        return found


def _series(step: Step, low: arb, high: arb, length: int) -> list[arb_series]:
    series = []
    for i, p in enumerate(step.polynomials):
        shifted = over(p, low, high, length)
        series.append(arb_series([shifted[0] + arb(0, step.radius(i)), *shifted[1:]], length))
    return series


def first_doubt(
    functions: Functions,
    signs: Sequence[int],
    step: Step | Passage,
    low: Fraction,
    high: Fraction,
    bits: int,
    least: Fraction,
) -> tuple[Fraction, int] | None:
    """Where one of the functions is first not certain to have its sign (and which), looking no closer than `least`."""
    values = ranges(functions, step, low, high, bits)
    doubted = [i for i, (value, sign) in enumerate(zip(values, signs)) if sign and not sign * value > 0]
    if not doubted:
        return None
    if high - low <= least or isinstance(step, Passage):
        return low, doubted[0]
    middle = (low + high) / 2
    return first_doubt(functions, signs, step, low, middle, bits, least) or first_doubt(
        functions, signs, step, middle, high, bits, least
    )
