"""prove: a system, a setup, what to look at -> a Proof, with everything in exact numbers and proven bounds."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb

from flowsys.errors import InputError
from flowsys.proof import certificate
from flowsys.proof.enclosing import Bracket, Enclosing
from flowsys.proof.intervals import spanned
from flowsys.proof.journal import Journal
from flowsys.proof.observing import Row, radius_of, row_at
from flowsys.proof.posing import Posed, posed_exactly
from flowsys.proof.signs import ProvenSign, proven_sign
from flowsys.proof.stating import Stated
from flowsys.proof.stepping import Declined
from flowsys.proof.steps import Passage, Step
from flowsys.proof.weights import fitted_exponents
from flowsys.runs.requests import plain_requests
from flowsys.system import Setup, System, asked
from flowsys.system.problem import Problem

_SPARE_BITS = 40  # beyond the tolerance


@dataclass(frozen=True, eq=False)
class Proof:
    """What was proven. `declined` says where the proof stops, if it does before everything asked for."""

    head: dict[str, Any]
    posed: Posed
    bits: int
    pieces: Sequence[Step | Passage]
    events: dict[str, Bracket]
    rows: Sequence[Row]
    signs: Sequence[ProvenSign]
    declined: str
    seconds: float = field(compare=False, default=0.0)

    @property
    def reached(self) -> float:
        """The time up to which the solution is enclosed."""
        return float(self.pieces[-1].end) if self.pieces else 0.0

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Times, and a proven bound of every coordinate's error from the time before to each."""
        return np.array([float(p.end) for p in self.pieces]), np.array([radius_of(p) for p in self.pieces])

    def statements(self) -> list[dict[str, Any]]:
        """What the certificate states, for the checker."""
        written = certificate.written
        found: list[dict[str, Any]] = [
            {"kind": "event", "name": e.name, "low": written(e.low), "high": written(e.high)}
            for e in self.events.values()
        ]
        for row in self.rows:
            for name, value in row.values.items():
                if value is not None:
                    between = [written(_outward(value, -1)), written(_outward(value, 1))]
                    at = [written(row.low), written(row.high)]
                    found.append({"kind": "value", "observable": name, "at": at, "between": between})
        for number, sign in enumerate(self.signs):
            found.append({
                "kind": "sign", "text": sign.stated.text, "index": number, "low": written(sign.low),
                "high": written(sign.high), "order": sign.order, "leading_until": written(sign.leading_until),
            })  # fmt: skip
        return found

    def save(self, path: str) -> None:
        """Write the certificate."""
        content = certificate.content_of(self.head, self.posed, self.bits, self.pieces, self.statements())
        certificate.save(path, content)


def _outward(value: arb, side: int) -> Fraction:
    """A float beyond a ball's end, with a little room."""
    end = value.upper() if side > 0 else value.lower()
    room = abs(float(end)) * 2**-50 + float(value.rad()) * 2**-10 + 1e-300
    return Fraction(math.nextafter(float(end) + side * room, side * math.inf))


def prove(
    system: System | str,
    setup: Setup | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    at: Sequence[str | float] | None = None,
    observe: Sequence[str] | None = None,
    state: Sequence[str] = (),
    interval: tuple[str, float, float] | None = None,
    tolerance: float = 1e-24,
    on_progress: Callable[[float, float], None] = lambda t, error: None,
    journal: Path | None = None,
    command: str = "",
    **parameters: Any,
) -> Proof:
    """Enclose a system's reduced flow rigorously, and bracket events on it.

    `at` mixes event names and times, as in `solve`. `tolerance` bounds the polynomials' residual at every step; bounds
    of the error follow from it. `state` are statements to be proven, such as "w_v > 2*w_c on (T_1, T_2]". `interval`,
    as ("omega", 0.1, 0.1001), proves for all values of a parameter between two. What cannot be proven is declined in a
    sentence (`Proof.declined`). In the directory `journal` a proof that is broken off is kept, and goes on from there.
    """
    if not 1e-60 <= tolerance <= 1e-6:
        raise InputError(f"tolerance = {tolerance:g} is not allowed: it must lie between 1e-60 and 1e-6.")
    system, setup = asked(system, setup, mode, parameters)
    level = level or system.default_level
    if level == "L0":
        raise InputError("level = L0 is descent, not a flow: nothing is enclosed there.")
    variant, mode = system.variant(level, variant), system.mode(mode)
    setup = system.settled(setup, level, variant, mode)
    problem = system.started(setup, level, variant, mode, None)
    head = {
        "system": system.name, "level": level, "variant": variant, "mode": mode, "command": command,
        "parameters": {name: _plain(value) for name, value in setup.items()},
    }  # fmt: skip
    own = problem.field.observables
    names = tuple(observe) if observe is not None else tuple(n for n in system.unasked(level, problem) if n in own)
    posed = None
    if interval is not None:
        name, values = interval[0], (interval[1], (interval[1] + interval[2]) / 2, interval[2])
        if not values[0] < values[2]:
            raise InputError(f"interval: {name} from {values[0]:g} to {values[2]:g} is empty.")
        statements = [Stated.parse(text) for text in state]
        at_ends = [system.setup(mode, **{**setup, name: value}) for value in values]
        problems = [system.started(there, level, variant, mode, None) for there in at_ends]
        low, middle, high = (posed_exactly(there, statements) for there in problems)
        posed = spanned(name, values, (low, middle, high))
        head["interval"] = [name, values[0], values[2]]
        problem = problems[1]
    return prove_problem(
        problem, at, names, state, posed=posed, tolerance=tolerance, on_progress=on_progress, journal=journal, head=head
    )


