"""Series whose end is known: limits, however they settle and whatever they did before, and constants that do not."""

import numpy as np
import pytest

from flowsys.claims import Limit
from flowsys.claims.bounded import bounded
from flowsys.claims.measurements import Point, Series
from flowsys.claims.verdict import Word

GRIDS = {
    "evenly": np.linspace(0.5, 20, 24),
    "by decades": np.geomspace(1, 1e4, 13),
    "a few by decades": np.geomspace(1, 1e3, 7),
}
FALL = {
    "like 1/x": lambda x: 1 / x,
    "like a power with corrections": lambda x: 1 / (1 + x) ** 2,
    "exponentially": lambda x: np.exp(-x / 3),
    "after a hump": lambda x: x * np.exp(-x),
    "along a sigmoid": lambda x: 1 - np.tanh(x / 5),
    "after an irregular beginning": lambda x: np.where(x < 3, 5 * np.sin(7 * x), 0) + 1 / x,
}


def judged(x, y, value=0.0):
    return Limit(value, tolerance=1e-2).judge([Point({}, {}, Series(x, y), 1.0)], None).word


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("fall", FALL)
def test_what_falls_to_its_value_holds_and_to_another_does_not(grid, fall):
    x = GRIDS[grid]
    assert judged(x, 1.5 + FALL[fall](x), 1.5) is Word.HOLDS
    assert judged(x, 1.6 + FALL[fall](x), 1.5) is Word.FAILS


@pytest.mark.parametrize("grid", GRIDS)
def test_a_logarithmic_fall_to_the_value_is_never_called_a_failure(grid):
    x = GRIDS[grid]
    assert judged(x, 1 / np.log(x + 2)) is Word.NOT_TESTABLE


@pytest.mark.parametrize("grid", ["by decades", "a few by decades"])
def test_a_logarithmic_fall_far_from_the_value_fails(grid):
    x = GRIDS[grid]
    assert judged(x, 5 + 1 / np.log(x + 2)) is Word.FAILS


def test_constants_that_grow_ever_more_slowly_by_a_power_are_not_said_to_level_off():
    d, constants = [1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12], [0.41, 0.75, 1.6, 8.2, 29, 88, 239]
    word, why = bounded(d, constants, "")
    assert word is Word.NOT_TESTABLE and "not yet asymptotic" in why
