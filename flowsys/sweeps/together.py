"""Points of one program in one native batch: every term of the sweep at every point, as arrays over the points.

Points that differ only in when they are looked at, or in thresholds that end nothing, are one run, which sees the
crossing of every threshold that one of them asks for; so are those that differ in what only other observables read. A
look changes nothing of it, and a point's outcome is read off what the point itself asks for, so the numbers are those
of points that run by themselves.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from flowsys.kernels import Batch, BatchResult, Code, StageBatch, integrate, kernel, observe
from flowsys.program.arrays import Kinks
from flowsys.runs.automatic import NATIVE
from flowsys.sweeps.columns import Together
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.quantities import Term
from flowsys.sweeps.shared import Crossings, shared_runs
from flowsys.sweeps.sweep import Sweep
from flowsys.system.problem import Problem, ProgramField

_WORK, _STAGES, _LEAST = 4e5, 12, 100  # operations a point may take for every step of its budget; evaluations in a step
_OF_CODE = {
    Code.COMPLETED: "completed",
    Code.NOT_REACHED: "event not reached by t_max",
    Code.STEP_BUDGET: "step budget used up",
    Code.STEP_TOO_SMALL: "step size underflow",
    Code.NOT_FINITE: "state not finite",
    Code.CANNOT_SLIDE: "step budget used up",
    Code.DROWNED: "step size underflow",
    Code.INTERRUPTED: "step budget used up",
}


Job = Callable[..., BatchResult]
Evaluation = Generator[Job, BatchResult, tuple[dict[Term, np.ndarray], np.ndarray, np.ndarray]]


def evaluate_together(sweep: Sweep, points: Together, alone: Callable[[int], Problem], threads: int) -> Evaluation:
    """Terms, outcomes, and the points the native back-end hands over; `alone` gives a point's own problem.

    The batch to integrate is yielded, as a job for whoever runs this, and its result expected.
    """
    first, field = points.first, points.first.field
    assert isinstance(field, ProgramField)
    timed = [t for t in sweep.terms if not isinstance(t.at, str) or t.at in first.marks]
    times = np.stack([np.zeros(len(points)), *(points.column(partial(_time_of, term=t)) for t in timed)], axis=1)[:, 1:]
    smooths = sweep.kink_width is not None and first.field.has_kinks
    stages = points.stages()
    watched, kinks = tuple(e.observable for e in first.events), "smooth" if smooths else field.kinks
    wanted = {t.at for t in sweep.terms}
    numbers = {
        "initial": points.rows(lambda p: p.initial),
        "t_max": points.column(lambda p: p.t_max),
        "start": points.column(lambda p: p.start),
        "atol": 1e-4 * sweep.rtol * points.column(lambda p: p.scale)
        if sweep.atol is None
        else np.full(len(points), sweep.atol),
    }
    ends = {s.ends_on for s in stages[:-1] if s.ends_on is not None}  # the last one goes on to t_max
    thresholds = points.thresholds()
    seen = [e for e, event in enumerate(first.events) if event.name in wanted or e in ends]
    read = _parameters_read(field, tuple(watched[e] for e in seen))
    of_stages = [x for stage in stages for x in (stage.parameters[:, read], stage.until)]
    runs = shared_runs([*numbers.values(), thresholds[:, sorted(ends)], *of_stages], len(points))
    crossings = Crossings(runs, thresholds, seen)
    looks = runs.looks(times, np.inf)
    batch = Batch(
        **{name: array[runs.first] for name, array in numbers.items()},
        stages=[_of_runs(stage, runs.first, crossings) for stage in stages],
        thresholds=crossings.thresholds,
        watches=crossings.watches,
        directions=[first.events[e].direction for e in crossings.watches],
        requested=[first.events[e].name in wanted for e in crossings.watches],
        times=looks.of_runs,
        rtol=sweep.rtol,
        kink_width=sweep.kink_width or 0.0,
        max_steps=step_budget(sweep, first),
        method=NATIVE[sweep.solver],
    )
    result = yield partial(integrate, kernel(field.program, watched, kinks, batch.stages), batch, threads)
    at_events = {event.name: crossings.of(e) for e, event in enumerate(first.events) if e in seen}
    recorded = _Recorded(result, runs.of, dict(zip(timed, zip(times.T, looks.places.T))), at_events)
    found = {term: _values(sweep, first, term, recorded, stages, alone, threads) for term in sweep.terms}
    return found, *_outcomes(sweep, recorded)


def _of_runs(stage: StageBatch, first: np.ndarray, crossings: Crossings) -> StageBatch:
    return replace(
        stage,
        parameters=stage.parameters[first],
        until=None if stage.until is None else np.asarray(stage.until)[first],
        ends_on=None if stage.ends_on is None else crossings.first.get(stage.ends_on),
    )


@lru_cache(maxsize=64)
def _parameters_read(field: ProgramField, watched: tuple[str, ...]) -> list[int]:
    """The places of the parameters that the flow and some observables read."""
    program = field.program
    outputs = (*program.derivatives, *program.kinks, *(program.observables[name] for name in watched))
    lines = [line for block in program.needed_for(outputs) for line in block.lines]
    read = set(outputs).union(*(line.reads for line in lines))
    return [place for place, name in enumerate(program.parameters) if name in read]


def _outcomes(sweep: Sweep, recorded: "_Recorded") -> tuple[np.ndarray, np.ndarray]:
    """How every point ended, and those that are handed over: what else its run was asked for is not the point's."""
    ends = recorded.result.outcome[recorded.of]
    looks = [recorded.place(term) for term in sweep.terms]
    is_there = np.all([stages >= 0 for _, _, stages, _ in looks], axis=0)
    has_slid = np.any([slides > 0 for _, _, _, slides in looks], axis=0)
    names = np.array([CODES[_OF_CODE[code]] for code in Code], dtype=np.uint8)
    outcomes = np.where(is_there, CODES["completed"], names[ends]).astype(np.uint8)
    outcomes[is_there & has_slid] = CODES["completed after sliding"]
    handed_over = np.isin(ends, [int(code) for code in Code if code.is_handover]) & ~is_there
    return outcomes, np.flatnonzero(handed_over) if sweep.solver == "auto" else np.arange(0)


