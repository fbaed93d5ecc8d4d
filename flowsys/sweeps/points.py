"""The points of a sweep evaluated: many at once on the native back-end, one by one where it must be.

Points whose problems share a program and its tables are one batch. A trajectory the native back-end hands over (a slide
it cannot follow) is run again by itself, as `solve` would run it. At level L0 a point is a training run.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.integrate.record import Tolerances
from flowsys.runs.automatic import integrate as integrate_one
from flowsys.runs.solving import double_precision, observe_states
from flowsys.sweeps.columns import Columns, Together, columns_of
from flowsys.sweeps.diagram import CODES, has_value
from flowsys.sweeps.over_seeds import Statistic, reduced
from flowsys.sweeps.overlap import Task, by_itself, overlapped
from flowsys.sweeps.quantities import Quantity, Term
from flowsys.sweeps.setups import Points, points_at
from flowsys.sweeps.slopes import slopes_of
from flowsys.sweeps.sweep import Chunk, Sweep
from flowsys.sweeps.together import evaluate_together, step_budget
from flowsys.sweeps.trained import evaluate_trained
from flowsys.sweeps.verdicts import OfClaim, measured
from flowsys.system.problem import Problem, ProgramField

_OF_ENDING = {
    Ending.COMPLETED: "completed",
    Ending.NOT_REACHED: "event not reached by t_max",
    Ending.STEP_BUDGET: "step budget used up",
    Ending.STEP_TOO_SMALL: "step size underflow",
    Ending.NOT_FINITE: "state not finite",
}
_MOST_WAITING = 300_000_000  # bytes of tables that are held before the problems they belong to are integrated


def evaluate_chunk(sweep: Sweep, number: int, threads: int = 1) -> Chunk:
    """Every point of a chunk: its quantities, and how it ended."""
    return Chunk(number, *evaluate_points(sweep, points_at(sweep, sweep.chunk(number)), threads))


def run(sweep: Sweep, done: Set[int] = frozenset(), threads: int = 1) -> Iterator[Chunk]:
    """The chunks of a sweep that are not done yet, in order; while one is integrated, the next one is made ready."""
    todo = (number for number in range(sweep.n_chunks) if number not in done)
    yield from overlapped(_evaluated_chunk(sweep, number, threads) for number in todo)


def evaluate_points(sweep: Sweep, points: Points, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Quantities × points and outcomes, for any points."""
    return by_itself(_evaluated(sweep, points, threads))


def _evaluated_chunk(sweep: Sweep, number: int, threads: int) -> Task[Chunk]:
    return Chunk(number, *(yield from _evaluated(sweep, points_at(sweep, sweep.chunk(number)), threads)))


def _evaluated(sweep: Sweep, points: Points, threads: int) -> Task[tuple[np.ndarray, np.ndarray]]:
    n = len(points)
    values = np.full((len(sweep.quantities), n), np.nan)
    outcomes = np.full(n, CODES["completed"], dtype=np.uint8)
    of_flows = {i: q for i, q in enumerate(sweep.quantities) if not isinstance(q, OfClaim)}
    of_claims = {i: q for i, q in enumerate(sweep.quantities) if isinstance(q, OfClaim)}
    if of_flows:
        values[list(of_flows)], outcomes = yield from _trajectories(sweep, list(of_flows.values()), points, threads)
    if of_claims:
        values[list(of_claims)], ends = measured(sweep, list(of_claims.values()), points)
        outcomes = np.where(has_value(outcomes), ends, outcomes)
    return with_reasons(values, outcomes)


def _trajectories(sweep: Sweep, quantities: Sequence[Quantity], points: Points, threads: int):
    """Quantities of trajectories: those of every point, or of its seeds."""
    if sweep.seeds == 1:
        return (yield from _each(sweep, quantities, points, threads))
    each = yield from _each(sweep, quantities, points.with_seeds(sweep.seeds), threads)
    statistics = [q for q in quantities if isinstance(q, Statistic)]  # with seeds, all of them
    return reduced(statistics, *with_reasons(*each), sweep.seeds)


