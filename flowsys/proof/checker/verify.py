"""Verifies a certificate, piece by piece and statement by statement."""

import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import flint
from flint import arb, arb_series

from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.proof.checker.enclosures import (
    Around,
    Polynomials,
    has_signs,
    jacobian,
    norm_is_at_most,
    term,
)
from flowsys.proof.checker.reading import Reading, Refused, constant, fraction, number, rational
from flowsys.proof.checker.statements import check_ends_of_stages, check_statement
from flowsys.proof.choices import with_gates
from flowsys.proof.stating import Stated, with_statements

_EXTRA_BITS = 24
_NORM_BITS = 80
UNKNOWN = arb(0.5, 0.5)


def verify(path: str, on_progress: Callable[[int, int], None] = lambda done, of: None) -> dict[str, Any]:
    """The content of a certificate that holds; raises Refused where it does not, InputError where it is none."""
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise InputError(f"file = {path} is no certificate: it is no JSON ({error}).") from error
    if not isinstance(content, dict) or content.get("format") != 1:
        raise InputError(f"file = {path} is no certificate, as `flowsys prove --out FILE.json` writes them.")
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec = int(content["bits"]) + _EXTRA_BITS
    try:
        _Checking(content, on_progress).all()
    except (InputError, KeyError, TypeError, IndexError, ValueError, ZeroDivisionError) as error:
        raise Refused(f"{path} does not have the form of a certificate: {error!r}") from error
    finally:
        flint.ctx.prec, flint.ctx.cap = before
    return content