def step_budget(sweep: Sweep, problem: Problem) -> int:
    """The sweep's budget of steps, less where a step is dear: no point may take minutes."""
    rows = {table: np.shape(array)[-1] for table, array in problem.stages[0].arguments.tables.items()}
    assert isinstance(problem.field, ProgramField)
    operations = sum(rows.get(table, 1) * count for table, count in _operations(problem.field))
    affordable = int(_WORK * sweep.max_steps / (_STAGES * max(operations, 1)))
    return min(sweep.max_steps, max(affordable, _LEAST))


@lru_cache(maxsize=64)
def _operations(field: ProgramField) -> tuple[tuple[str, int], ...]:
    """Of every block of a program: the table it goes over, and its operations a row."""
    return tuple((block.over, sum(line.operations for line in block.lines)) for block in field.program.blocks)


def _time_of(problem: Problem, term: Term) -> float | np.ndarray:
    return problem.marks[term.at] if isinstance(term.at, str) else term.at


@dataclass(frozen=True)
class _Recorded:
    """What a batch recorded for every point: its run, and where that has the point's times and events."""

    result: BatchResult
    of: np.ndarray
    timed: Mapping[Term, tuple[np.ndarray, np.ndarray]]
    events: Mapping[str, np.ndarray]

    def place(self, term: Term) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Times, states, stages and slides before, of every point (NaN and -1 where the term was not reached)."""
        result = self.result
        if term in self.timed:
            times, places = self.timed[term]
            at = self.of, places
            return times, result.time_states[at], result.time_stages[at], result.time_slides[at]
        assert isinstance(term.at, str), "a time is among those looked at"
        at = self.of, self.events[term.at]
        return result.event_times[at], result.event_states[at], result.event_stages[at], result.event_slides[at]


def _values(sweep, first: Problem, term: Term, recorded: _Recorded, stages, alone, threads: int) -> np.ndarray:
    field = first.field
    assert isinstance(field, ProgramField)
    t, states, stage_of, _ = recorded.place(term)
    if not term.observable:
        return np.array(t)
    if term.observable in field.observables:
        reading: Kinks = "smooth" if sweep.kink_width is not None and field.has_kinks else "exact"
        evaluator = kernel(field.program, (term.observable,), reading, stages)
        live = np.where(stage_of >= 0, stage_of, 0)
        safe = np.where(np.isfinite(states), states, 0.0)
        return observe(evaluator, safe, stages, live, sweep.kink_width or 0.0, threads)[:, 0]
    of = lambda place, y: alone(place).derived[term.observable](y) if np.isfinite(y).all() else np.nan
    return np.array([of(place, y) for place, y in enumerate(states)])
