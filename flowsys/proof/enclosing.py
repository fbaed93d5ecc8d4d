"""An enclosure under way: proven steps, gates crossed, events bracketed, stage after stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb

from flowsys.proof.certificate import number_of, piece_content, piece_of, written
from flowsys.proof.flow import Flow
from flowsys.proof.journal import Journal
from flowsys.proof.numbers import precision
from flowsys.proof.passing import bracket, passage, signs_of
from flowsys.proof.posing import Posed, Watched
from flowsys.proof.ranges import first_doubt, ranges
from flowsys.proof.stepping import Declined, Stepper, arrived, moved
from flowsys.proof.steps import Passage, Position, Step, ball


@dataclass(frozen=True)
class Bracket:
    """An event: it happens first between two times."""

    name: str
    low: Fraction
    high: Fraction
    step: int  # the number of the step or passage in which it lies


@dataclass
class Enclosing:
    """One enclosure; `pieces` and `events` grow."""

    posed: Posed
    bits: int
    tolerance: float
    order: int
    exponents: Sequence[np.ndarray]  # of every stage
    until: Fraction
    wanted: frozenset[str]  # events to bracket; the run ends when it has them all, and is at `until`
    on_progress: Callable[[float, float], None] = lambda t, error: None
    journal: Journal | None = None
    pieces: list[Step | Passage] = field(default_factory=list)
    events: dict[str, Bracket] = field(default_factory=dict)

    def run(self) -> None:
        """Until everything that was asked for is proven; raises Declined where the proof stops."""
        self._stage = 0
        self._stepper = Stepper(self.tolerance, self.order, self.bits)
        with precision(self.bits):
            self._position = replace(first_position(self.posed), exponents=self.exponents[0])
        self._flow = self._opened(Flow(self.posed.stages[0].unrolled, self.bits))
        self._check_first_signs()
        self._resume()
        while not self._is_done():
            done = len(self.pieces)
            self._next_stage_at_time()
            self._advance()
            self._keep(done)
            self.on_progress(float(self._position.t), float(self._position.error))

    def _keep(self, done: int) -> None:
        """Write down the pieces beyond those, and all that the next advance rests on."""
        if self.journal is not None:
            stepper, events = self._stepper, self.events.values()
            self.journal.add({
                "after": done, "pieces": [piece_content(piece) for piece in self.pieces[done:]],
                "events": [[e.name, written(e.low), written(e.high), e.step] for e in events],
                "stage": self._stage, "gates": list(self._flow.gates),
                "stepper": [stepper.parts, stepper.guess, stepper.growth],
            })  # fmt: skip

    def _resume(self) -> None:
        """Go to where the journal ends."""
        entries = self.journal.entries() if self.journal is not None else []
        if not entries:
            return
        last = entries[-1]
        with precision(4 * self.bits):
            self.pieces = [piece_of(content) for entry in entries for content in entry["pieces"]]
        self.events = {e[0]: Bracket(e[0], number_of(e[1]), number_of(e[2]), e[3]) for e in last["events"]}
        self._stage, self._position = last["stage"], arrived(self.pieces[-1], self.bits)
        self._flow = Flow(self.posed.stages[self._stage].unrolled, self.bits).with_gates(last["gates"])
        parts, guess, growth = last["stepper"]
        self._stepper = Stepper(self.tolerance, self.order, self.bits, parts, guess, growth)

    def _opened(self, flow: Flow) -> Flow:
        """The flow with its gates as the position has them."""
        n = len(flow.unrolled.gates)
        gates: list[int] = [1] * n
        with precision(self.bits, 1):
            for _ in range(n + 1):
                signs = signs_of(flow.with_gates(gates).kinks(self._position.box())) if n else []
                if 0 in signs:
                    kink = flow.unrolled.gates[signs.index(0)][0]
                    raise Declined(f"the gate of {kink} stands on its surface at t = {float(self._position.t):.8g}")
                opened = [int(s > 0) for s in signs]
                if opened == gates:
                    return flow.with_gates(gates)
                gates = opened
        raise Declined(f"the gates at t = {float(self._position.t):.8g} depend on each other in a circle")

    def _is_done(self) -> bool:
        return self._position.t >= self.until and self.wanted <= self.events.keys()

    @property
    def _closest(self) -> Fraction:
        """No two times are told apart that lie closer."""
        return Fraction(1, 2**self.bits)

    @property
    def _terminal(self) -> str | None:
        """The event that ends the stage."""
        is_last = self._stage == len(self.posed.stages) - 1
        return None if is_last else self.posed.stages[self._stage].ends_on

    def _watched(self) -> list[Watched]:
        names = self.wanted | {self._terminal}
        return [w for w in self.posed.events if w.name in names and w.name not in self.events]

    def _next_stage_at_time(self) -> None:
        stage = self.posed.stages[self._stage]
        if self._stage < len(self.posed.stages) - 1 and stage.until is not None and self._position.t >= stage.until:
            self._enter(self._stage + 1)

    def _enter(self, stage: int) -> None:
        self._stage = stage
        flow = Flow(self.posed.stages[stage].unrolled, self.bits)
        self._flow = self._opened(flow)
        self._stepper = Stepper(self.tolerance, self.order, self.bits)

    def _check_first_signs(self) -> None:
        for watched in self._watched():
            with precision(self.bits, 1):
                value = watched.values(self._flow)(self._position.box())[0]
            if not arb(value) < 0:
                raise Declined(f"{watched.name} is not proven to lie ahead of the start")

    # -- one advance ----------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """A step, cut short before gates switch and before the stage ends; then the passage over that."""
        ends = [self.posed.t_max]
        if self.wanted <= self.events.keys():
            ends.append(self.until)
        stage = self.posed.stages[self._stage]
        if stage.until is not None and self._stage < len(self.posed.stages) - 1:
            ends.append(stage.until)
        most = min(ends) - self._position.t
        if most <= 0:
            missing = ", ".join(sorted(self.wanted - self.events.keys()))
            raise Declined(f"{missing} not reached by t_max = {float(self.posed.t_max):g}")
        step = self._stepper.step(self._flow, self._position, self._stage, self.exponents[self._stage], most)
        step, cut = self._cut_before_kinks(step)
        step, over = self._cut_before_events(step, cut is not None)
        self._add(step, moved(step, self.bits))
        if over is not None:
            self._pass_to_next_stage(over)
        elif cut is not None:
            self._pass_kinks(*cut)

    def _add(self, piece: Step | Passage, position: Position) -> None:
        self.pieces.append(piece)
        self._position = position

    def _signs(self) -> list[int]:
        return [1 if gate else -1 for gate in self._flow.gates]

    def _cut_before_kinks(self, step: Step) -> tuple[Step, tuple[Fraction, list[int]] | None]:
        """The step, ended before a gate switches if one does; with the width of the bracket and the gates in doubt."""
        if not self._flow.gates:
            return step, None
        for _ in range(40):
            step = self._departed(step)
            doubt = self._doubt_of_gates(step)
            if doubt is None:
                return step, None
            at, gate = doubt
            found = self._bracketed(partial(self._argument, gate), step)
            if found is None or found[1] > step.length:
                step = self._shorter(step, min(3 * step.length / 4, max(at / 2, step.length / 64)))
                continue
            low, high = found
            if low <= 0:
                raise Declined(f"a gate switches too soon after t = {float(step.start):.8g} to be told apart")
            shorter = self._departed(self._shorter(step, low))
            if shorter.length == low and self._doubt_of_gates(shorter) is None:
                return shorter, (high - low, [gate])
            step = shorter
        raise Declined(f"a gate may touch its surface after t = {float(step.start):.8g}: neither crossing nor staying "
                       "off could be proven")  # fmt: skip

    def _departed(self, step: Step) -> Step:
        """The step with the part of it on which gates just crossed move off their surface, if there are any."""
        crossed = self._crossed()
        if not crossed:
            return step
        signs, until = self._signs(), step.length
        for _ in range(40):
            speeds = self._flow.velocities(self._flow.kinks, step.box(arb(0), ball(until)))
            if all(signs[i] * speeds[i] > 0 for i in crossed):
                return replace(step, departing=crossed, departed=until)
            until /= 2
        return step

    def _crossed(self) -> tuple[int, ...]:
        before = self.pieces[-1] if self.pieces else None
        return before.crossed if isinstance(before, Passage) else ()

    def _doubt_of_gates(self, step: Step) -> tuple[Fraction, int] | None:
        """Where a gate is first not certain to be as it is."""
        signs = self._signs()
        at_first = [0 if i in step.departing else s for i, s in enumerate(signs)]
        search = lambda signs, low, high: first_doubt(
            self._flow.kinks, signs, step, low, high, self.bits, self._closest
        )
        if not step.departing:
            return search(signs, Fraction(0), step.length)
        return search(at_first, Fraction(0), step.departed) or (
            search(signs, step.departed, step.length) if step.departed < step.length else None
        )

    def _shorter(self, step: Step, length: Fraction) -> Step:
        return self._stepper.proven(
            self._flow, self._position, self._stage, step.before.exponents, step.polynomials, length
        )

    def _argument(self, gate: int, y: Sequence) -> list:
        """What a gate is the sign of, at a state."""
        return [self._flow.kinks(y)[gate]]

    def _bracketed(self, functions: Callable[[Sequence], list], step: Step) -> tuple[Fraction, Fraction] | None:
        value = lambda s: arb(functions(step.box(s, s))[0])
        slope = lambda s: self._flow.velocities(functions, step.box(s, s))[0]
        return bracket(value, slope, Fraction(0), step.length, self.bits)

    def _cut_before_events(self, step: Step, is_cut: bool) -> tuple[Step, Fraction | None]:
        """Brackets of the events on a step; ended before the one that ends the stage, with its bracket's width."""
        for watched in self._watched():
            functions = watched.values(self._flow)
            for _ in range(40):
                doubt = first_doubt(functions, [-1], step, Fraction(0), step.length, self.bits, self._closest)
                if doubt is None:
                    break
                found = self._bracketed(functions, step)
                if found is None or found[1] > step.length or found[0] <= 0:
                    if is_cut and doubt[0] > step.length * Fraction(99, 100):
                        break  # it falls on the passage that follows
                    step, is_cut = (
                        self._shorter(step, min(3 * step.length / 4, max(doubt[0] / 2, step.length / 64))),
                        False,
                    )
                    continue
                low, high = found
                if first_doubt(functions, [-1], step, Fraction(0), low, self.bits, self._closest) is None and (
                    ranges(functions, step, high, high, self.bits)[0] > 0
                ):
                    if watched.name == self._terminal:
                        return self._shorter(step, low), high - low
                    self.events[watched.name] = Bracket(
                        watched.name, step.start + low, step.start + high, len(self.pieces)
                    )
                    break
                raise Declined(f"{watched.name} may be touched near t = {float(step.start + low):.10g}, not crossed")
            else:
                raise Declined(f"{watched.name} may be touched after t = {float(step.start):.8g}, not crossed")
        return step, None

    # -- passages -------------------------------------------------------------------------------------------------

    def _pass_kinks(self, length: Fraction, gates: list[int]) -> None:
        found, opened = passage(self._flow, self._position, self._stage, length, gates)
        self._events_on(found, self._flow, None)
        self._flow = self._flow.with_gates(opened)
        self._add(found, found.after)

    def _pass_to_next_stage(self, length: Fraction) -> None:
        after = Flow(self.posed.stages[self._stage + 1].unrolled, self.bits)
        found, opened = passage(self._flow, self._position, self._stage, length, [], after)
        self._events_on(found, self._flow, after)
        if self._terminal not in self.events:
            raise Declined(f"{self._terminal} is not proven to be over at t = {float(found.end):.8g}")
        self._add(found, found.after)
        self._stage += 1
        self._flow = after.with_gates(opened)
        self._stepper = Stepper(self.tolerance, self.order, self.bits)

    def _events_on(self, found: Passage, before: Flow, after: Flow | None) -> None:
        """Events whose sign changes on a passage: their values move at some speed in its tube."""
        unknown = [arb(0.5, 0.5) if gate is None else gate for gate in found.gates]
        flows = [flow.with_gates(unknown) for flow in (before, after) if flow is not None]
        for watched in self._watched():
            with precision(self.bits, 1):
                functions = watched.values(flows[0])
                if arb(functions(found.tube)[0]) < 0:
                    continue
                start = arb(functions(found.before.box())[0])
                # the event that ends the stage comes while the stage's own field holds
                driving = flows[:1] if watched.name == self._terminal else flows
                end = start + _hull([flow.velocities(functions, found.tube)[0] for flow in driving]) * ball(
                    found.length
                )
            if end > 0:
                self.events[watched.name] = Bracket(watched.name, found.start, found.end, len(self.pieces))
            else:
                raise Declined(f"{watched.name} is not certain at the end of a switch, t = {float(found.end):.10g}")


def first_position(posed: Posed) -> Position:
    """The start, every coordinate at rest in its own ball."""
    balls = [number.arb() for number in posed.initial]
    centre = tuple(b.mid() for b in balls)
    radii = tuple((b - c).abs_upper() for b, c in zip(balls, centre))
    return Position(Fraction(0), centre, arb(0), radii, (), np.zeros(len(balls), dtype=int))


def _hull(balls: Sequence[arb]) -> arb:
    total = balls[0]
    for other in balls[1:]:
        total = total.union(other)
    return total
