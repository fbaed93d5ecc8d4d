"""What a certificate's step says about the solution: sets of states, ranges of functions, logarithmic norms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
from flint import arb, arb_poly, arb_series

from flowsys.proof.checker.reading import Reading, Refused, constant, fraction, rational

TERMS = 6


def term(x: Any, k: int) -> arb:
    """A coefficient of a series, or of a constant."""
    if isinstance(x, arb_series):
        return x[k]
    return arb(x) if k == 0 else arb(0)


@dataclass(frozen=True)
class Around:
    """All states with |W (y - centre)| ≤ error in the moving coordinates and |y_i - centre_i| ≤ radii_i in the rest."""

    t: Fraction
    centre: tuple[arb, ...]
    error: arb
    radii: tuple[arb, ...]
    moving: tuple[int, ...]
    exponents: tuple[int, ...]

    @classmethod
    def read(cls, content: dict[str, Any], centre: Sequence[arb]) -> "Around":
        n = len(centre)
        radii = [rational(fraction(content["radii"].get(str(i), "0p0"))) for i in range(n)]
        error, moving = rational(fraction(content["error"])), tuple(content["moving"])
        if not error >= 0 or not all(r >= 0 for r in radii):
            raise Refused("a radius is negative")
        if len(content["exponents"]) != n or any(not 0 <= i < n for i in moving):
            raise Refused("weights or coordinates are missing")
        return cls(fraction(content["t"]), tuple(centre), error, tuple(radii), moving, tuple(content["exponents"]))

    def weight(self, i: int) -> arb:
        return rational(Fraction(2) ** self.exponents[i])

    def radius(self, i: int) -> arb:
        return self.error / self.weight(i) if i in self.moving else self.radii[i]

    def box(self) -> list[arb]:
        return [c + arb(0, self.radius(i).upper()) for i, c in enumerate(self.centre)]

    def norm(self, values: Sequence[arb]) -> arb:
        """|W v| in the moving coordinates, from above."""
        total = arb(0)
        for i in self.moving:
            scaled = abs(values[i]).upper() * self.weight(i)
            total += scaled * scaled
        return total.upper().sqrt().upper()

    def contains(self, other: "Around") -> bool:
        """Whether every state of the other set is in this one."""
        shift = [abs(a - b).upper() for a, b in zip(self.centre, other.centre)]
        stretch, square = arb(0), arb(0)
        for i in self.moving:
            if i in other.moving:
                stretch = stretch.max(self.weight(i) / other.weight(i)).upper()
            else:
                square += (other.radii[i] * self.weight(i)) * (other.radii[i] * self.weight(i))
        error = (stretch * other.error).upper()
        if not square.is_zero():
            error = (square + error * error).upper().sqrt().upper()
        if not error + self.norm(shift) <= self.error:
            return False
        return all(
            other.radius(i).upper() + shift[i] <= self.radii[i] or (shift[i].is_zero() and other.radius(i).is_zero())
            for i in range(len(shift))
            if i not in self.moving
        )


class Polynomials:
    """The polynomials of a step with the error around them."""

    def __init__(self, coefficients: Sequence[Sequence[arb]], radius: Sequence[arb]):
        self.polynomials, self.radius = [arb_poly(list(c)) for c in coefficients], list(radius)

    def series(self, low: arb, high: arb, length: int) -> list[arb_series]:
        """p(τ + s) + error, τ in [low, high]."""
        middle, half = (low + high) / 2, ((high - low) / 2).upper()
        found = []
        for p, r in zip(self.polynomials, self.radius):
            shifted = p(arb_poly([middle, 1]))
            if not half.is_zero():
                shifted = shifted(arb_poly([arb(0, half), 1]))
            found.append(arb_series([shifted[0] + arb(0, r), *(shifted[k] for k in range(1, length))], length))
        return found

    def box(self, low: arb, high: arb) -> list[arb]:
        return [x[0] for x in self.series(low, high, 1)]


Function = Callable[[Sequence], list]


def values_on(function: Function, polynomials: Polynomials, low: Fraction, high: Fraction) -> list[arb]:
    """Enclosures of functions of the state on an interval of times, to a few terms around its middle."""
    a, b = rational(low), rational(high)
    if low == high:
        return [constant(v) for v in function(polynomials.box(a, b))]
    before, flint.ctx.cap = flint.ctx.cap, TERMS
    try:
        at, over = (
            function(polynomials.series((a + b) / 2, (a + b) / 2, TERMS)),
            function(polynomials.series(a, b, TERMS)),
        )
    except Refused:
        flint.ctx.cap = 1
        return [constant(v) for v in function(polynomials.box(a, b))]
    finally:
        flint.ctx.cap = before
    around, found = arb(0, ((b - a) / 2).upper()), []
    for x, rest in zip(at, over):
        total, power = arb(0), arb(1)
        for k in range(TERMS - 1):
            total, power = total + term(x, k) * power, power * around
        total += term(rest, TERMS - 1) * power
        plain = term(rest, 0)
        both = total.is_finite() and total.overlaps(plain)
        found.append(total.intersection(plain) if both else plain)
    return found


def has_signs(
    function: Function, signs: Sequence[int], polynomials: Polynomials, low: Fraction, high: Fraction, depth: int = 120
) -> bool:
    """Whether functions of the state keep their signs (0: any) on an interval of times."""
    values = values_on(function, polynomials, low, high)
    if all(not sign or sign * value > 0 for value, sign in zip(values, signs)):
        return True
    if not depth or low == high:
        return False
    middle = (low + high) / 2
    return has_signs(function, signs, polynomials, low, middle, depth - 1) and has_signs(
        function, signs, polynomials, middle, high, depth - 1
    )


def jacobian(reading: Reading, box: Sequence[arb], gates: Sequence, moving: Sequence[int]) -> list[list[arb]]:
    """∂f_i/∂y_j over a box."""
    before, flint.ctx.cap = flint.ctx.cap, 2
    try:
        columns = []
        for j in moving:
            state: list[Any] = list(box)
            state[j] = arb_series([box[j], 1], 2)
            rates = reading.rates(state, gates)
            columns.append([term(rates[i], 1) for i in moving])
    finally:
        flint.ctx.cap = before
    return [list(row) for row in zip(*columns)]


def norm_is_at_most(matrix: list[list[arb]], exponents: Sequence[int], bound: arb) -> bool:
    """Whether λ_max((A + Aᵀ)/2) ≤ bound for all matrices A = W J W⁻¹ in balls: LDLᵀ of what remains is positive."""
    n = len(matrix)
    scaled = [
        [matrix[i][j] * rational(Fraction(2) ** (exponents[i] - exponents[j])) for j in range(n)] for i in range(n)
    ]
    half = [[(scaled[i][j] + scaled[j][i]) / 2 for j in range(n)] for i in range(n)]
    if not all(x.is_finite() for row in half for x in row):
        return False
    left = bound - _radius_norm([[x.rad().upper() for x in row] for row in half])
    work = [[(left if i == j else arb(0)) - half[i][j].mid() for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = work[k][k]
        if not pivot > 0:
            return False
        column = [work[i][k] for i in range(n)]
        for i in range(k + 1, n):
            if not column[i].is_zero():
                factor, row = column[i] / pivot, work[i]
                for j in range(k + 1, i + 1):
                    row[j] = row[j] - factor * column[j]
    return True


def _radius_norm(radii: list[list[arb]]) -> arb:
    """The norm of a symmetric nonnegative matrix, from above: max (R x)_i / x_i for a positive x."""
    vector, best = [arb(1)] * len(radii), None
    for _ in range(8):
        image = [sum((r * x for r, x in zip(row, vector)), arb(0)) for row in radii]
        ratio = arb(0)
        for y, x in zip(image, vector):
            ratio = ratio.max(y / x)
        best = ratio.upper() if best is None or ratio.upper() < best else best
        top = max((float(y) for y in image), default=0.0)
        if top == 0:
            break
        vector = [arb(float(y) / top + 1e-6) for y in image]
    return best if best is not None else arb(0)
