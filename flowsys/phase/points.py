"""The points of a sweep evaluated: many at once on the native back-end, one by one where it must be.

Points whose problems share a program and its tables are one batch. A trajectory the native back-end hands over (stiff,
or sliding on two surfaces) is run again by itself, as `solve` would run it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowsys.automatic import integrate as integrate_one
from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.integrate.record import Tolerances
from flowsys.phase.diagram import OUTCOMES
from flowsys.phase.quantities import Term
from flowsys.phase.sweep import Chunk, Sweep
from flowsys.problem import Problem, ProgramField
from flowsys.solve import double_precision, observe_states
from flowsys.system import find

_CODE = {name: i for i, name in enumerate(OUTCOMES)}
_OF_ENDING = {
    Ending.COMPLETED: "completed",
    Ending.NOT_REACHED: "event not reached by t_max",
    Ending.STEP_BUDGET: "step budget used up",
    Ending.STEP_TOO_SMALL: "step size underflow",
    Ending.NOT_FINITE: "state not finite",
}


def evaluate_chunk(sweep: Sweep, number: int, threads: int = 1) -> Chunk:
    """Every point of a chunk: its quantities, and how it ended."""
    system = find(sweep.system)
    indices = sweep.chunk(number)
    values = np.full((len(sweep.quantities), len(indices)), np.nan)
    outcomes = np.full(len(indices), _CODE["invalid parameters"], dtype=np.uint8)
    groups: dict[Any, list[tuple[int, Problem]]] = {}
    for place, index in enumerate(indices):
        try:
            setup = system.setup(**sweep.parameters(int(index)))
            problem = system.problem(setup, sweep.level, sweep.variant, sweep.mode)
        except InputError:
            continue
        groups.setdefault(_batch_key(problem, sweep), []).append((place, problem))
    for key, members in groups.items():
        places = [place for place, _ in members]
        problems = [problem for _, problem in members]
        results = _one_by_one(sweep, problems) if key is None else _together(sweep, problems, threads)
        for place, (terms, outcome) in zip(places, results):
            outcomes[place] = outcome
            if outcome <= _CODE["completed with smoothed kinks"]:
                values[:, place] = [quantity.value(terms) for quantity in sweep.quantities]
    return Chunk(number, values, outcomes)


def _batch_key(problem: Problem, sweep: Sweep) -> Any:
    """What problems must share to be integrated together; None if they cannot be."""
    if not isinstance(problem.field, ProgramField) or sweep.solver not in ("auto", "native"):
        return None
    arguments = [stage.arguments for stage in problem.stages]
    data = [array for a in arguments for array in (*a.tables.values(), *a.links.values())]
    tables = tuple((array.shape, array.tobytes()) for array in data)
    ends = tuple((stage.until is None, stage.ends_on) for stage in problem.stages)
    return problem.field, tables, ends


def _terms(sweep: Sweep) -> list[Term]:
    return list(dict.fromkeys(term for quantity in sweep.quantities for term in quantity.terms))


def _one_by_one(sweep: Sweep, problems: Sequence[Problem]) -> list[tuple[dict[Term, float], int]]:
    return [_alone(sweep, problem) for problem in problems]


def _alone(sweep: Sweep, problem: Problem) -> tuple[dict[Term, float], int]:
    """One point, as `solve` would run it."""
    terms = _terms(sweep)
    events = [t.at for t in terms if isinstance(t.at, str)]
    times = [t.at for t in terms if not isinstance(t.at, str)]
    atol = sweep.atol if sweep.atol is not None else 1e-4 * sweep.rtol * problem.scale
    with double_precision(problem):
        run = integrate_one(
            problem, times, events, Tolerances(sweep.rtol, atol, sweep.max_steps), sweep.solver, sweep.kink_width
        )
        observed = observe_states(problem, run.records, sorted({t.observable for t in terms if t.observable}))
    found: dict[Term, float] = {}
    for row, record in enumerate(run.records):
        for term in terms:
            at = problem.marks.get(term.at, term.at) if isinstance(term.at, str) else term.at
            if record.label == term.at or (record.label is None and record.t == at):
                found[term] = float(observed[term.observable][row]) if term.observable else record.t
    outcome = _OF_ENDING[run.outcome.ending]
    if run.outcome.is_complete and any("smoothed" in remark for remark in run.outcome.remarks):
        outcome = "completed with smoothed kinks"
    elif run.outcome.is_complete and run.statistics.slides:
        outcome = "completed after sliding"
    return found, _CODE[outcome]


def _together(sweep: Sweep, problems: Sequence[Problem], threads: int) -> list[tuple[dict[Term, float], int]]:
    """All points of one program in one native batch."""
    from flowsys.kernels import Batch, Code, StageBatch, integrate, kernel, stages_of

    terms, first = _terms(sweep), problems[0]
    times = np.array([[_time_of(p, t) for t in _timed(first, terms)] for p in problems])
    order = np.argsort(times, axis=1, kind="stable")
    smooths = sweep.kink_width is not None and first.field.has_kinks
    names = [event.name for event in first.events]
    stages = []
    for number, shared in enumerate(stages_of(first)):
        mine = [p.stages[number] for p in problems]
        until = None if shared.until is None else np.array([float(s.until) for s in mine])
        parameters = np.array([s.arguments.parameters for s in mine])
        stages.append(StageBatch(parameters, shared.tables, shared.links, until, shared.ends_on))
    watched, kinks = tuple(e.observable for e in first.events), "smooth" if smooths else first.field.kinks
    compiled = kernel(first.field.program, watched, kinks, stages)
    batch = Batch(
        initial=np.array([p.initial for p in problems]),
        stages=stages,
        thresholds=np.array([[e.threshold for e in p.events] for p in problems]),
        directions=[e.direction for e in first.events],
        requested=[name in {t.at for t in terms} for name in names],
        times=np.take_along_axis(times, order, axis=1),
        t_max=np.array([p.t_max for p in problems]),
        start=first.start,
        rtol=sweep.rtol,
        atol=np.array([sweep.atol if sweep.atol is not None else 1e-4 * sweep.rtol * p.scale for p in problems]),
        kink_width=sweep.kink_width or 0.0,
        max_steps=sweep.max_steps,
    )
    result = integrate(compiled, batch, threads)
    observed = _observed_together(sweep, problems, terms, result, np.argsort(order, axis=1), stages, threads)
    outcome_of = {
        Code.COMPLETED: "completed",
        Code.NOT_REACHED: "event not reached by t_max",
        Code.STEP_BUDGET: "step budget used up",
        Code.STEP_TOO_SMALL: "step size underflow",
        Code.NOT_FINITE: "state not finite",
    }
    slid = result.statistic("slides") > 0
    answers: list[tuple[dict[Term, float], int]] = []
    for i, problem in enumerate(problems):
        code = Code(result.outcome[i])
        if code.is_handover and sweep.solver == "auto":
            answers.append(_alone(sweep, problem))
            continue
        name = outcome_of.get(code, "step budget used up")
        if name == "completed" and slid[i]:
            name = "completed after sliding"
        answers.append(({term: observed[term][i] for term in terms}, _CODE[name]))
    return answers


def _timed(problem: Problem, terms: Sequence[Term]) -> list[Term]:
    """Terms at times and at marks (events at given times), as opposed to located events."""
    return [t for t in terms if not isinstance(t.at, str) or t.at in problem.marks]


def _time_of(problem: Problem, term: Term) -> float:
    return float(problem.marks[term.at]) if isinstance(term.at, str) else float(term.at)


def _observed_together(sweep, problems, terms, result, rank, stages, threads) -> dict[Term, np.ndarray]:
    """Every term's value at every point (NaN where it was not reached)."""
    from flowsys.kernels import kernel, observe

    first = problems[0]
    timed = _timed(first, terms)
    names = [event.name for event in first.events]
    rows = np.arange(len(problems))
    found: dict[Term, np.ndarray] = {}
    for term in terms:
        if term in timed:
            place = rank[:, timed.index(term)]
            t = np.array([_time_of(p, term) for p in problems])
            states, stage_of = result.time_states[rows, place], result.time_stages[rows, place]
        else:
            e = names.index(term.at)
            t, states, stage_of = result.event_times[:, e], result.event_states[:, e], result.event_stages[:, e]
        if not term.observable:
            found[term] = t
        elif term.observable in first.field.observables:
            reading = "smooth" if sweep.kink_width is not None and first.field.has_kinks else "exact"
            evaluator = kernel(first.field.program, (term.observable,), reading, stages)
            live = np.where(stage_of >= 0, stage_of, 0)
            safe = np.where(np.isfinite(states), states, 0.0)
            found[term] = observe(evaluator, safe, stages, live, sweep.kink_width or 0.0, threads)[:, 0]
        else:
            found[term] = np.array(
                [p.derived[term.observable](y) if np.isfinite(y).all() else np.nan for p, y in zip(problems, states)]
            )
    return found
