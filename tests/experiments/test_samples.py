"""Rows of samples: distinct, outside of those held out, and passed over epoch by epoch."""

import numpy as np
import pytest

from flowsys.experiments.samples import distinct, outside, passed_over


def draws(seed, high=2, width=6):
    rng = np.random.default_rng(seed)
    return lambda count: rng.integers(0, high, (count, width))


@pytest.mark.parametrize("high", [2, 5])
def test_held_out_rows_are_distinct_and_do_not_occur_elsewhere(high):
    held_out = distinct(draws(0, high), 32)
    drawn = outside(draws(1, high), 500, held_out)
    assert len(np.unique(held_out, axis=0)) == 32 and len(drawn) == 500
    assert not {tuple(row) for row in held_out} & {tuple(row) for row in drawn}


def test_distinct_rows_are_the_first_that_are_drawn():
    rows = draws(3)(64)
    seen = list(dict.fromkeys(map(tuple, rows)))[:20]
    assert [tuple(row) for row in distinct(draws(3), 20)] == seen


def test_every_epoch_passes_over_all_rows_in_an_order_of_its_own():
    rows = np.arange(64)[:, None]
    epoch = lambda number: np.concatenate([passed_over(rows, 16, 4 * number + part, (7,)) for part in range(4)]).ravel()
    assert sorted(epoch(0)) == sorted(epoch(1)) == list(range(64)) and not np.array_equal(epoch(0), epoch(1))
    assert np.array_equal(epoch(0), epoch(0))