class _Checking:
    def __init__(self, content: dict[str, Any], on_progress: Callable[[int, int], None]):
        self.content, self.on_progress = content, on_progress
        problem = content["problem"]
        if hashlib.sha256(problem["program"].encode()).hexdigest() != problem["digest"]:
            raise Refused("the digest is not that of the program")
        stated = Program.parse(problem["program"])
        self.stages = problem["stages"]
        self.stated = [Stated.parse(s["text"]) for s in content["statements"] if s["kind"] == "sign"]
        observed = with_statements(stated, self.stated)
        self.program = with_gates(observed, Reading(observed, self.stages[0]).tops)
        self.readings = [Reading(self.program, stage) for stage in self.stages]

    def all(self) -> None:
        pieces, stage = self.content["pieces"], 0
        balls = [number(text) for text in self.content["problem"]["initial"]]
        if len(balls) != len(self.program.state):
            raise Refused("the start does not have the program's size")
        centre = tuple(b.mid() for b in balls)
        radii = tuple(abs(b - c).upper() for b, c in zip(balls, centre))
        self.starts: list[Around] = []
        known = Around(Fraction(0), centre, arb(0), radii, (), (0,) * len(centre))
        crossed: dict[int, int] = {}
        for i, piece in enumerate(pieces):
            where = f"piece {i} at t = {float(fraction(piece['before']['t'])):.6g}"
            self._check_stage(piece, stage, known, where)
            self.starts.append(known)
            if piece["kind"] == "step":
                known = self._step(piece, known, crossed, where)
                stage, crossed = piece["stage"], {}
            else:
                known, crossed = self._passage(piece, known, where)
                stage = piece["next_stage"]
            self.on_progress(i + 1, len(pieces))
        check_ends_of_stages(self)
        for statement in self.content["statements"]:
            check_statement(self, statement)

    def _check_stage(self, piece: dict[str, Any], before: int, known: Around, where: str) -> None:
        """A piece goes on in the stage before it, or in the next one if that is over at a given time."""
        until = self.stages[before]["until"]
        is_last = before == len(self.stages) - 1
        is_over = not is_last and until is not None and known.t >= fraction(until)
        if piece["stage"] != before + is_over:
            raise Refused(f"{where}: it is not in the stage that it should be in")
        if not is_last and until is not None and not is_over and known.t + fraction(piece["length"]) > fraction(until):
            raise Refused(f"{where}: it goes on after its stage")

    # -- a step ---------------------------------------------------------------------------------------------------

    def _step(self, piece: dict[str, Any], known: Around, crossed: dict[int, int], where: str) -> Around:
        coefficients = [[rational(fraction(c)) for c in p] for p in piece["polynomials"]]
        start = Around.read(piece["before"], [c[0] for c in coefficients])
        if start.t != known.t or not start.contains(known):
            raise Refused(f"{where}: its start does not contain the end before it")
        length, gates = fraction(piece["length"]), piece["gates"]
        if length <= 0 or any(gate not in (0, 1) for gate in gates):
            raise Refused(f"{where}: its length or its gates mean nothing")
        reading, tube = self.readings[piece["stage"]], rational(fraction(piece["tube"]))
        errors = [rational(fraction(e)) for e in piece["errors"]]
        if not errors[0] >= start.error:
            raise Refused(f"{where}: the error at its start is understated")
        self._check_resting(reading, coefficients, start, tube, length, gates, where)
        bound = start.norm(_residual(reading, coefficients, start, length, gates))
        residual = rational(fraction(piece["residual"]))
        if not bound <= residual:
            raise Refused(f"{where}: the residual is up to {float(bound):.3g}, not {float(residual):.3g}")
        self._check_growth(piece, reading, coefficients, start, tube, errors, residual, where)
        solution = Polynomials(coefficients, _radii(start, _largest(errors)))
        self._check_gates(piece, reading, solution, length, crossed, where)
        ends = solution.polynomials
        values = [p(rational(length)) for p in ends]
        centre = tuple(v.mid() for v in values)
        rounding = start.norm([v - c for v, c in zip(values, centre)])
        return Around(
            start.t + length, centre, (errors[-1] + rounding).upper(), start.radii, start.moving, start.exponents
        )

    def _check_resting(self, reading, coefficients, start: Around, tube: arb, length: Fraction, gates, where) -> None:
        box = Polynomials(coefficients, _radii(start, tube)).box(arb(0), rational(length))
        resting = [i for i in range(len(box)) if i not in start.moving]
        if not resting:
            return
        rates = reading.rates(box, gates)
        if any(len(coefficients[i]) > 1 or not arb(rates[i]).is_zero() for i in resting):
            raise Refused(f"{where}: a coordinate that is said to rest may move")

    def _check_growth(self, piece, reading, coefficients, start, tube, errors, residual, where) -> None:
        norms, length = [rational(fraction(n)) for n in piece["norms"]], fraction(piece["length"])
        if len(errors) != len(norms) + 1:
            raise Refused(f"{where}: errors and norms do not fit together")
        around = Polynomials(coefficients, _radii(start, tube))
        exponents = [start.exponents[i] for i in start.moving]
        for k, norm in enumerate(norms):
            low, high = length * k / len(norms), length * (k + 1) / len(norms)
            bits, flint.ctx.prec = flint.ctx.prec, _NORM_BITS
            matrix = jacobian(reading, around.box(rational(low), rational(high)), piece["gates"], start.moving)
            holds = norm_is_at_most(matrix, exponents, norm)
            flint.ctx.prec = bits
            if not holds:
                raise Refused(f"{where}: the logarithmic norm is not below {float(norm):.6g}")
            time = rational(high - low)
            growth = (norm * time).exp()
            # e' ≤ μ e + δ: at most e₀ e^(μh) + δ h max(1, e^(μh)), or with the exact integral where μ is away from 0
            share = time * growth.max(arb(1))
            if abs(norm * time) > rational(Fraction(1, 2**20)):
                share = (growth - 1) / norm
            if not (errors[k] * growth + residual * share).upper() <= errors[k + 1]:
                raise Refused(f"{where}: the error at the end of part {k} is understated")
            if not (errors[k] < tube and errors[k + 1] < tube):
                raise Refused(f"{where}: the error is not inside the tube")

    def _check_gates(self, piece, reading: Reading, solution: Polynomials, length: Fraction, crossed, where) -> None:
        gates = piece["gates"]
        if not gates:
            return
        signs = [1 if gate else -1 for gate in gates]
        departing, departed = piece["departing"], fraction(piece["departed"])
        kinks = lambda state: reading.kinks(state, gates)
        begin = Fraction(0)
        if departing:
            if any(crossed.get(i) != signs[i] for i in departing) or not 0 < departed <= length:
                raise Refused(f"{where}: a gate is said to depart from a surface that was not crossed before")
            speeds = speeds_of(reading, kinks, solution.box(arb(0), rational(departed)), [gates])
            if not all(signs[i] * speeds[i] > 0 for i in departing):
                raise Refused(f"{where}: a gate is not proven to depart from its surface")
            free = [0 if i in departing else sign for i, sign in enumerate(signs)]
            if not has_signs(kinks, free, solution, Fraction(0), departed):
                raise Refused(f"{where}: a gate is not proven to stay as it is")
            begin = departed
        if begin < length and not has_signs(kinks, signs, solution, begin, length):
            raise Refused(f"{where}: a gate is not proven to stay as it is")

    # -- a passage ------------------------------------------------------------------------------------------------

    def _passage(self, piece: dict[str, Any], known: Around, where: str) -> tuple[Around, dict[int, int]]:
        start = Around.read(piece["before"], [rational(fraction(c)) for c in piece["before"]["centre"]])
        end = Around.read(piece["after"], [rational(fraction(c)) for c in piece["after"]["centre"]])
        length = fraction(piece["length"])
        if start.t != known.t or not start.contains(known) or length <= 0 or end.t != start.t + length:
            raise Refused(f"{where}: the passage does not begin where the step before it ends")
        tube = [rational(fraction(m)) + arb(0, rational(fraction(r))) for m, r in piece["tube"]]
        gates = [UNKNOWN if gate is None else gate for gate in piece["gates"]]
        stages = sorted({piece["stage"], piece["next_stage"]})
        if stages[-1] - stages[0] > 1:
            raise Refused(f"{where}: it leaps over a stage")
        readings = [self.readings[stage] for stage in stages]
        rates = hull([[arb(x) for x in reading.rates(tube, gates)] for reading in readings])
        time = rational(length)
        for y, inside, rate in zip(start.box(), tube, rates):
            reached = y + rate * time * arb(0.5, 0.5)
            if not (inside.contains_interior(reached) or (rate.is_zero() and inside.contains(y))):
                raise Refused(f"{where}: the solution may leave its box")
        crossed = self._check_crossed(piece, readings, start, tube, gates, time, where)
        self._check_end(start, end, rates, time, where)
        return end, crossed

    def _check_crossed(self, piece, readings, start: Around, tube, gates, time: arb, where) -> dict[int, int]:
        """Every unknown gate moves to its other side and is there at the end; the others stay as they are."""
        if not gates:
            return {}
        values = hull([[arb(x) for x in reading.kinks(tube, gates)] for reading in readings])
        for gate, value in zip(piece["gates"], values):
            if gate is not None and not (1 if gate else -1) * value > 0:
                raise Refused(f"{where}: a gate that is said to be known is not")
        unknown = [i for i, gate in enumerate(piece["gates"]) if gate is None]
        if not unknown:
            return {}
        speeds = hull([
            speeds_of(reading, partial(reading.kinks, gates=gates), tube, [gates]) for reading in readings
        ])  # fmt: skip
        begun = readings[0].kinks(start.box(), gates)
        found = {}
        for i in unknown:
            towards = 1 if speeds[i] > 0 else -1 if speeds[i] < 0 else 0
            if not towards or not towards * (arb(begun[i]) + speeds[i] * time) > 0:
                raise Refused(f"{where}: a gate is not proven to be crossed")
            found[i] = towards
        return found

    @staticmethod
    def _check_end(start: Around, end: Around, rates: Sequence[arb], time: arb, where: str) -> None:
        reached = [c + rate * time for c, rate in zip(start.centre, rates)]
        middle = tuple(r.mid() for r in reached)
        moving = tuple(i for i in range(len(rates)) if i in start.moving or not rates[i].is_zero())
        wide = Around(start.t, start.centre, start.error, start.radii, start.moving, start.exponents)
        square = wide.error * wide.error
        for i in moving:
            if i not in start.moving:
                square += (start.radii[i] * start.weight(i)) * (start.radii[i] * start.weight(i))
        grown = Around(end.t, middle, square.upper().sqrt().upper(), start.radii, moving, start.exponents)
        error = (grown.error + grown.norm([r - m for r, m in zip(reached, middle)])).upper()
        if not end.contains(Around(end.t, middle, error, start.radii, moving, start.exponents)):
            raise Refused(f"{where}: the passage's end does not contain all that it may reach")


