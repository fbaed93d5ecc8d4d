"""Series whose end is known: limits, however they settle and whatever they did before; constants that do not settle."""

import numpy as np
import pytest

from flowsys.claims import Limit
from flowsys.claims.bounded import bounded, thinned
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


@pytest.mark.parametrize("n", [1, 3, 7])
def test_a_value_that_is_never_reached_has_no_limit(n):
    x = np.geomspace(10, 1e7, 7)
    assert judged(x, np.where(np.arange(7) >= 7 - n, np.inf, 1 / x)) is Word.NOT_TESTABLE


def test_constants_that_grow_ever_more_slowly_by_a_power_are_not_said_to_level_off():
    d, constants = [1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12], [0.41, 0.75, 1.6, 8.2, 29, 88, 239]
    word, why = bounded(d, constants, "")
    assert word is Word.NOT_TESTABLE and "not yet asymptotic" in why


def test_constants_that_come_to_rest_are_bounded_where_the_places_lie_close_together():
    share, votes = [0.5, 0.35, 0.25, 0.18, 0.14, 0.12], [6.5, 6.982, 7.375, 7.711, 7.879, 7.963]
    assert bounded(share, votes, "")[0] is Word.HOLDS
    close = 8 * 1.15 ** np.arange(7)
    assert bounded(close, 1 - 1 / close, "")[0] is Word.HOLDS
    for growing in (close**0.1, np.log(close), close**0.1 * (1 - 1 / close)):
        assert bounded(close, growing, "")[0] is not Word.HOLDS


PATHS = {
    "nine to 1e5": np.geomspace(10, 1e5, 9),
    "thirteen to 1e8": np.geomspace(1e2, 1e8, 13),
    "six to 640": 20 * 2.0 ** np.arange(6),
    "twenty to 1e12": np.geomspace(3, 1e12, 20),
    "seven to 1e12": np.geomspace(1e2, 1e12, 7),
}


def one_off(row: int, factor: float):
    """Constants that are level but for one place."""
    return lambda x: np.where(np.arange(len(x)) == row % len(x), factor, 1.0)


LEVEL = {
    "falls like 1 + 1/log": lambda x: 1 + 1 / np.log(x),
    "rises like 1 - 1/log": lambda x: 1 - 0.5 / np.log(x),
    "rises like 1/(1 + 1/log)": lambda x: 1 / (1 + 3 / np.log(x)),
    "swings with log x": lambda x: 1 + 0.5 * np.sin(3 * np.log(x)),
    "swings wildly": lambda x: 1 + 0.5 * np.sin(17 * x),
    "swings slowly": lambda x: 1 + 0.3 * np.sin(0.5 * np.log(x)),
    "is noisy": lambda x: 1 + 0.1 * np.random.default_rng(3).normal(size=len(x)),
    "is high once": one_off(3, 3.0),
    "is high at first": one_off(0, 3.0),
    "is high at last": one_off(-1, 3.0),
    "is low once": one_off(3, 0.2),
    "is low at last": one_off(-1, 0.3),
}


@pytest.mark.parametrize("tilde", ["", "tilde"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", LEVEL)
def test_level_constants_with_a_flaw_are_never_said_to_grow(name, path, tilde):
    assert bounded(PATHS[path], LEVEL[name](PATHS[path]), tilde)[0] is not Word.FAILS


GROWING = {
    "like a logarithm": np.log,
    "like 5 + log": lambda x: 5 + np.log(x),
    "like a small power": lambda x: x**0.05,
    "like a power that swings": lambda x: x**0.3 * (1 + 0.3 * np.sin(3 * np.log(x))),
    "like a power with one place off": lambda x: x**0.5 * one_off(3, 3.0)(x),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", GROWING)
def test_growing_constants_are_never_said_to_be_bounded(name, path):
    assert bounded(1 / PATHS[path], GROWING[name](PATHS[path]), "")[0] is not Word.HOLDS


@pytest.mark.parametrize("path", ["thirteen to 1e8", "twenty to 1e12", "seven to 1e12"])
def test_a_logarithm_of_a_logarithm_is_not_bounded_where_the_path_is_long(path):
    x = PATHS[path]
    assert bounded(x, np.log(np.log(x) + 1), "")[0] is not Word.HOLDS
    assert bounded(x, np.log(np.log(x) + 1), "tilde")[0] is Word.HOLDS


def test_what_still_comes_nearer_at_the_same_pace_is_not_said_to_settle_elsewhere():
    off = np.array([-0.04, -0.075, -0.084, -0.086, -0.086, -0.0845, -0.0815, -0.078, -0.073, -0.068, -0.063, -0.0578])
    x = np.geomspace(1e2, 1e13, len(off))
    assert judged(x, off) is Word.NOT_TESTABLE
    assert judged(x, -0.2 - off) is Word.FAILS  # it goes away at that pace


def found(x, y, value=0.0):
    return Limit(value, tolerance=1e-2).judge([Point({}, {}, Series(x, y), 1.0)], None)


@pytest.mark.parametrize("rate", [0.31, 0.7137, 1.9])
def test_the_end_of_a_pure_power_is_found_to_many_digits(rate):
    x = np.geomspace(1, 1e4, 13)
    assert found(x, 2 + 3 * x**-rate, 2.0).constant == pytest.approx(2.0, abs=1e-5)


def test_two_places_tell_an_end_to_within_their_distance():
    assert found(np.array([1.0, 2.0]), np.array([0.5, 0.1])).interval == pytest.approx((-0.3, 0.5))


def test_what_passes_its_value_at_a_steady_pace_has_not_come_to_rest_there():
    x = np.arange(1.0, 14.0)
    y = 0.008 - 0.0007 * x + 0.0007 * (-1.0) ** x  # near its value all along, and on its way down
    assert found(x, y).word is Word.NOT_TESTABLE
    assert found(x, -y).word is Word.NOT_TESTABLE


def test_five_places_are_enough_for_a_fit():
    x = np.arange(1.0, 6.0)
    assert found(x, 2 + 1 / x, 2.0).constant == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("off", [0.004, -0.004])
def test_within_its_tolerance_a_limit_is_told_as_it_is(off):
    x = np.geomspace(1, 1e4, 13)
    end = found(x, 1.5 + off + 3 / x, 1.5)
    assert end.word is Word.HOLDS and end.constant == pytest.approx(1.5 + off, abs=1e-4)


def test_places_at_which_there_is_no_logarithm_are_left_out():
    x, y = thinned(np.array([-1.0, 0.0, 1.0, 2.0]), np.array([5.0, 6.0, 0.0, 7.0]))
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0], [0.0, 7.0])


@pytest.mark.parametrize("last", [2.0, 3.0])
def test_a_window_that_is_short_shows_an_exponential_fall(last):
    x = np.linspace(1, last, 12)
    assert found(x, 1.5 + np.exp(-9 * (x - 1) / (last - 1)), 1.5).constant == pytest.approx(1.5, abs=1e-4)