def prove_problem(
    problem: Problem,
    at: Sequence[str | float] | None,
    observe: Sequence[str] = (),
    state: Sequence[str] = (),
    *,
    posed: Posed | None = None,
    tolerance: float = 1e-24,
    on_progress: Callable[[float, float], None] = lambda t, error: None,
    journal: Path | None = None,
    head: dict[str, Any] | None = None,
) -> Proof:
    """Enclose the solution of a problem whose field is a program (`posed`: with numbers other than its own)."""
    statements = [Stated.parse(text) for text in state]
    posed = posed or posed_exactly(problem, statements)
    ends = [end for stated in statements for end in (stated.low, stated.high)]
    requests = plain_requests(at if at is not None else () if statements else problem.default_at)
    events, times = _sorted(posed, (*requests, *(_request(end, posed) for end in ends)))
    for name in observe:
        if name not in posed.program.observables:
            raise InputError(f"observe = {name} is not an observable of the program: nothing is proven of it.")
    begun = time.perf_counter()
    exponents = fitted_exponents(problem, posed, events, [float(t) for t in times.values()])
    bits = math.ceil(-math.log2(tolerance)) + _SPARE_BITS
    order = max(12, round(-math.log10(tolerance)))
    until = max((_dyadics(t)[1] for t in times.values()), default=Fraction(0))
    kept = None if journal is None else Journal(journal, posed, tolerance, sorted(events), until)
    run = Enclosing(posed, bits, tolerance, order, exponents, until, frozenset(events), on_progress, kept)
    declined = ""
    try:
        run.run()
    except Declined as reason:
        declined = f"{reason}."
    if kept is not None:
        kept.forget()
    signs: list[ProvenSign] = []
    for index, stated in enumerate(statements):
        try:
            signs.append(proven_sign(stated, index, posed, run.pieces, run.events, bits))
        except Declined as reason:
            declined = f"{declined} {reason}.".strip()
    rows = _rows(run, posed, requests, times, observe, bits)
    return Proof(head or {}, posed, bits, run.pieces, run.events, rows, signs, declined, time.perf_counter() - begun)


def _request(end: str, posed: Posed) -> str | float:
    """An end of a window as something to reach."""
    if end in posed.marks or any(end == watched.name for watched in posed.events):
        return end
    try:
        return float(Fraction(end))
    except ValueError:
        raise InputError(f"{end}, the end of a window, is neither an event nor a number.") from None


def _sorted(posed: Posed, requests) -> tuple[list[str], dict[str | float, Fraction]]:
    """The events to bracket, and times by request."""
    events: list[str] = []
    times: dict[str | float, Fraction] = {}
    known = [w.name for w in posed.events]
    for request in requests:
        if isinstance(request, str) and request in posed.marks:
            times[request] = posed.marks[request]
        elif isinstance(request, str):
            if request not in known:
                there = ", ".join([*known, *posed.marks]) or "none"
                raise InputError(f"at = {request} is no event that can be proven: there are {there}.")
            events.append(request)
        else:
            if not (math.isfinite(request) and 0 <= request <= posed.t_max):
                raise InputError(f"at: t = {request:g} is not allowed: it must lie in [0, {float(posed.t_max):g}].")
            times[request] = Fraction(repr(request))
    if not requests:
        raise InputError("at is empty: name an event or a time (t=NUMBER) to look at.")
    return events, times


def _dyadics(t: Fraction) -> tuple[Fraction, Fraction]:
    """The dyadics around a time: itself, if it is one."""
    if t.denominator & (t.denominator - 1) == 0:
        return t, t
    scale = 2**100
    return Fraction(math.floor(t * scale), scale), Fraction(math.ceil(t * scale), scale)


def _rows(run: Enclosing, posed: Posed, requests, times, names, bits: int) -> list[Row]:
    rows = []
    reached = run.pieces[-1].end if run.pieces else Fraction(0)
    for request in requests:
        if request in times:
            low, high = _dyadics(times[request])
            label = request if isinstance(request, str) else f"t={request:g}"
        elif request in run.events:
            low, high, label = run.events[request].low, run.events[request].high, str(request)
        else:
            continue
        if high <= reached:
            rows.append(row_at(label, low, high, posed, run.pieces, names, bits))
    return rows


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
