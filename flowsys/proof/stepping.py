"""One proven step of the flow while its gates stay as they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from flowsys.proof.flow import Flow
from flowsys.proof.norms import logarithmic_norm
from flowsys.proof.numbers import Undecided, precision
from flowsys.proof.steps import Passage, Position, Step, along, ball, weighted
from flowsys.proof.taylor import over, residual, taylor_polynomials, value_at

_SHORTEST = Fraction(1, 2**40)
_TRIES = 60
_USELESS = 0.1
_MOST_PARTS, _FEW_PARTS, _MANY = 32, 8, 40  # a Jacobian a part is dear where there are many coordinates
_WIDE = 0.25  # of ∫μ on a step, what may be due to the width of its parts
ROOM = 1 + 2.0**-10  # bounds are stated with a little room, for whoever computes them in another order


class Declined(Exception):
    """What cannot be proven, in a sentence."""


@dataclass
class Stepper:
    """Makes steps whose residual stays below a tolerance; remembers how long and in how many parts they were."""

    tolerance: float
    order: int
    bits: int
    parts: int = 2
    guess: float = math.inf
    growth: float = 2.0  # of a step over the one before; less after one that had to be shortened

    def step(self, flow: Flow, position: Position, stage: int, exponents: np.ndarray, most: Fraction) -> Step:
        """A proven step of at most the length `most`; gates are not looked at."""
        if not position.error < _USELESS:
            raise Declined(f"from t = {float(position.t):.8g} on errors are not bounded by {_USELESS:g} any more")
        with precision(self.bits):
            polynomials = taylor_polynomials(flow.rates, position.centre, self.order)
            length = self._rounded(min(self._first_length(polynomials, exponents), float(most)), most)
            return self.proven(flow, position, stage, exponents, polynomials, length)

    def proven(
        self, flow: Flow, position: Position, stage: int, exponents: np.ndarray, polynomials, length: Fraction
    ) -> Step:
        """The longest step up to a length that can be proven for these polynomials."""
        reason = ""
        with precision(self.bits):
            for _ in range(_TRIES):
                if length < _SHORTEST and reason:
                    break
                try:
                    found = self._try(flow, position, stage, exponents, polynomials, length)
                except Undecided as doubt:
                    found = 0.5, str(doubt)
                if isinstance(found, Step):
                    return found
                shrink, reason = found
                self.growth = 1.2
                length = self._rounded(float(length) * shrink, length)
        raise Declined(f"no step from t = {float(position.t):.8g} could be proven: {reason}")

    def _try(self, flow, position, stage, exponents, polynomials, length) -> Step | tuple[float, str]:
        h = ball(length)
        tube = (16 * position.error + arb(1e3 * self.tolerance * min(1.0, float(length)))).upper()
        boxes = [over(p, arb(0), h, 1)[0] for p in polynomials]
        moving = self._moving(flow, position, exponents, polynomials, boxes, tube)
        start = position.regrouped(moving, exponents)
        tube = tube.max(16 * start.error).upper()
        width = [arb(0) if i in moving else arb(0, start.radii[i]) for i in range(flow.size)]
        bounds = residual(flow.rates, polynomials, width, h)
        size = (weighted(bounds, exponents, moving) * ROOM).upper()
        least = self.tolerance + 1e-3 * float(start.error)
        own = weighted(_inherent(flow, polynomials, width), exponents, moving)
        if not size < least + 4 * float(own):
            if not size.is_finite():
                return 0.5, "the field is not finite around the solution: it may blow up or leave where it is defined"
            shrink = (least / float(size)) ** (1 / self.order)
            return min(0.9, max(0.6, 0.9 * shrink)), "the residual does not fall below the tolerance"
        norms, widths, errors = [], 0.0, [start.error]
        for part in range(self.parts):
            low, high = h * part / self.parts, h * (part + 1) / self.parts
            box = [
                over(p, low, high, 1)[0] + arb(0, _off(start, exponents, tube, i)) for i, p in enumerate(polynomials)
            ]
            norm, wide = logarithmic_norm(flow.jacobian(box, moving), exponents[list(moving)])
            if not math.isfinite(norm):
                return 0.5, "the field's Jacobian is not bounded around the solution"
            norms.append(norm)
            widths += wide * float(length) / self.parts
            inside, end = grown(errors[-1], size, arb(norm), (high - low).upper())
            errors.append(end)
            if not inside < tube:
                return 0.5, "errors grow out of the tube around the solution"
        most_parts = _FEW_PARTS if flow.size > _MANY else _MOST_PARTS
        if widths > _WIDE and self.parts >= most_parts:
            return max(0.3, 0.9 * (_WIDE / widths) ** 0.5), "the Jacobian varies too much along the step"
        self._remember(widths, length, most_parts)
        return Step(
            stage, start, length, tuple(map(tuple, polynomials)), tuple(flow.gates), tube, size, tuple(norms),
            tuple(errors),
        )  # fmt: skip

    def _moving(self, flow, position, exponents, polynomials, boxes, tube) -> tuple[int, ...]:
        """All coordinates but those that are proven to rest: rate exactly 0 while they are where they are."""
        resting = [i for i, p in enumerate(polynomials) if all(c.is_zero() for c in p[1:])]
        while resting:
            box = [
                position.centre[i] + arb(0, position.radius(i))
                if i in resting
                else b + arb(0, along(tube, exponents, i))
                for i, b in enumerate(boxes)
            ]
            rates = flow.rates(box)
            still = [i for i in resting if arb(rates[i]).is_zero()]
            if still == resting:
                break
            resting = still
        return tuple(i for i in range(flow.size) if i not in resting)

    def _first_length(self, polynomials: Sequence[Sequence[arb]], exponents: np.ndarray) -> float:
        """Where the last terms reach the tolerance."""
        longest = self.growth * self.guess
        for k in (self.order, self.order - 1):
            size = max(abs(float(p[k])) * 2.0 ** int(e) for p, e in zip(polynomials, exponents))
            if size > 0:
                longest = min(longest, (self.tolerance / (size * k)) ** (1 / (k - 1)))
        return longest if math.isfinite(longest) else 1.0

    def _remember(self, widths: float, length: Fraction, most_parts: int) -> None:
        self.growth = min(2.0, 1.2 * self.growth) if float(length) >= self.guess else self.growth
        self.guess = float(length)
        if widths > 0.03:
            self.parts = min(2 * self.parts, most_parts)
        elif widths < 0.008:
            self.parts = max(1, self.parts // 2)

    @staticmethod
    def _rounded(length: float, most: Fraction) -> Fraction:
        """A dyadic of few digits, not above `most`."""
        if length >= float(most):
            return most
        mantissa, exponent = math.frexp(length)
        return min(most, Fraction(math.floor(mantissa * 256)) * Fraction(2) ** (exponent - 8))


def _off(start: Position, exponents: np.ndarray, tube: arb, i: int) -> arb:
    return along(tube, exponents, i) if i in start.moving else start.radii[i]


def _inherent(flow: Flow, polynomials: Sequence[Sequence[arb]], width: Sequence[arb]) -> list[arb]:
    """What no shorter step takes from the residual: the width of data and of what rests."""
    rates = flow.rates([p[0] + w for p, w in zip(polynomials, width)])
    return [arb(rate).rad() for rate in rates]


def grown(error: arb, residual: arb, norm: arb, length: arb) -> tuple[arb, arb]:
    """Upper bounds of e on a part and at its end, where e' ≤ μ e + δ."""
    exponent = norm * length
    share = (exponent.exp() - 1) / norm if abs(exponent) > 2**-20 else length * exponent.exp().max(arb(1))
    end = (error * exponent.exp() + residual * share).upper()
    return end.max(error).upper(), end


def arrived(piece: Step | Passage, bits: int) -> Position:
    """Where the solution is at a piece's end."""
    return moved(piece, bits) if isinstance(piece, Step) else piece.after


def moved(step: Step, bits: int) -> Position:
    """Where the solution is at the step's end."""
    with precision(bits):
        values = [value_at(p, ball(step.length)) for p in step.polynomials]
        centre = tuple(v.mid() for v in values)
        rounding = weighted([abs(v - c) for v, c in zip(values, centre)], step.before.exponents, step.before.moving)
        return Position(
            step.end, centre, (step.errors[-1] + 2 * rounding).upper(), step.before.radii, step.before.moving,
            step.before.exponents,
        )  # fmt: skip
