"""Which points are one run: those whose numbers agree, whenever they are looked at."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Runs(NamedTuple):
    """The run of every point, a point of every run, the times a run is looked at (ascending), and their places in it.

    `times` is runs × looks, filled up with inf; `places` is points × times.
    """

    of: np.ndarray
    first: np.ndarray
    times: np.ndarray
    places: np.ndarray


def shared_runs(numbers: Sequence[np.ndarray | float | None], times: np.ndarray) -> Runs:
    """Runs of points from their numbers (each with a leading axis of points) and the times to look at (points × T)."""
    n = len(times)
    rows = np.concatenate([np.reshape(x, (n, -1)) for x in numbers if x is not None], axis=1)
    of = _first_alike(rows)
    first = np.flatnonzero(of == np.arange(n))
    if len(first) == n:
        order = np.argsort(times, axis=1, kind="stable")
        return Runs(np.arange(n), np.arange(n), np.take_along_axis(times, order, axis=1), np.argsort(order, axis=1))
    of = np.searchsorted(first, of)
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    looks = [np.unique(times[at]) for at in members]
    of_runs = np.full((len(first), max(map(len, looks))), np.inf)
    places = np.zeros(times.shape, dtype=np.intp)
    for run, (at, when) in enumerate(zip(members, looks)):
        of_runs[run, : len(when)] = when
        places[at] = np.searchsorted(when, times[at])
    return Runs(of, first, of_runs, places)


def _first_alike(rows: np.ndarray) -> np.ndarray:
    """The first row with the same bits, of every row."""
    bits = rows.view(np.uint64)
    mixers = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], dtype=np.uint64) | np.uint64(1)
    # rows with one sum of products almost surely are one, which is looked at
    _, first, of = np.unique((bits ^ (bits >> np.uint64(29))) @ mixers, return_index=True, return_inverse=True)
    alike = first[of]
    if (bits == bits[alike]).all():
        return alike
    _, first, of = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return first[of.ravel()]
