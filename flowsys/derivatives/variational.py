"""Variational equations along a flow: the derivative s of the state in a direction, through kinks, slides and stages.

Between turns (switches, slides, ends of stages that move) the tangent program is integrated natively beside the
program. At a turn at the time τ the field changes from f⁻ to f⁺, and s jumps (saltation):

    s⁺ = s⁻ + (f⁻ - f⁺) dτ,     dτ = -(∇h·s⁻ + ∂h) / ∇h·f⁻     where h = 0 is the surface that is met,

or dτ is that of the event that ends the stage. An event's time has the derivative -(∇O·s + ∂O - ∂threshold) / ∇O·f.
Where a slide ends the field is continuous, and s too; on a slide it follows the derivative of Filippov's field.

Where surfaces are met together the flow has no derivative (`NoDerivative`). The state carried along must be that of the
plain run: a walk that turned otherwise is refused, never returned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from flowsys.derivatives.base import Base, NoDerivative, base_run, parted, refuse_handover
from flowsys.derivatives.directions import Direction
from flowsys.derivatives.functions import Functions, functions_of
from flowsys.derivatives.slides import Sliding
from flowsys.integrate.record import Finished, Record
from flowsys.kernels import StageBatch, run_problem
from flowsys.program.arrays import Arguments
from flowsys.runs.flow import Flow, spoken
from flowsys.system.problem import Problem, ProgramField, Stage

SAME_SURFACE = 1e-9  # gates whose switching functions agree so closely, in value and velocity, share one surface
TOGETHER = 1e-12  # surfaces so near are met together
APART = 10.0  # times the surface that is met must another be away from the state, or which is met cannot be told
MOST_WRITTEN_OUT = 12_000  # operations of a tangent whose tables are written out: some 2.5 times those of a program
SAME_RUN = 1e-4  # how far, relative to the state, the state carried along may be from the plain run's


@dataclass(frozen=True)
class Varied:
    """State and derivative where something was asked for; `dt` is the derivative of its time."""

    at: str
    t: float
    stage: int
    y: np.ndarray
    s: np.ndarray
    dt: float
    values: dict[str, float]
    slopes: dict[str, float]


@dataclass(frozen=True)
class _Place:
    """A state with its direction where something is asked for, and its rate."""

    request: str | float
    record: Record
    z: np.ndarray
    rate: np.ndarray


def varied(
    flow: Flow,
    at: Sequence[str | float] | None,
    directions: Sequence[Direction],
    rtol: float,
    ran: Finished | None = None,
) -> list[list[Varied]]:
    """The derivative along every direction, at everything that is asked for and reached; `ran` as in `base_run`."""
    asked, field = flow.requests(at), flow.problem.field
    assert isinstance(field, ProgramField)
    of = functions_of(field, frozenset().union(*(direction.moving(field.program) for direction in directions)))
    base = cache(lambda: base_run(flow, asked, rtol, ran))
    along = lambda direction: _without_turns(flow, asked, direction, of, rtol) or _Walk(base(), direction, of).run()
    return [along(direction) for direction in directions]


def _without_turns(
    flow: Flow, asked: tuple[str | float, ...], direction: Direction, of: Functions, rtol: float
) -> list[Varied]:
    """Where there are no kinks and stages end at given times, state and direction are one run."""
    problem = flow.problem
    if problem.field.has_kinks or any(s.until is None for s in problem.stages[:-1]) or any(direction.until[:-1]):
        return []
    walk = _Walk(Base(flow, asked, (), (), frozenset(), "auto", rtol), direction, of)
    stages = tuple(replace(s, arguments=walk.data(k)) for k, s in enumerate(problem.stages))
    events, times = parted(asked)
    problem = replace(problem, field=walk.of.field, initial=walk.z, stages=stages)
    run = run_problem(problem, times, events, rtol, most_written_out=MOST_WRITTEN_OUT)
    refuse_handover(run)
    for record in run.records:
        walk.stage = record.stage
        walk.note(record, record.y)
    return walk.observed(walk.places)


class _Walk:
    """One direction carried along a run."""

    def __init__(self, base: Base, direction: Direction, of: Functions):
        self.base, self.direction, self.problem = base, direction, base.flow.problem
        assert isinstance(self.problem.field, ProgramField)
        self.field, self.of = self.problem.field, of
        self.n = len(self.field.names)
        self.z = np.concatenate([self.problem.initial, direction.initial])
        self.t, self.stage = float(self.problem.start), 0
        self.gates = np.zeros(0)
        self.slide: Sliding | None = None
        self.places: list[_Place] = []
        self.data = cache(self._data)
        self._observing = cache(
            lambda stage: of.observing(*(_as_batch(self.data(stage, share)) for share in (1.0, 0.0)))
        )

    def run(self) -> list[Varied]:
        last = max((r.t for r in self.base.records), default=self.t)
        self._enter(0)
        while True:
            for turn in [t for t in self.base.turns if self.t < t < self._end_of(self.stage)]:
                self._advance(turn, self.stage)
                self._turn(turn)
            through = self._smoothly_through(last)
            end = self._end_of(through)
            self._advance(min(end, last), through)
            ahead = any(r.t > end or (r.t == end and r.stage > through) for r in self.base.records)
            if not ahead or through + 1 == len(self.problem.stages):
                return self.observed(self.places)
            self._next_stage()

    # -- stretches ----------------------------------------------------------------------------------------------

    def _enter(self, stage: int) -> None:
        """A stage begins: its gates as the state has them."""
        self.stage = stage
        self.gates, h = self.base.turning.gates_at(stage, self.z[: self.n])
        self.slide = Sliding.on_entry(self.field, self._plain, self.z[: self.n], self.gates, h)
        if self.slide is not None:
            self.gates = self.slide.gates

    @property
    def _plain(self) -> Arguments:
        return self.problem.stages[self.stage].arguments

    def _data(self, k: int, share: float = 1.0) -> Arguments:
        """A stage's data with a share of the direction's beside it: all of it, or none."""
        plain = self.problem.stages[k].arguments
        tables = {}
        for name, rows in plain.tables.items():
            columns = self.field.program.tables[name]
            moved = self.direction.tables[k].get(name, np.zeros_like(rows))
            moves = [share * moved[i] for i, column in enumerate(columns) if column in self.of.moving]
            tables[name] = np.vstack([rows, *moves]) if moves else rows
        parameters = np.concatenate([plain.parameters, share * self.direction.parameters[k]])
        return plain._replace(parameters=parameters, tables=tables)

    def _end_of(self, k: int) -> float:
        """When a stage ends; infinity for the last."""
        stage = self.problem.stages[k]
        if k + 1 == len(self.problem.stages):
            return np.inf
        if stage.until is not None:
            return float(stage.until)
        ends = [r.t for r in self.base.records if r.label == stage.ends_on]
        return ends[0] if ends else np.inf

    def _smoothly_through(self, last: float) -> int:
        """The last stage that is reached from here without a turn, and without the end of a stage that moves."""
        k = self.stage
        while self.slide is None and k + 1 < len(self.problem.stages):
            end = self._end_of(k)
            is_fixed = self.problem.stages[k].until is not None and not self.direction.until[k]
            if not is_fixed or end >= last or any(end <= t < self._end_of(k + 1) for t in self.base.turns):
                break
            k += 1
        return k

    def _advance(self, end: float, through: int) -> None:
        """Carry state and direction on, through smooth stages; note what is asked for on the way."""
        looks = [r for r in self.base.records if self.t <= r.t <= end and self.stage <= r.stage <= through]
        times = sorted({r.t for r in looks} | {end})
        states = {self.t: self.z}
        ahead = [t for t in times if t > self.t]
        if ahead and self.slide is not None:
            moved = self.direction.parameters[self.stage], self.direction.tables[self.stage]
            states |= self.slide.carried(self.z, moved, self.t, ahead, self.base.rtol)
        elif ahead:
            states |= self._integrated(ahead, through)
        for record in looks:
            if record.stage > self.stage:
                self.z = states[record.t]
                self._enter(record.stage)
            self.note(record, states[record.t])
        if end > self.t:
            self.t, self.z = end, states[end]
        if through > self.stage:
            self._enter(through)

    def _integrated(self, times: Sequence[float], through: int) -> dict[float, np.ndarray]:
        passed = [(k, self.problem.stages[k]) for k in range(self.stage, through + 1)]
        stages = tuple(Stage(s.name, self.data(k), s.until) for k, s in passed)
        problem = Problem(
            field=self.of.field,
            initial=self.z,
            stages=stages,
            scale=self.problem.scale,
            t_max=times[-1],
            start=self.t,
        )
        run = run_problem(
            problem, times, (), self.base.rtol, method=self.base.method, most_written_out=MOST_WRITTEN_OUT
        )
        found = {record.t: record.y for record in run.records}
        if len(found) == len(times):
            return found
        if through > self.stage:
            raise NoDerivative(f"the direction {self.direction.name} cannot be carried on: {run.outcome.sentence}")
        return self._with_frozen_gates(times)

    def _with_frozen_gates(self, times: Sequence[float]) -> dict[float, np.ndarray]:
        """The same stretch with the gates held: where the flow only just leaves a surface it slid along."""
        from scipy.integrate import solve_ivp

        arguments, rtol = self.data(self.stage)._replace(gates=self.gates), self.base.rtol
        atol = 1e-4 * rtol * self.problem.scale
        rhs = lambda _, z: self.of.both(z, arguments)
        run = solve_ivp(rhs, (self.t, times[-1]), self.z, "DOP853", list(times), rtol=max(rtol, 1e-13), atol=atol)
        if not run.success:
            raise NoDerivative(f"the direction {self.direction.name} cannot be carried on: {run.message}")
        return {float(t): z for t, z in zip(run.t, run.y.T)}

    # -- turns --------------------------------------------------------------------------------------------------

    def _rate(self, z: np.ndarray | None = None) -> np.ndarray:
        """dy/dt as the flow goes here."""
        z = self.z if z is None else z
        if not self.field.program.kinks:
            return self._observing(self.stage).rate(z)
        y = z[: self.n]
        return self.slide.rate(y) if self.slide is not None else self.base.turning.rate(self.stage, y, self.gates)

    def _turn(self, t: float) -> None:
        """At a located switch, or where a slide lets go: the gates beyond it, and the jump of the direction."""
        before, y = self._rate(), self.z[: self.n]
        velocity = self.base.turning.velocity(self.stage, y, before, self.gates)
        met = self._met(velocity) if t in self.base.switches else np.zeros(len(self.gates), dtype=bool)
        if self.slide is None and met.any():
            onward = np.where(met, 1.0 - self.gates, self.gates)
            rate = self.base.turning.rate(self.stage, y, onward)
            beyond = self.base.turning.velocity(self.stage, y, rate, onward)
            if (np.sign(beyond[met]) == 2 * onward[met] - 1).all():
                self._jump(before - rate, self._moved(met, velocity))
                self.gates = onward
                return
        slide = self.slide or Sliding(self.field, self._plain._replace(gates=self.gates), y)
        moved = self._moved(met, velocity) if met.any() else 0.0
        slide.turn(y, met)
        self.slide, self.gates = slide if slide.is_sliding else None, slide.gates
        self._jump(before - self._rate(), moved)

    def _met(self, velocity: np.ndarray) -> np.ndarray:
        """The gates on the surface that is met: the nearest one, of those not slid along."""
        h = self.base.turning.switching(self.stage, self.z[: self.n], self.gates)
        away = np.abs(h) if self.slide is None else np.where(self.slide.is_slid, np.inf, np.abs(h))
        i = int(away.argmin())
        close = lambda x, of: np.abs(x - x[i]) <= SAME_SURFACE * (1 + np.abs(of).max())
        met = np.isfinite(away) & close(h, h) & close(velocity, velocity)
        if (away[~met] <= max(TOGETHER, APART * away[i])).any():
            raise NoDerivative(
                f"the flow has no derivative in {self.direction.name} here: at t = {self.t:.8g} it meets several "
                "switching surfaces at once."
            )
        return met

    def _moved(self, met: np.ndarray, velocity: np.ndarray) -> float:
        """dτ of the surface that is met: one number, whichever of its gates tells it."""
        slopes = self.of.kink_slopes(self.z, self.data(self.stage)._replace(gates=self.gates))[met]
        if np.ptp(slopes) > 1e-6 * np.abs(slopes).max():
            raise NoDerivative(
                f"the flow has no derivative in {self.direction.name} here: surfaces that it meets together at "
                f"t = {self.t:.8g} move apart."
            )
        return -float(slopes[0] / velocity[met][0])

    def _jump(self, change: np.ndarray, moved: float) -> None:
        """s⁺ = s⁻ + (f⁻ - f⁺) dτ."""
        self.z = self.z + np.concatenate([np.zeros(self.n), change * moved])

    def _next_stage(self) -> None:
        stage = self.problem.stages[self.stage]
        if stage.until is not None:
            moved = self.direction.until[self.stage]
        else:
            ended = next(p for p in self.places if p.record.label == stage.ends_on)
            moved = self.observed([ended])[0].dt * self.direction.size
        before = self._rate()
        self._enter(self.stage + 1)
        if moved:
            self._jump(before - self._rate(), moved)

    # -- what is asked for --------------------------------------------------------------------------------------

    def note(self, record: Record, z: np.ndarray) -> None:
        plain = record.y[: self.n]
        off, size = np.abs(z[: self.n] - plain).max(), np.abs(plain).max()
        if not off <= SAME_RUN * size:
            raise NoDerivative(
                f"the derivative in {self.direction.name} cannot be told: at t = {record.t:.8g} the state carried "
                f"along is {off:.2g} away from the plain run's."
            )
        asked: list = [r for r in self.base.asked if r == record.label or self._is_at(r, record)] or [record.label]
        moves = any(isinstance(r, str) for r in asked)
        rate = self._rate(z) if moves else np.zeros(self.n)
        known = {p.request for p in self.places}
        self.places += [_Place(r, record, z, rate) for r in asked if r not in known]

    def _is_at(self, request: str | float, record: Record) -> bool:
        t = self.problem.marks.get(request) if isinstance(request, str) else request
        return record.label is None and t == record.t

    def observed(self, places: Sequence[_Place]) -> list[Varied]:
        """Observables, and their derivatives where their time moves with the direction."""
        names, size = self.of.names, self.direction.size
        found = []
        for place in places:
            stage, y = place.record.stage, place.z[: self.n]
            seen, slopes = self._observing(stage)(place.z)
            dt = 0.0
            if isinstance(place.request, str):
                _, along = self._observing(stage)(np.concatenate([y, place.rate]), moves=False)
                dt = self._moved_time(place.request, slopes, along)
                slopes = slopes + dt * along if dt else slopes
            values, of_place = dict(zip(names, seen.tolist())), dict(zip(names, (slopes / size).tolist()))
            s, at = place.z[self.n :] / size, spoken(place.request)
            found.append(Varied(at, place.record.t, stage, y, s, dt / size, values, of_place))
        return found

    def _moved_time(self, request: str, across: np.ndarray, along: np.ndarray) -> float:
        """dt of an event, from the derivatives of observables along the direction and along the flow."""
        if request in self.problem.marks:
            return self.direction.marks.get(request, 0.0)
        event = next(e for e in self.problem.events if e.name == request)
        i = self.of.names.index(event.observable)
        return float((self.direction.thresholds.get(request, 0.0) - across[i]) / along[i])


def _as_batch(data: Arguments) -> StageBatch:
    return StageBatch(parameters=data.parameters, tables=data.tables, links=data.links)
