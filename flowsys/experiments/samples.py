"""Samples of an experiment as rows of whole numbers: drawn fresh, passed over again and again, or held out.

All depend on seeds and on the number of the step alone, so a run that is resumed sees what it would have seen.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

Draw = Callable[[int], np.ndarray]  # the next so many rows of a stream


def _texts(rows: np.ndarray) -> np.ndarray:
    """One text of bytes a row, to compare rows by."""
    rows = np.ascontiguousarray(rows)
    return rows.view(f"S{rows.shape[1] * rows.itemsize}").ravel()


def distinct(draw: Draw, count: int) -> np.ndarray:
    """The first so many different rows that are drawn."""
    chosen = draw(0)
    while len(chosen) < count:
        drawn = np.concatenate([chosen, draw(2 * count)])
        chosen = drawn[np.sort(np.unique(_texts(drawn), return_index=True)[1])][:count]
    return chosen


def outside(draw: Draw, count: int, held_out: np.ndarray) -> np.ndarray:
    """So many rows, none of which is held out."""
    rows, excluded = draw(count), _texts(held_out)
    while (bad := np.isin(_texts(rows), excluded)).any():
        rows[bad] = draw(int(bad.sum()))
    return rows


def passed_over(rows: np.ndarray, batch: int, step: int, seed: tuple[int, ...]) -> np.ndarray:
    """The batch of a step that passes over the same rows again and again, shuffled anew in every epoch."""
    epoch, part = divmod(step, len(rows) // batch)
    return rows[_order(seed, epoch, len(rows))[part * batch : (part + 1) * batch]]


@lru_cache(maxsize=1)
def _order(seed: tuple[int, ...], epoch: int, count: int) -> np.ndarray:
    return np.random.default_rng([*seed, epoch]).permutation(count)
