"""The signed average of a class of the limit is an observable at every level, under the name of any of its entries."""

import numpy as np
import pytest
from signal_model import signal

import flowsys as fs
from flowsys.errors import InputError

ENTRIES = ("v_p", "v_q")  # one class, of opposite signs
NAMES = [*ENTRIES, *(f"average_{name}" for name in ENTRIES)]


@pytest.fixture(scope="module")
def small():
    return signal.setup(M=2, L=2, width=7)


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_an_average_is_that_of_the_entries_with_their_signs(small, level):
    run = fs.solve(signal, small, level=level, at=[2.0], observe=NAMES)
    for name in ENTRIES:
        assert run[f"average_{name}"] == pytest.approx((run["v_p"] - run["v_q"]) / 2, rel=1e-12)


def test_seeds_side_by_side_have_averages_each(small):
    run = fs.train(signal, small, steps=3, seeds=2, observe=NAMES)
    assert run["average_v_q"].shape == run["v_p"].shape
    assert np.allclose(run["average_v_q"], (run["v_p"] - run["v_q"]) / 2, rtol=1e-12)


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_averages_are_shown_only_when_asked_for(small, level):
    assert not [name for name in fs.solve(signal, small, level=level, at=[0.1]) if name.startswith("average_")]


def _model(**more):
    return fs.Model("m", blocks=lambda p: {"v": fs.Direct(2, **more)}, loss=lambda ops, w, X, p: w.v[0] ** 2, t_max=3.0)


def test_without_a_limit_there_are_no_averages():
    with pytest.raises(InputError, match="block v starts at random and has no limit"):
        fs.solve(_model(start=lambda rng: rng.random(2)), level="L2", at=[1.0], observe=["average_v_0"])


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_what_stays_0_belongs_to_no_class(level):
    with pytest.raises(InputError, match="v_1 stays 0 in the limit"):
        fs.solve(_model(start=[1.0, 0.0]), level=level, at=[1.0], observe=["average_v_1"])