def speeds_of(
    reading: Reading, functions: Callable[[Sequence], list], box: Sequence[arb], gates: Sequence
) -> list[arb]:
    """How fast functions of the state change along the flow, over a box."""
    before, flint.ctx.cap = flint.ctx.cap, 2
    try:
        rates = [constant(rate) for rate in reading.rates(box, gates[0])]
        return [term(v, 1) for v in functions([arb_series([y, rate], 2) for y, rate in zip(box, rates)])]
    finally:
        flint.ctx.cap = before


def hull(rows: Sequence[Sequence[arb]]) -> list[arb]:
    found = list(rows[0])
    for row in rows[1:]:
        found = [a.union(b) for a, b in zip(found, row)]
    return found


def _largest(values: Sequence[arb]) -> arb:
    found = arb(0)
    for value in values:
        found = found.max(value)
    return found.upper()


def _radii(start: Around, error: arb) -> list[arb]:
    return [
        (error / start.weight(i)).upper() if i in start.moving else start.radii[i] for i in range(len(start.centre))
    ]


def _residual(reading: Reading, coefficients, start: Around, length: Fraction, gates) -> list[arb]:
    """Bounds of |p' - f(p)| on a step, half by half: coefficients around the middle, the last over the half."""
    order = max(len(p) for p in coefficients)
    width = [arb(0) if i in start.moving else start.radii[i] for i in range(len(coefficients))]
    inexact, exact = Polynomials(coefficients, width), Polynomials(coefficients, [arb(0)] * len(width))
    found, cap = [arb(0)] * len(width), flint.ctx.cap
    flint.ctx.cap = order + 1
    for half in range(2):
        low, high = rational(length * half / 2), rational(length * (half + 1) / 2)
        middle, reach = (low + high) / 2, ((high - low) / 2).upper()
        rates = reading.rates(inexact.series(middle, middle, order + 1), gates)
        rests = reading.rates(inexact.series(low, high, order + 1), gates)
        for i, p in enumerate(exact.series(middle, middle, order + 1)):
            total, power = arb(0), arb(1)
            for k in range(order):
                total, power = total + abs((k + 1) * p[k + 1] - term(rates[i], k)) * power, power * reach
            found[i] = found[i].max(total + abs(term(rests[i], order)) * power).upper()
    flint.ctx.cap = cap
    return found
