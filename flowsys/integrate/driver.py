"""The event-driven driver: stages in order, events located by root finding, kinks crossed or slid along.

Between switches the gates are frozen, so the field is smooth. Where a step may hide a crossing, it is found by
integrating *exactly* to trial times from the step's start (interpolants are good enough to suspect, not to locate).
At a kink the gates flip if the flow goes on; if both sides point back, the flow slides (Filippov), on any number of
surfaces, each until one of its sides lets go. Where that cannot be followed (gates that multiply gates, a surface that
repels), the rest of the run is smoothed, and says so. What is asked for never changes the steps: the state at a time or
at an event that ends no stage is reached by a side step from the start of the step it falls into.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import eq

import numpy as np

from flowsys.integrate.asked import Asked
from flowsys.integrate.failures import failure
from flowsys.integrate.handover import Impatience, stiff_remarks
from flowsys.integrate.kinks import CannotSlide, Gates
from flowsys.integrate.locating import TOGETHER, first_crossing
from flowsys.integrate.multistep import METHODS, Multistep
from flowsys.integrate.outcome import Outcome
from flowsys.integrate.record import Statistics, Tolerances
from flowsys.integrate.stepper import Stepper, compiled, observer, right_hand_side
from flowsys.integrate.stepper_values import Advance, Slide, Status, Watch
from flowsys.integrate.stretches import Stretch, slide_remarks
from flowsys.system.problem import Problem, Stage

_FALLBACK_WIDTH = 1e-5


class _GaveUp(Exception):
    def __init__(self, outcome: Outcome):
        self.outcome = outcome


class Run:
    """One integration under way; `records` grows.

    `may_hand_over` lets a stiff solver take over from an explicit one where the flow is stiff.
    """

    def __init__(
        self,
        problem: Problem,
        tolerances: Tolerances,
        solver: str,
        times: Sequence[float] = (),
        events: Sequence[str] = (),
        kink_width: float | None = None,
        on_progress=None,
        may_hand_over: bool = False,
    ):
        self.problem, self.tolerances, self.solver = problem, tolerances, solver
        self.statistics = Statistics(solvers=[solver])
        self.remarks: list[str] = []
        self.t, self.y, self.dt = float(problem.start), np.asarray(problem.initial, dtype=float), 0.0
        self.asked = Asked(problem, times, events)
        self.records = self.asked.records
        self._field = problem.field
        self._kink_width = kink_width
        self._gates: Gates | None = None
        self._stretches: list[Stretch] = []
        self._stiff_from: list[float] = []
        self._impatience = Impatience(may_hand_over, len(self.y))
        self._live: tuple | None = None
        self._on_progress = on_progress or (lambda t: None)
        if kink_width is not None and problem.field.has_kinks:
            self._field = problem.field.smoothed()

    # -- the run ------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Integrate until all that was asked for is recorded, or nothing more can be."""
        try:
            self._all_stages()
        except _GaveUp as end:
            self._remark_on_stretches()
            return replace(end.outcome, remarks=tuple(self.remarks))
        self._remark_on_stretches()
        return self.asked.outcome(self.t, self.problem.t_max, tuple(self.remarks))

    def _all_stages(self) -> None:
        for number, stage in enumerate(self.problem.stages):
            is_last = number == len(self.problem.stages) - 1
            self._begin(number, stage)
            self._one_stage(stage, is_last)
            if self.asked.is_all_seen or self.t >= self.problem.t_max:
                return

    def _begin(self, number: int, stage: Stage) -> None:
        """Enter a stage: its arguments, its terminal event, the gates as they stand."""
        self._end_stretch()
        self._number, self._plain_arguments, self.dt = number, stage.arguments, 0.0
        is_last = number == len(self.problem.stages) - 1
        self._terminal = None if is_last else stage.ends_on
        if self._kink_width is not None and hasattr(stage.arguments, "kink_width"):
            self._plain_arguments = stage.arguments._replace(kink_width=np.float64(self._kink_width))
        self._gates = Gates(self._field, stage.arguments, self.y) if self._field.has_kinks else None
        self._slide_start = self.t
        self.statistics.slides += len(self._gates.surfaces) if self._gates else 0
        for name, value in self._event_values().items():
            counts = name == self._terminal or self.t == self.problem.start
            if value > 0 and counts and name not in self.asked.reached:
                self._event(name)

    def _one_stage(self, stage: Stage, is_last: bool) -> None:
        end = self.problem.t_max if stage.until is None or is_last else min(stage.until, self.problem.t_max)
        self._record_times()
        while not self.asked.is_all_seen and self._terminal not in self.asked.reached and self.t < end:
            self._advance_to(end)
            self._record_times()
            self._on_progress(self.t)

    def _record_times(self) -> None:
        self.asked.times_have_come(self.t, self.y, self._number)

    def _look_before(self, t: float, state: Callable[[float], np.ndarray]) -> None:
        """Record the times asked for before t, inside the step just made; the run is there if that was all."""
        while self.asked.next_time < t:
            self.t, self.y = self.asked.next_time, state(self.asked.next_time)
            self._record_times()

    def _see_events(self, start: float, end: float, last: float, state: Callable[[float], np.ndarray]) -> None:
        """Record the events asked for that end nothing, up to `last` in the step just made, and the times before."""
        found: list[tuple[float, str]] = []
        for i, event in enumerate(self.problem.events):
            if event.name in self.asked.events and event.name != self._terminal:
                crossing = first_crossing(self._values, state, start, end, len(self.problem.events), partial(eq, i))
                if crossing and crossing[0] <= last + TOGETHER * abs(last):
                    found.append((min(crossing[0], last), event.name))
        for t, name in sorted(found):
            self._look_before(t, state)
            self.t, self.y = t, state(t)
            self._event(name)

    # -- steps and events ---------------------------------------------------------------------------------------

    @property
    def _arguments(self):
        """The stage's arguments, with the gates as they stand."""
        return self._plain_arguments if self._gates is None else self._gates.arguments

    @property
    def _slide(self) -> Slide | None:
        return None if self._gates is None else self._gates.slide

    @property
    def _stepper(self) -> Stepper:
        watched = tuple(event.observable for event in self.problem.events)
        return Stepper(self._field, watched, self.solver, sliding=self._slide is not None)

    @property
    def _watch(self) -> Watch:
        awaited = {self._terminal, *self.asked.events} - self.asked.reached
        on = [e.name in awaited for e in self.problem.events]
        directions = np.array([e.direction * float(f) for e, f in zip(self.problem.events, on)])
        thresholds = np.array([float(e.threshold) for e in self.problem.events])
        orientations = np.zeros(0) if self._gates is None else self._gates.orientations
        return Watch(thresholds, directions, orientations)

    def _call(self, y, t, dt, target, watching: bool) -> Advance:
        budget = max(self.tolerances.max_steps - self.statistics.steps - self.statistics.rejected, 1)
        look = self.asked.next_time
        if self.solver in METHODS:
            return self._multistep.advance(y, t, dt, min(target, look), self._watch, budget)
        advance, _ = compiled(self._stepper)
        budget = min(budget, self._impatience.most_steps or budget)
        result = advance(
            y,
            np.float64(t),
            np.float64(dt),
            np.float64(target),
            self._arguments,
            self._watch,
            self._slide,
            np.float64(self.tolerances.rtol),
            np.float64(self.tolerances.atol),
            np.int64(budget),
            np.float64(look if watching else np.inf),
            np.bool_(watching),
            self._impatience.patience,
        )
        return Advance(*(np.asarray(part) for part in result))

    def _checked(self, result: Advance) -> Advance:
        """The result; raises where the stepper gave up for good."""
        used = self.statistics.steps + self.statistics.rejected
        if result.status == Status.TOO_MANY_STEPS and self._impatience.is_open and used < self.tolerances.max_steps:
            return result
        name = self.problem.stages[self._number].name
        if end := failure(int(result.status), self.solver, float(result.t), name, self.tolerances.max_steps):
            raise _GaveUp(end)
        return result

    def _hand_over(self) -> None:
        """Go on with a stiff solver: with bdf until the flow is calm, with kvaerno5 for good."""
        self.solver = "kvaerno5" if self._field.has_kinks else "bdf"
        self.dt = 0.0
        if self.solver not in self.statistics.solvers:
            self.statistics.solvers.append(self.solver)
        self._stiff_from.append(self.t)
        if self.solver == "kvaerno5":
            self._impatience = Impatience(False, len(self.y))

    def _take_back(self, dt: float) -> None:
        """Go on with explicit steps."""
        has_paid = self._multistep.calm.has_paid
        self.solver, self.dt = self.statistics.solvers[0], dt
        self._impatience.returns(has_paid)

    @property
    def _multistep(self) -> Multistep:
        key = (self.solver, self._field, self._number, self._kink_width)
        if self._live is None or self._live[0] != key:
            watched = tuple(event.observable for event in self.problem.events)
            may_end = self._impatience.may
            self._live = key, Multistep(self.solver, self._field, watched, self._arguments, self.tolerances, may_end)
        return self._live[1]

    def _values(self, y) -> np.ndarray:
        if self.solver in METHODS:
            return self._multistep.values(y, self._watch)
        _, values = compiled(self._stepper)
        return np.asarray(values(y, self._arguments, self._watch, self._slide))

    def _event_values(self) -> dict[str, float]:
        names = [e.name for e in self.problem.events]
        if not names:
            return {}
        observe = observer(self._field, tuple(e.observable for e in self.problem.events))
        now = np.asarray(observe(self.y, self._arguments))
        return {e.name: e.direction * (x - e.threshold) for e, x in zip(self.problem.events, now)}

    def _advance_to(self, end: float) -> None:
        """Integrate to the end, or to the next thing that happens before it."""
        result = self._call(self.y, self.t, self.dt or self._first_step(end), end, watching=True)
        self.statistics.steps += int(result.accepted)
        self.statistics.rejected += int(result.rejected)
        self._checked(result)
        self.dt, self._impatience.evidence = float(result.dt), int(result.evidence)
        state, located, t = self._inside(result), None, float(result.t)
        if result.status == Status.WATCHED:
            start, n_events = float(result.t_before), len(self.problem.events)
            ends = [e.name == self._terminal for e in self.problem.events]
            located = first_crossing(self._values, state, start, t, n_events, lambda k: k >= n_events or ends[k])
            t = t if located is None else located[0]
            self._see_events(start, float(result.t), t, state)
        self._look_before(t, state)
        if self.asked.is_all_seen:
            return
        self.t, self.y = t, result.y if located is None else state(t)
        if result.status == Status.TOO_MANY_STEPS or (result.status == Status.STIFF and self._pays_to_hand_over(end)):
            self._hand_over()
        elif result.status == Status.CALM:
            self._take_back(float(result.dt))
        elif located is not None:
            self._happens(located[1])

    def _pays_to_hand_over(self, end: float) -> bool:
        last = end if self.asked.events else min(end, self.asked.times[-1])
        return self._impatience.pays((last - self.t) / self.dt, self._field.has_kinks)

    def _happens(self, indices: list[int]) -> None:
        """Events, then the kink or the end of a slide that a crossing stands for."""
        n_events = len(self.problem.events)
        index = indices[-1]
        for i in indices:
            if i < n_events:
                self._event(self.problem.events[i].name)
        if index < n_events:
            return
        if self._slide is not None and index >= n_events + len(self._arguments.gates):
            self._slide_ends(index - n_events - len(self._arguments.gates))
        else:
            self._kink(index - n_events)

    def _inside(self, step: Advance) -> Callable[[float], np.ndarray]:
        """States inside the step just made, each integrated to from its start."""
        start, y_start = float(step.t_before), step.y_before
        known: dict[float, np.ndarray] = {start: y_start}

        def state(s: float) -> np.ndarray:
            if s not in known and self.solver in METHODS:
                known[s] = self._multistep.state(s)
            elif s not in known:
                known[s] = self._checked(self._call(y_start, start, s - start, s, watching=False)).y
            return known[s]

        return state

    def _first_step(self, target: float) -> float:
        slope = right_hand_side(self._field)
        rate = self._multistep.rhs(self.y) if self.solver in METHODS else slope(self.y, self._arguments)
        return self.tolerances.first_step(self.y, np.asarray(rate), target - self.t)

    def _event(self, name: str) -> None:
        self.asked.event_has_come(name, self.t, self.y, self._number)

    # -- kinks --------------------------------------------------------------------------------------------------

    def _kink(self, i: int) -> None:
        """A switching function reached zero, or a gate came off the surface it was said to lie on."""
        self.dt = 0.0
        self._end_stretch()
        gates = self._gates
        assert gates is not None
        if gates.is_loose[i]:
            gates.come_off(self.y, i)
            return
        self.statistics.kinks += 1
        self.statistics.switch_times.append(self.t)
        before = gates.surfaces
        try:
            if gates.hurries(self.t):
                raise CannotSlide("gates chatter between several surfaces")
            gates.meet(self.y, i)
        except CannotSlide as reason:
            return self._smooth_from_here(str(reason))
        self.statistics.slides += sum(all(s is not t for t in before) for s in gates.surfaces)

    def _slide_ends(self, k: int) -> None:
        self._end_stretch()
        assert self._gates is not None
        self._gates.leave(self.y, k)
        self.dt = 0.0

    def _end_stretch(self) -> None:
        """Note what the flow has slid along up to here."""
        if self._gates is not None and self._gates.surfaces:
            gates = int(self._gates.is_slid.sum())
            self._stretches.append(Stretch(self._slide_start, self.t, len(self._gates.surfaces), gates))
        self._slide_start = self.t

    def _remark_on_stretches(self) -> None:
        self._end_stretch()
        self.remarks += [*slide_remarks(self._stretches), *stiff_remarks(self.solver, self._stiff_from)]
        self._stretches, self._stiff_from = [], []

    def _smooth_from_here(self, why: str) -> None:
        self._remark_on_stretches()
        self._field, self._kink_width = self.problem.field.smoothed(), _FALLBACK_WIDTH
        assert self._gates is not None
        self._plain_arguments = self._gates.arguments._replace(kink_width=np.float64(_FALLBACK_WIDTH))
        self._gates = None
        self.solver, self._impatience = "lsoda", Impatience(False, len(self.y))
        self.statistics.solvers.append(self.solver)
        self.remarks.append(f"smoothed the kinks over {_FALLBACK_WIDTH:g} from t = {self.t:.8g} on: {why}")
