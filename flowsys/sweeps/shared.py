"""Which points are one run: those whose numbers agree, whenever and at whatever thresholds they are looked at."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Looks(NamedTuple):
    """What every run looks at, ascending (runs × looks), and where in it points find theirs (points × values).

    A run with fewer looks than others is filled up with what is never met.
    """

    of_runs: np.ndarray
    places: np.ndarray


class Runs(NamedTuple):
    """The run of every point, and a point of every run."""

    of: np.ndarray
    first: np.ndarray

    def looks(self, values: np.ndarray, never: float) -> Looks:
        """The values that points (points × values) look at, run by run."""
        if len(self.first) == len(values):
            order = np.argsort(values, axis=1, kind="stable")
            return Looks(np.take_along_axis(values, order, axis=1), np.argsort(order, axis=1))
        each = [np.unique(values[at], return_inverse=True) for at in _members(self.of)]
        of_runs = np.full((len(each), max(len(seen) for seen, _ in each)), never)
        places = np.zeros(values.shape, dtype=np.intp)
        for run, (at, (seen, where)) in enumerate(zip(_members(self.of), each)):
            of_runs[run, : len(seen)] = seen
            places[at] = where.reshape(len(at), -1)
        return Looks(of_runs, places)


class Crossings:
    """Events as a batch of runs watches them: each at every threshold that one of the run's points looks at.

    A column is the crossing of one threshold: `watches` tells of which event, `first` where an event's columns begin.
    """

    def __init__(self, runs: Runs, thresholds: np.ndarray, events: Sequence[int]):
        each = [runs.looks(thresholds[:, [e]], np.nan) for e in events]
        widths = [looks.of_runs.shape[1] for looks in each]
        self.thresholds = np.concatenate([np.zeros((len(runs.first), 0)), *(looks.of_runs for looks in each)], axis=1)
        self.watches = np.repeat(np.array(events, dtype=int), widths)
        self.first = dict(zip(events, np.cumsum([0, *widths]).tolist()))
        self._places = dict(zip(events, (looks.places[:, 0] for looks in each)))

    def of(self, event: int) -> np.ndarray:
        """The column of every point."""
        return self.first[event] + self._places[event]


def shared_runs(numbers: Sequence[np.ndarray | float | None], n: int) -> Runs:
    """Runs of n points from their numbers, each with a leading axis of points.

    No run serves more than twice as many points as they do on average: what all have room for stays in proportion.
    """
    rows = [np.reshape(x, (n, -1)).view(np.uint64) for x in numbers if x is not None]
    of = _first_alike(np.concatenate([x[:, (x != x[0]).any(axis=0)] for x in rows], axis=1))
    first = np.flatnonzero(of == np.arange(n))
    if len(first) == n:
        return Runs(first, first)
    most = 2 * -(-n // len(first))
    members = [at[i : i + most] for at in _members(np.searchsorted(first, of)) for i in range(0, len(at), most)]
    of[np.concatenate(members)] = np.repeat(np.arange(len(members)), [len(at) for at in members])
    return Runs(of, np.array([at[0] for at in members]))


def _members(of: np.ndarray) -> list[np.ndarray]:
    """The points of every run, in order."""
    return np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])


def _first_alike(bits: np.ndarray) -> np.ndarray:
    """The first row that is the same, of every row."""
    mixers = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], dtype=np.uint64) | np.uint64(1)
    # rows with one sum of products almost surely are one, which is looked at
    _, first, of = np.unique((bits ^ (bits >> np.uint64(29))) @ mixers, return_index=True, return_inverse=True)
    alike = first[of]
    if (bits == bits[alike]).all():
        return alike
    _, first, of = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return first[of.ravel()]
