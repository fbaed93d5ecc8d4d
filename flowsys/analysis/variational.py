"""Variational equations along a flow: the derivative s of the state in a direction, through kinks, slides and stages.

Between turns (switches, slides, ends of stages) the tangent program is integrated natively beside the program. At a
turn at the time τ the field changes from f⁻ to f⁺, and s jumps (saltation):

    s⁺ = s⁻ + (f⁻ - f⁺) dτ,     dτ = -(∇h·s⁻ + ∂h) / ∇h·f⁻     where h = 0 is the surface that is met,

or dτ is that of the event that ends the stage. An event's time has the derivative -(∇O·s + ∂O - ∂threshold) / ∇O·f.
Where a slide ends the field is continuous, and s too; on a slide it follows the derivative of Filippov's field.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowsys.analysis.directions import Direction
from flowsys.analysis.flow import Flow, spoken
from flowsys.analysis.functions import functions_of, still
from flowsys.analysis.slides import Sliding
from flowsys.errors import InputError
from flowsys.integrate.record import Record
from flowsys.kernels import run_problem
from flowsys.program.arrays import Arguments
from flowsys.system.problem import Problem, ProgramField, Stage

ON_SURFACE = 1e-7  # how far off its surface a located turn may lie, relative to the largest switching function


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
class Base:
    """A plain run of a flow: where it turned, and the records of what is asked for."""

    flow: Flow
    asked: tuple[str | float, ...]
    records: tuple[Record, ...]
    turns: tuple[float, ...]
    method: str
    rtol: float


def base_run(flow: Flow, at: Sequence[str | float] | None, rtol: float) -> Base:
    """The flow itself, integrated natively to all that is asked for and to the events that end stages."""
    problem = flow.problem
    if not isinstance(problem.field, ProgramField):
        raise InputError(f"sensitivities need a derived program: {flow.level} of {flow.system.name} is none.")
    asked = flow.requests(at)
    ends = [stage.ends_on for stage in problem.stages[:-1] if stage.ends_on is not None]
    events = list(dict.fromkeys([*(r for r in asked if isinstance(r, str)), *ends]))
    times = [r for r in asked if not isinstance(r, str)]
    run = run_problem(problem, times, [e for e in events if e in asked], rtol)
    if run.handover is not None:
        raise InputError(f"sensitivities of {flow.system.name} end at t = {run.handover.t:g}: {run.outcome.sentence}")
    turns = tuple(sorted(set(run.statistics.turns)))
    method = "auto" if run.statistics.implicit else "explicit"
    return Base(flow, asked, tuple(run.records), turns, method, rtol)


def varied(base: Base, direction: Direction, observe: Sequence[str] | None = None) -> list[Varied]:
    """The derivative along a direction at everything that was asked for and reached."""
    return _Walk(base, direction, observe).run()


class _Walk:
    """One direction carried along a run."""

    def __init__(self, base: Base, direction: Direction, observe: Sequence[str] | None):
        self.base, self.direction, self.problem = base, direction, base.flow.problem
        program = self.problem.field.program
        self.moving = direction.moving(program.tables)
        self.of = functions_of(self.problem.field, self.moving, None if observe is None else tuple(observe))
        self.n = len(program.state)
        self.z = np.concatenate([self.problem.initial, direction.initial])
        self.t, self.stage = float(self.problem.start), 0
        self.gates, self.slide = np.zeros(0), None
        self.found: list[Varied] = []

    def run(self) -> list[Varied]:
        stages, last = self.problem.stages, max((r.t for r in self.base.records), default=self.t)
        self._enter(0)
        while True:
            end = self._stage_end()
            turns = [t for t in self.base.turns if self.t < t < end]
            for turn in turns:
                self._advance(turn)
                self._turn()
            self._advance(min(end, last))
            ahead = any(r.t > end or (r.t == end and r.stage > self.stage) for r in self.base.records)
            if not ahead or self.stage + 1 == len(stages):
                return self.found
            self._next_stage()

    # -- stretches ----------------------------------------------------------------------------------------------

    def _enter(self, stage: int) -> None:
        """A stage begins: its gates as the state has them."""
        self.stage = stage
        self.gates = self.of.gates_at(self.z[: self.n], self._plain)
        self.slide = Sliding.on_entry(self.problem.field, self._plain, self.z[: self.n], self.gates)
        if self.slide is not None:
            self.gates = self.slide.gates

    @property
    def _plain(self) -> Arguments:
        return self.problem.stages[self.stage].arguments

    def _arguments(self, gates: np.ndarray | None = None) -> Arguments:
        """The stage's data with the direction's beside it."""
        plain, k = self._plain, self.stage
        tables = {}
        for name, rows in plain.tables.items():
            columns = self.problem.field.program.tables[name]
            moves = [self.direction.tables[k][name][i] for i, c in enumerate(columns) if c in self.moving]
            tables[name] = np.vstack([rows, *moves]) if moves else rows
        parameters = np.concatenate([plain.parameters, self.direction.parameters[k]])
        return plain._replace(parameters=parameters, tables=tables, gates=self.gates if gates is None else gates)

    def _stage_end(self) -> float:
        """When the present stage ends; infinity for the last."""
        stage = self.problem.stages[self.stage]
        if self.stage + 1 == len(self.problem.stages):
            return np.inf
        if stage.until is not None:
            return float(stage.until)
        ends = [r.t for r in self.base.records if r.label == stage.ends_on]
        return ends[0] if ends else np.inf

    def _advance(self, end: float) -> None:
        """Carry state and direction to the end of a smooth stretch; note what is asked for on the way."""
        looks = [r for r in self.base.records if self.t <= r.t <= end and r.stage == self.stage]
        times = sorted({r.t for r in looks} | {end})
        states = {self.t: self.z}
        ahead = [t for t in times if t > self.t]
        if ahead and self.slide is not None:
            moved = self.direction.parameters[self.stage], self.direction.tables[self.stage]
            states |= self.slide.carried(self.z, moved, self.t, ahead, self.base.rtol)
        elif ahead:
            states |= self._integrated(ahead)
        for record in looks:
            self._note(record, states[record.t])
        if end > self.t:
            self.t, self.z = end, states[end]

    def _integrated(self, times: Sequence[float]) -> dict[float, np.ndarray]:
        stage = Stage("stretch", self._arguments())
        problem = Problem(
            field=self.of.field,
            initial=self.z,
            stages=(stage,),
            scale=self.problem.scale,
            t_max=times[-1],
            start=self.t,
        )
        run = run_problem(problem, times, (), self.base.rtol, method=self.base.method)
        found = {record.t: record.y for record in run.records}
        return found if len(found) == len(times) else self._with_frozen_gates(times)

    def _with_frozen_gates(self, times: Sequence[float]) -> dict[float, np.ndarray]:
        """The same stretch with the gates held: where the flow only just leaves a surface it slid along."""
        from scipy.integrate import solve_ivp

        arguments, rtol = self._arguments(), self.base.rtol
        atol = 1e-4 * rtol * self.problem.scale
        rhs = lambda _, z: self.of.both(z, arguments)
        run = solve_ivp(rhs, (self.t, times[-1]), self.z, "DOP853", list(times), rtol=max(rtol, 1e-13), atol=atol)
        if not run.success:
            raise InputError(f"the direction {self.direction.name} cannot be carried on: {run.message}")
        return {float(t): z for t, z in zip(run.t, run.y.T)}

    # -- turns --------------------------------------------------------------------------------------------------

    def _rate(self) -> np.ndarray:
        """dy/dt as the flow goes here."""
        return self._rate_at(self.z)

    def _rate_at(self, z: np.ndarray) -> np.ndarray:
        if self.slide is not None:
            return self.slide.rate(z[: self.n])
        return self.of.rhs(z[: self.n], self._plain._replace(gates=self.gates))

    def _turn(self) -> None:
        """At a located switch, or where a slide changes: the gates beyond it, and the jump of the direction."""
        before = self._rate()
        h = self.of.switching(self.z[: self.n], self._plain._replace(gates=self.gates))
        near = np.abs(h) <= ON_SURFACE * max(1.0, np.abs(h).max())
        met = near if self.slide is None else near & ~self.slide.is_slid
        velocity = self._slopes_of_kinks(before)
        if self.slide is None and met.any():
            onward = np.where(met, 1.0 - self.gates, self.gates)
            rate = self.of.rhs(self.z[: self.n], self._plain._replace(gates=onward))
            beyond = self._slopes_of_kinks(rate, onward)
            if (np.sign(beyond[met]) == 2 * onward[met] - 1).all():
                self._jump(before, velocity, met, onward)
                return
        self._slid_turn(before, velocity, met)

    def _slid_turn(self, before: np.ndarray, velocity: np.ndarray, met: np.ndarray) -> None:
        """A turn at which the flow begins to slide, changes what it slides on, or leaves."""
        y = self.z[: self.n]
        slide = self.slide or Sliding(self.problem.field, self._plain._replace(gates=self.gates), y)
        i = slide.turn(y, met, velocity)
        was, self.slide, self.gates = self.gates, slide if slide.is_sliding else None, slide.gates
        if i is not None:
            after, gates = self._rate(), self.gates
            self.gates = was
            moved = self._moved(i, velocity)
            self.gates = gates
            self.z = self.z + np.concatenate([np.zeros(self.n), (before - after) * moved])

    def _slopes_of_kinks(self, rate: np.ndarray, gates: np.ndarray | None = None) -> np.ndarray:
        """∇h·v of every switching function, nothing else moving."""
        return self.of.kink_slopes(np.concatenate([self.z[: self.n], rate]), still(self._arguments(gates)))

    def _moved(self, i: int, velocity: np.ndarray) -> float:
        """dτ of the surface of gate i."""
        return -float(self.of.kink_slopes(self.z, self._arguments())[i] / velocity[i])

    def _jump(self, before: np.ndarray, velocity: np.ndarray, met: np.ndarray, onward: np.ndarray) -> None:
        moved = self._moved(int(np.flatnonzero(met)[0]), velocity)
        self.gates = onward
        self.z = self.z + np.concatenate([np.zeros(self.n), (before - self._rate()) * moved])

    def _next_stage(self) -> None:
        stage = self.problem.stages[self.stage]
        if stage.until is not None:
            moved = self.direction.until[self.stage]
        else:
            moved = next(v.dt for v in self.found if v.at == stage.ends_on) * self.direction.size
        before = self._rate() if moved else None
        self._enter(self.stage + 1)
        if before is not None:
            self.z = self.z + np.concatenate([np.zeros(self.n), (before - self._rate()) * moved])

    # -- what is asked for --------------------------------------------------------------------------------------

    def _note(self, record: Record, z: np.ndarray) -> None:
        arguments = self._arguments()
        asked = [r for r in self.base.asked if r == record.label or self._is_at(r, record)]
        for request in asked or [record.label]:
            if any(other.at == spoken(request) for other in self.found):
                continue
            dt = self._time_slope(request, z, arguments)
            velocity = self._rate_at(z) if dt else np.zeros(self.n)
            values, slopes = self.of.observed(z, velocity, dt, arguments)
            size = self.direction.size
            slopes = {name: slope / size for name, slope in slopes.items()}
            y, s = z[: self.n], z[self.n :] / size
            self.found.append(Varied(spoken(request), record.t, self.stage, y, s, dt / size, values, slopes))

    def _is_at(self, request: str | float, record: Record) -> bool:
        t = self.problem.marks.get(request) if isinstance(request, str) else request
        return record.label is None and t == record.t

    def _time_slope(self, request: str | float, z: np.ndarray, arguments: Arguments) -> float:
        if not isinstance(request, str):
            return 0.0
        if request in self.problem.marks:
            return self.direction.marks.get(request, 0.0)
        event = next(e for e in self.problem.events if e.name == request)
        of_event = self.of.slope_of(event.observable)
        along = of_event(np.concatenate([z[: self.n], self._rate_at(z)]), still(arguments))[0]
        across = of_event(z, arguments)[0] - self.direction.thresholds.get(request, 0.0)
        return float(-across / along)
