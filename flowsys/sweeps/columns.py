"""Points in columns: those that share all but the parameters their system takes as arrays are one problem.

A sweep's points differ in few numbers. Where the system builds a problem from arrays of them (`System.columns`), there
is one build for all, and what differs stands in arrays; elsewhere a point is a problem of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.kernels import StageBatch, stages_of
from flowsys.sweeps.setups import Points
from flowsys.sweeps.sweep import Sweep
from flowsys.system import Setup
from flowsys.system.problem import Apart, Problem


@dataclass(frozen=True)
class Columns:
    """The problem of the points at `places`; with several of them, what differs has a leading axis."""

    places: np.ndarray
    problem: Problem


def columns_of(sweep: Sweep, points: Points) -> Iterator[Columns]:
    """The problems of all points; where values do not go together there is none."""
    waiting = [*_alike(sweep, points)][::-1]
    while waiting:
        places, setup = waiting.pop()
        try:
            yield Columns(places, sweep.system.problem(setup, sweep.level, sweep.variant, sweep.mode))
        except InputError:
            continue
        except Apart as apart:
            waiting += [(places[among], _among(setup, among)) for among in (~apart.where, apart.where)]


def _among(setup: Setup, among: np.ndarray) -> Setup:
    """Some of the points that a setup holds in columns."""
    columns = {name: value[among] for name, value in setup.items() if isinstance(value, np.ndarray)}
    return replace(setup, values={**setup.values, **columns})


def _alike(sweep: Sweep, points: Points) -> Iterator[tuple[np.ndarray, Setup]]:
    """Points that share all but their columns, as one setup."""
    form, left = (sweep.level, sweep.variant, sweep.mode), [np.flatnonzero(points.valid)]
    columns_at = lambda setup: tuple(sweep.system.columns(setup, *form)) if sweep.is_native else ()
    while left:
        among = left.pop()
        if not len(among):
            continue
        names = columns_at(points.setup(among[0]))
        for places in points.alike(points.varying.keys() - names, among):
            setup = points.setup(places[0])
            if columns_at(setup) != names:
                left.append(places)
                continue
            columns = {name: points.column(name, places) for name in names}
            yield places, replace(setup, values={**setup.values, **columns})


class Together:
    """Problems that share a program and its tables, their numbers one after the other: a row for every point."""

    def __init__(self, members: Sequence[Columns]):
        self.members, self.first = members, members[0].problem
        self.places = np.concatenate([member.places for member in members])

    def __len__(self) -> int:
        return len(self.places)

    def column(self, of: Callable[[Problem], Any]) -> np.ndarray:
        """A number of every point."""
        return self._rows(of, ())

    def rows(self, of: Callable[[Problem], Any]) -> np.ndarray:
        """A vector of every point."""
        return self._rows(of, np.shape(of(self.first))[-1:])

    def _rows(self, of: Callable[[Problem], Any], shape: tuple[int, ...]) -> np.ndarray:
        each = [np.broadcast_to(of(m.problem), (len(m.places), *shape)) for m in self.members]
        return np.concatenate(each).astype(float, copy=False)

    def thresholds(self) -> np.ndarray:
        """Points × events."""
        columns = [self.column(partial(_threshold_of, e)) for e in range(len(self.first.events))]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(self), 0))

    def stages(self) -> list[StageBatch]:
        """Stages with a row of parameters for every point; the tables are shared."""
        found = []
        for number, shared in enumerate(stages_of(self.first)):
            until = None if shared.until is None else self.column(partial(_end_of, number))
            parameters = self.rows(partial(_parameters_of, number))
            found.append(replace(shared, parameters=parameters, until=until))
        return found


def _threshold_of(event: int, problem: Problem) -> Any:
    return problem.events[event].threshold


def _end_of(stage: int, problem: Problem) -> Any:
    return problem.stages[stage].until


def _parameters_of(stage: int, problem: Problem) -> np.ndarray:
    return problem.stages[stage].arguments.parameters