def _each(sweep: Sweep, quantities: Sequence[Quantity], points: Points, threads: int):
    """Every point's run by itself, those that can be integrated together in one batch."""
    n = len(points)
    values = np.full((len(quantities), n), np.nan)
    outcomes = np.full(n, CODES["invalid parameters"], dtype=np.uint8)
    if sweep.level == "L0":
        for place in np.flatnonzero(points.valid):
            with suppress(InputError):
                terms, ending = evaluate_trained(sweep, points.setup(place))
                outcomes[place] = CODES[_OF_ENDING[ending]]
                values[:, place] = [q.value(defaultdict(lambda: np.nan, terms)) for q in quantities]
        return values, outcomes
    waiting = _Waiting(sweep)

    def evaluate_waiting() -> Task[None]:
        for batch, is_one in waiting.batches():
            found, outcomes[batch.places] = yield from _evaluate(sweep, points, batch, is_one, threads)
            if sweep.slopes:
                found |= slopes_of(sweep, [points.setup(place) for place in batch.places], outcomes, batch.places)
            values[:, batch.places] = [quantity.value(found) for quantity in quantities]

    for columns in columns_of(sweep, points):
        waiting.add(columns)
        if waiting.bytes > _MOST_WAITING:
            yield from evaluate_waiting()
    yield from evaluate_waiting()
    return values, outcomes


def _evaluate(sweep: Sweep, points: Points, batch: Together, is_one: bool, threads: int):
    """The terms of points (each an array over them) and their outcomes."""
    terms = sweep.terms

    @lru_cache(maxsize=len(batch))
    def alone(number: int) -> Problem:
        return sweep.system.problem(points.setup(batch.places[number]), sweep.level, sweep.variant, sweep.mode)

    if is_one:
        found, outcomes, left = yield from evaluate_together(sweep, batch, alone, threads)
    else:
        found = {term: np.full(len(batch), np.nan) for term in terms}
        outcomes, left = np.zeros(len(batch), dtype=np.uint8), np.arange(len(batch))
    for number in left:
        by_itself, outcomes[number] = _alone(sweep, alone(number) if is_one else batch.members[number].problem)
        for term in terms:
            found[term][number] = by_itself.get(term, np.nan)
    return found, outcomes


def with_reasons(values: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values stand only beside outcomes that have some, and a value that is no number is named as such."""
    valued = has_value(outcomes)
    strange = valued & ~np.isfinite(values).all(axis=0)
    outcomes = np.where(strange, CODES["quantity not finite"], outcomes).astype(np.uint8)
    return np.where(valued & ~strange, values, np.nan), outcomes


class _Waiting:
    """Problems that wait to be integrated, by what they must share to go together."""

    def __init__(self, sweep: Sweep):
        self._in_batches = sweep.is_native
        self._forget()

    def _forget(self) -> None:
        self._groups: dict[Any, list[Columns]] = {}
        self._digests: dict[int, tuple[np.ndarray, tuple]] = {}  # by id; the array itself is kept, and its id with it
        self.bytes = 0

    def add(self, columns: Columns) -> None:
        self._groups.setdefault(self._key(columns.problem), []).append(columns)

    def batches(self) -> Iterator[tuple[Together, bool]]:
        """The problems of every batch, and whether they are one; then nothing waits any more."""
        groups = self._groups
        self._forget()
        for key, members in groups.items():
            yield Together(members), key is not None

    def _key(self, problem: Problem) -> Any:
        """What problems must share to be integrated together (tables by content); None if they cannot be."""
        if not isinstance(problem.field, ProgramField) or not self._in_batches:
            return None
        data = [d for s in problem.stages for d in (s.arguments.tables, s.arguments.links)]
        tables = tuple(self._digest(array) for arrays in data for array in arrays.values())
        ends = tuple((stage.until is None, stage.ends_on) for stage in problem.stages)
        # an event may be a given time at some points and located at others (a mark)
        events = tuple((event.name, event.observable, event.direction) for event in problem.events)
        return problem.field, tables, ends, events, tuple(sorted(problem.marks))

    def _digest(self, array: np.ndarray) -> tuple:
        if id(array) not in self._digests:
            content = hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
            self._digests[id(array)] = array, (array.shape, content)
            self.bytes += array.nbytes
        return self._digests[id(array)][1]


def _alone(sweep: Sweep, problem: Problem) -> tuple[dict[Term, float], int]:
    """One point, as `solve` would run it."""
    terms = sweep.terms
    events = [t.at for t in terms if isinstance(t.at, str)]
    times = [t.at for t in terms if not isinstance(t.at, str)]
    atol = sweep.atol if sweep.atol is not None else 1e-4 * sweep.rtol * problem.scale
    budget = step_budget(sweep, problem) if isinstance(problem.field, ProgramField) else sweep.max_steps
    with double_precision(problem):
        run = integrate_one(
            problem, times, events, Tolerances(sweep.rtol, atol, budget), sweep.solver, sweep.kink_width
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
    return found, CODES[outcome]
