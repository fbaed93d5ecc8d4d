"""sin, cos and arcsin on vectors, written into the kernel.

    x = n π/2 + r,  |r| ≤ π/4;   sin r = r + r³ p(r²),   cos r = 1 - r²/2 + r⁴ q(r²),   exchanged and signed by n mod 4
    arcsin y = y + y³ a(y²) up to ½;   arcsin x = π/2 - 2 arcsin √((1-x)/2) beyond

π/2 is taken away in four parts (Cody & Waite), of which three are short enough that their products with n are exact;
what is lost in the differences is carried along. Errors are below 1 ulp, those of sin and cos up to |x| = 2^20; beyond
that they are those of sin and cos of a number within 2^-52 |x| of x. They are not numbers from |x| = 2^40 on.
"""

from fractions import Fraction
from functools import lru_cache
from math import factorial

from flowsys.kernels.polynomials import interpolant, polynomial, power_series
from flowsys.kernels.writer import Writer

_HALF_PI = Fraction("1.57079632679489661923132169163975144209858469968755291048747229615390820314310449931401741267105")
_ROUND = 1.5 * 2.0**52
_TOP = 2.0**40


def _in_parts(x: Fraction, n_parts: int, n_bits: int) -> tuple[float, ...]:
    """x in [1, 2) as a sum of doubles, all but the last with so many bits."""
    parts: list[Fraction] = []
    for i in range(1, n_parts):
        scale = 2 ** (i * n_bits - 1)
        parts.append(Fraction(int((x - sum(parts)) * scale), scale))
    return (*map(float, parts), float(x - sum(parts)))


_PARTS = _in_parts(_HALF_PI, 4, 33)
_QUARTER_PI = float(_HALF_PI) / 2
_HALF_PI_LOW = float(_HALF_PI - Fraction(float(_HALF_PI)))


@lru_cache(maxsize=1)
def _sine_tail() -> tuple[float, ...]:
    """p in sin r = r + r³ p(r²)."""
    return interpolant(power_series(lambda k: Fraction((-1) ** (k + 1), factorial(2 * k + 3))), 0.0, 0.617, 6)


@lru_cache(maxsize=1)
def _cosine_tail() -> tuple[float, ...]:
    """q in cos r = 1 - r²/2 + r⁴ q(r²)."""
    return interpolant(power_series(lambda k: Fraction((-1) ** k, factorial(2 * k + 4))), 0.0, 0.617, 5)


@lru_cache(maxsize=1)
def _arcsine_tail() -> tuple[float, ...]:
    """a in arcsin y = y + y³ a(y²)."""

    def term(k: int) -> Fraction:
        n = k + 1
        return Fraction(factorial(2 * n), 4**n * factorial(n) ** 2 * (2 * n + 1))

    return interpolant(power_series(term), 0.0, 0.25, 13)


def _signed_part(w: Writer, x: str, quarter_turns: int) -> str:
    """sin(x + quarter_turns π/2)."""
    shifted = w.fma(x, w.constant(float(1 / _HALF_PI)), w.constant(_ROUND))
    n = w.sub(shifted, w.constant(_ROUND))
    r, lost = x, w.mul(n, w.constant(-_PARTS[-1]))
    for part in _PARTS[:-1]:
        product = w.mul(n, w.constant(part))
        rest = w.sub(r, product)
        lost = w.add(w.sub(w.sub(r, rest), product), lost)
        r = rest
    square = w.mul(r, r)
    half = w.mul(square, w.constant(0.5))
    near_one = w.sub(w.constant(1.0), half)
    tail = w.mul(lost, near_one)
    sine = w.add(r, w.fma(w.mul(square, r), polynomial(w, _sine_tail(), square), tail))
    tail = w.sub(w.sub(w.sub(w.constant(1.0), near_one), half), w.mul(r, lost))
    cosine = w.add(near_one, w.fma(w.mul(square, square), polynomial(w, _cosine_tail(), square), tail))
    turns = w.integer_operation("add", w.as_integers(shifted), w.integer(quarter_turns))
    is_odd = w.value(f"trunc {w.integers} {turns} to {w.booleans}")
    sign = w.integer_operation("shl", w.integer_operation("lshr", turns, w.integer(1)), w.integer(63))
    magnitude = w.as_integers(w.select(is_odd, cosine, sine))
    result = w.as_doubles(w.integer_operation("xor", magnitude, sign))
    return w.select(w.compare("olt", w.intrinsic("fabs", x), w.constant(_TOP)), result, w.constant(float("nan")))


def sin(w: Writer, x: str) -> str:
    return _signed_part(w, x, 0)


def cos(w: Writer, x: str) -> str:
    return _signed_part(w, x, 1)


def arcsin(w: Writer, x: str) -> str:
    """arcsin x; not a number beyond [-1, 1], where the root is none."""
    size = w.intrinsic("fabs", x)
    is_small = w.compare("olt", size, w.constant(0.5))
    halved = w.mul(w.sub(w.constant(1.0), size), w.constant(0.5))
    root = w.intrinsic("sqrt", halved)
    y = w.select(is_small, size, root)
    square = w.select(is_small, w.mul(size, size), halved)
    cubic = w.mul(y, w.mul(square, polynomial(w, _arcsine_tail(), square)))
    # the root as 21 leading bits, whose square is exact, and the rest (none at |x| = 1, where both sums are 0)
    leading = w.as_doubles(w.integer_operation("and", w.as_integers(root), w.integer(-(1 << 32))))
    divisor = w.maximum(w.add(root, leading), w.constant(2.0**-1000))
    rest = w.div(w.sub(halved, w.mul(leading, leading)), divisor)
    twice = lambda a: w.add(a, a)
    small_parts = w.sub(twice(cubic), w.sub(w.constant(_HALF_PI_LOW), twice(rest)))
    large_parts = w.sub(w.constant(_QUARTER_PI), twice(leading))
    large = w.add(w.constant(_QUARTER_PI), w.sub(large_parts, small_parts))
    return w.intrinsic("copysign", w.select(is_small, w.add(size, cubic), large), x)
