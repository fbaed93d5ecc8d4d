"""Points of one program in one native batch: every term of the sweep at every point, as arrays over the points."""

from collections.abc import Sequence

import numpy as np

from flowsys.kernels import Batch, BatchResult, Code, StageBatch, integrate, kernel, observe, stages_of
from flowsys.runs.automatic import NATIVE
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.quantities import Term
from flowsys.sweeps.sweep import Sweep
from flowsys.system.problem import Problem

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


def evaluate_together(
    sweep: Sweep, problems: Sequence[Problem], threads: int
) -> tuple[dict[Term, np.ndarray], np.ndarray, np.ndarray]:
    """Terms, outcomes, and the places of those the native back-end hands over."""
    first = problems[0]
    timed = [t for t in sweep.terms if not isinstance(t.at, str) or t.at in first.marks]
    times = np.array([[_time_of(p, t) for t in timed] for p in problems])
    order = np.argsort(times, axis=1, kind="stable")
    smooths = sweep.kink_width is not None and first.field.has_kinks
    stages = _stages(problems)
    watched, kinks = tuple(e.observable for e in first.events), "smooth" if smooths else first.field.kinks
    wanted = {t.at for t in sweep.terms}
    batch = Batch(
        initial=np.array([p.initial for p in problems]),
        stages=stages,
        thresholds=np.array([[e.threshold for e in p.events] for p in problems]),
        directions=[e.direction for e in first.events],
        requested=[event.name in wanted for event in first.events],
        times=np.take_along_axis(times, order, axis=1),
        t_max=np.array([p.t_max for p in problems]),
        start=np.array([p.start for p in problems]),
        rtol=sweep.rtol,
        atol=np.array([sweep.atol if sweep.atol is not None else 1e-4 * sweep.rtol * p.scale for p in problems]),
        kink_width=sweep.kink_width or 0.0,
        max_steps=step_budget(sweep, first),
        method=NATIVE[sweep.solver],
    )
    result = integrate(kernel(first.field.program, watched, kinks, stages), batch, threads)
    recorded = _Recorded(problems, result, timed, times, np.argsort(order, axis=1))
    found = {term: _values(sweep, problems, term, recorded, stages, threads) for term in sweep.terms}
    names = np.array([CODES[_OF_CODE[code]] for code in Code], dtype=np.uint8)
    outcomes = names[result.outcome]
    slid = (outcomes == CODES["completed"]) & (result.statistic("slides") > 0)
    outcomes[slid] = CODES["completed after sliding"]
    handed_over = np.isin(result.outcome, [int(code) for code in Code if code.is_handover])
    return found, outcomes, np.flatnonzero(handed_over) if sweep.solver == "auto" else np.arange(0)


def step_budget(sweep: Sweep, problem: Problem) -> int:
    """The sweep's budget of steps, less where a step is dear: no point may take minutes."""
    rows = {table: np.shape(array)[-1] for table, array in problem.stages[0].arguments.tables.items()}
    blocks = problem.field.program.blocks
    operations = sum(rows.get(block.over, 1) * line.operations for block in blocks for line in block.lines)
    affordable = int(_WORK * sweep.max_steps / (_STAGES * max(operations, 1)))
    return min(sweep.max_steps, max(affordable, _LEAST))


def _time_of(problem: Problem, term: Term) -> float:
    return float(problem.marks[term.at]) if isinstance(term.at, str) else float(term.at)


def _stages(problems: Sequence[Problem]) -> list[StageBatch]:
    """Stages with a row of parameters for every problem; the tables are shared."""
    stages = []
    for number, shared in enumerate(stages_of(problems[0])):
        mine = [p.stages[number] for p in problems]
        until = None if shared.until is None else np.array([float(s.until) for s in mine])
        parameters = np.array([s.arguments.parameters for s in mine])
        stages.append(StageBatch(parameters, shared.tables, shared.links, until, shared.ends_on))
    return stages


class _Recorded:
    """Where and when a batch recorded a term."""

    def __init__(self, problems, result: BatchResult, timed: list[Term], times: np.ndarray, rank: np.ndarray):
        self.result, self.timed, self.times, self.rank = result, timed, times, rank
        self.events = [event.name for event in problems[0].events]
        self.rows = np.arange(len(problems))

    def __call__(self, term: Term) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, states and stages (NaN and -1 where the term was not reached)."""
        result = self.result
        if term in self.timed:
            column = self.timed.index(term)
            place = self.rank[:, column]
            return self.times[:, column], result.time_states[self.rows, place], result.time_stages[self.rows, place]
        e = self.events.index(term.at)
        return result.event_times[:, e], result.event_states[:, e], result.event_stages[:, e]


def _values(sweep, problems, term: Term, recorded: _Recorded, stages, threads: int) -> np.ndarray:
    field = problems[0].field
    t, states, stage_of = recorded(term)
    if not term.observable:
        return np.array(t)
    if term.observable in field.observables:
        reading = "smooth" if sweep.kink_width is not None and field.has_kinks else "exact"
        evaluator = kernel(field.program, (term.observable,), reading, stages)
        live = np.where(stage_of >= 0, stage_of, 0)
        safe = np.where(np.isfinite(states), states, 0.0)
        return observe(evaluator, safe, stages, live, sweep.kink_width or 0.0, threads)[:, 0]
    derived = [p.derived[term.observable] for p in problems]
    return np.array([f(y) if np.isfinite(y).all() else np.nan for f, y in zip(derived, states)])
