"""Crossings inside a step, located by root finding on states that are integrated to, not interpolated."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

TOGETHER = 1e-13  # crossings closer than this, relative to the time, coincide
_LOOKS = 4


def first_crossing(
    values: Callable[[np.ndarray], np.ndarray],
    state: Callable[[float], np.ndarray],
    start: float,
    end: float,
    n_events: int,
    counts: Callable[[int], bool],
) -> tuple[float, list[int]] | None:
    """The first time in a step at which a watched value that counts turns positive, and which ones do; None if none.

    `values` are the watched values of a state: first the events, which fire where they reach zero from below, then
    kinks and conditions to leave a surface, which fire wherever they are positive. Events that coincide are all named;
    of the others only one, the last in the list (the next step meets the rest).
    """
    low, before = start, values(state(start))
    is_counted = np.array([counts(i) for i in range(len(before))], dtype=bool)
    for high in np.linspace(start, end, _LOOKS + 1)[1:]:
        after = values(state(high))
        fires = after > 0
        fires[:n_events] = (before[:n_events] < 0) & (after[:n_events] >= 0)
        fires &= is_counted
        if fires.any():
            roots = []
            for i in np.flatnonzero(fires):
                if before[i] >= 0:
                    roots.append((low, i))
                    continue
                tolerance = 4 * np.finfo(float).eps * max(abs(high), 1e-300)
                roots.append((brentq(lambda s, i=i: values(state(s))[i], low, high, xtol=tolerance, rtol=1e-15), i))
            s, i = min(roots)
            together = [int(j) for r, j in roots if j < n_events and r - s <= TOGETHER * abs(s)]
            return s, sorted({*together, int(i)})
        low, before = high, after
    return None
