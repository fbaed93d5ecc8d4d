"""Gradient steps as stages, maps along several axes, and parameters declared in full."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.runs.training import train

EMBEDDING = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 2.0]])
TARGET = np.arange(6.0).reshape(3, 2)
STAGES = {"flow": [fs.Stage("flow")], "steps": [fs.Stage("one", step="eta"), fs.Stage("two", step=0.3)]}


def model(stages=STAGES, read=(EMBEDDING, None), **more):
    return fs.Model(
        "stepped",
        parameters={"eta": fs.Real(0.1, 0, 1), "size": fs.Size(float("inf"), 1, 9, infinite=True)},
        blocks=lambda p: {"A": fs.Direct(2, 2, start=0.5, read=read)},
        loss=lambda ops, w, X, p: ((w.A - TARGET) ** 2).sum() / 2,
        stages=stages,
        **more,
    )


def by_hand():
    A = np.full((2, 2), 0.5)
    found = []
    for rate in (0.1, 0.3):
        A = A - rate * EMBEDDING.T @ (EMBEDDING @ A - TARGET)
        found.append(((EMBEDDING @ A - TARGET) ** 2).sum() / 2)
    return found


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_steps_are_those_of_descent_at_every_level_of_flow(level):
    run = fs.solve(model(), level=level, mode="steps", at=["one", "two"], observe=["loss"])
    assert np.allclose(run["loss"], by_hand(), rtol=1e-13) and np.allclose(run.t, [0.1, 0.4])


def test_descent_takes_each_step_at_its_own_rate():
    run = train(model(), mode="steps", at=["one", "two"], observe=["loss"])
    assert np.allclose(run["loss"][-2:], by_hand(), rtol=1e-13) and np.allclose(run.t[-2:], [0.1, 0.2])


def test_a_matrix_an_axis_is_the_function_it_stands_for():
    one, other = (
        fs.solve(model(read=read), level="L2", mode="flow", at=[0.7], observe=["loss"])["loss"][0]
        for read in ((EMBEDDING, None), lambda A: EMBEDDING @ A)
    )
    assert abs(one - other) < 1e-12


def test_a_matrix_that_fits_no_axis_is_refused():
    with pytest.raises(InputError, match="cannot be applied to an array of shape"):
        model(read=(None, EMBEDDING.T))


def test_steps_and_flow_do_not_mix_in_a_mode():
    with pytest.raises(InputError, match="mixes gradient steps"):
        model(stages=[fs.Stage("one", step=0.1), fs.Stage("two")])


def test_width_rate_and_horizon_may_follow_from_other_parameters():
    made = model(
        width=fs.Size(lambda p: 2 if p["size"] == float("inf") else p["size"], 1, 50, "neurons", default_text="size"),
        learning_rate=fs.Real(lambda p: p["eta"] / 2, 0, 1, default_text="eta / 2"),
        t_max=fs.Real(lambda p: 10 / p["eta"], 0, 1e6),
    )
    setup = made.setup(eta=0.2, size=5)
    assert (setup["width"], setup["learning_rate"], setup["t_max"]) == (5, 0.1, 50.0)
    assert made.setup()["size"] == float("inf") and made.setup()["width"] == 2
