"""Steps of an enclosure: polynomials, and a proven bound of how far the solution is from them.

On a step the solution satisfies |W (y(t) - p(t))| ≤ e(t) for the coordinates that move; those that rest (their rate is
exactly 0 on the whole tube) stay in the ball they are in. With a residual |W (p' - f(p))| ≤ δ and a logarithmic norm
of at most μ over the tube, e' ≤ μ e + δ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import flint
import numpy as np
from flint import arb

from flowsys.proof.taylor import over


def ball(x: Fraction) -> arb:
    """An exact dyadic as a ball."""
    return arb(flint.fmpq(x.numerator, x.denominator))


def largest(values: Sequence[arb]) -> arb:
    """An upper bound of them all; 0 of none."""
    found = arb(0)
    for value in values:
        found = found.max(value.upper())
    return found.upper()


@dataclass(frozen=True)
class Position:
    """Where the solution is at a time: centre, error of what moves (weighted), radii of what rests."""

    t: Fraction
    centre: tuple[arb, ...]
    error: arb
    radii: tuple[arb, ...]  # of coordinates that rest; 0 for those that move
    moving: tuple[int, ...]
    exponents: np.ndarray = field(compare=False)  # the weights are 2^exponents

    def radius(self, i: int) -> arb:
        return along(self.error, self.exponents, i) if i in self.moving else self.radii[i]

    def box(self) -> list[arb]:
        return [c + arb(0, self.radius(i)) for i, c in enumerate(self.centre)]

    def regrouped(self, moving: Sequence[int], exponents: np.ndarray) -> "Position":
        """The same with other coordinates moving, or other weights."""
        if tuple(moving) == self.moving and np.array_equal(exponents, self.exponents):
            return self
        kept = [i for i in moving if i in self.moving]
        stretch = largest([arb(2) ** int(exponents[i] - self.exponents[i]) for i in kept])
        square = _squared(self.error * stretch)
        for i in moving:
            if i not in self.moving:
                square += _squared(self.radii[i] * arb(2) ** int(exponents[i]))
        radii = tuple(arb(0) if i in moving else self.radius(i).upper() for i in range(len(self.centre)))
        return Position(self.t, self.centre, square.upper().sqrt().upper(), radii, tuple(moving), exponents)


def _squared(x: arb) -> arb:
    return x * x


def along(error: arb, exponents: np.ndarray, i: int) -> arb:
    """How far coordinate i can be off."""
    return (error * arb(2) ** int(-exponents[i])).upper()


def weighted(values: Sequence[arb], exponents: np.ndarray, moving: Sequence[int]) -> arb:
    """|W v| of the coordinates that move, from above."""
    square = sum((_squared(values[i] * arb(2) ** int(exponents[i])) for i in moving), arb(0))
    return square.upper().sqrt().upper()


@dataclass(frozen=True, eq=False)
class Step:
    """A proven step. `norms` are upper bounds of μ on equal parts of it, `errors` those of e at the parts' ends.

    Gates in `departing` were crossed just before: until `departed` their arguments move off the surface.
    """

    stage: int
    before: Position
    length: Fraction
    polynomials: tuple[tuple[arb, ...], ...]
    gates: tuple[int, ...]
    tube: arb
    residual: arb
    norms: tuple[float, ...]
    errors: tuple[arb, ...]
    departing: tuple[int, ...] = ()
    departed: Fraction = Fraction(0)

    @property
    def start(self) -> Fraction:
        return self.before.t

    @property
    def end(self) -> Fraction:
        return self.start + self.length

    @property
    def largest_error(self) -> arb:
        return largest(self.errors)

    def radius(self, i: int) -> arb:
        """How far coordinate i can be off anywhere on the step."""
        before = self.before
        return along(self.largest_error, before.exponents, i) if i in before.moving else before.radii[i]

    def box(self, low: arb, high: arb) -> list[arb]:
        """Where the solution is on a part of the step, times from its start."""
        return [over(p, low, high, 1)[0] + arb(0, self.radius(i)) for i, p in enumerate(self.polynomials)]


@dataclass(frozen=True, eq=False)
class Passage:
    """A short proven passage while gates, or the end of a stage, are not known: y stays in a box.

    `crossed` are the gates that change on it, once each.
    """

    stage: int
    before: Position
    after: Position
    length: Fraction
    tube: tuple[arb, ...]
    gates: tuple[int | None, ...]
    crossed: tuple[int, ...]
    next_stage: int

    @property
    def start(self) -> Fraction:
        return self.before.t

    @property
    def end(self) -> Fraction:
        return self.start + self.length

    def box(self, low: arb, high: arb) -> list[arb]:
        return list(self.tube)
