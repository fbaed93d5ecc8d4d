"""Gradient descent: the same on weights and on inner products, first order in the step, under the theory's names."""

from functools import cache

import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems import load

S = load("mixture")


@cache
def run(mode="simultaneous", variant="weights", steps=None, at=None, records=10, seeds=None, **parameters):
    setup = S.setup(**{"width": 3} | parameters)
    return train(S, setup, mode=mode, variant=variant, steps=steps, at=at, records=records, seeds=seeds)


@pytest.mark.parametrize("mode", ["simultaneous", "three_stage", "attention_only"])
def test_descent_on_inner_products_is_descent_on_weights(mode):
    weights, gram = (run(mode=mode, variant=v, steps=1000) for v in ("weights", "gram"))
    assert max(np.abs(weights[n] - gram[n]).max() for n in weights) <= 1e-11


def test_time_is_learning_rate_times_steps():
    assert run(steps=1000).t[-1] == pytest.approx(100.0) and run(steps=100, learning_rate=0.05).t[-1] == pytest.approx(
        5
    )


def test_training_starts_at_the_flow_of_the_same_seed():
    start = solve(S, S.setup(width=3), level="L2", mode="simultaneous", at=[0.0])
    assert run(steps=1000)["S_cv_same"][0] == pytest.approx(start["S_cv_same"][0], rel=1e-13)


def test_the_loss_falls_at_a_small_learning_rate():
    assert (np.diff(run(steps=1000)["loss"]) < 0).all()


def test_an_event_is_the_first_step_after_which_it_holds():
    row = run(steps=100, at=("T_0.5",)).at("T_0.5")
    before = train(S, S.setup(width=3), mode="simultaneous", at=[row["t"] - 0.1], records=1)
    assert row["values"]["preactivation_minus_consistent"] <= 0 < before["preactivation_minus_consistent"][-1]


def test_training_that_diverges_stops_there():
    lost = run(steps=4000, records=400, learning_rate=1e160)
    assert lost.outcome.ending is Ending.NOT_FINITE and lost.statistics["steps"] == 10


def test_a_mark_does_not_end_training_before_an_event_that_is_asked_for():
    both, alone = (run(mode="three_stage", at=at, records=1) for at in (("T_1", "T_2"), ("T_2",)))
    assert both.statistics["steps"] == alone.statistics["steps"] > 200


def test_a_requested_time_is_recorded():
    assert run(at=(0.3, 5.0)).at(0.3)["reached"] and run(at=(0.3, 5.0)).at(5.0)["reached"]


def test_the_end_of_stage_1_is_recorded_in_training():
    assert run(mode="three_stage", at=("T_1", 30.0)).at("T_1")["t"] == pytest.approx(20.0)


def test_stages_train_what_they_say():
    course = run(mode="three_stage", at=(10.0, 20.0, 30.0))
    assert course.at(10.0)["values"]["S_cv_same"] == course["S_cv_same"][0]
    assert course.at(30.0)["values"]["w_c"] == course.at(20.0)["values"]["w_c"]


def test_seeds_side_by_side_are_the_seeds_one_by_one():
    together = run(steps=200, records=2, seeds=3)
    alone = [run(steps=200, records=2, seed=s) for s in range(3)]
    assert together["w_v"].shape == (3, 3)
    assert np.allclose(together["S_cv_same"].T, [a["S_cv_same"] for a in alone], rtol=1e-10, atol=1e-15)


def test_neurons_stay_frozen_in_attention_only_training():
    course = run(mode="attention_only", steps=1000)
    assert np.ptp(course["w_c"]) == 0 and np.ptp(course["w_v"]) == 0 and course["loss"][-1] < course["loss"][0]


def test_progress_is_reported_to_the_end():
    seen = []
    train(S, S.setup(width=3), mode="simultaneous", steps=50, records=5, progress=lambda done, total: seen.append(done))
    assert seen == sorted(seen) and seen[-1] == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [({"steps": 0}, "steps = 0"), ({"steps": 5, "observe": ["nothing"]}, "observe = nothing"),
     ({"steps": 5, "at": ["noon"]}, "noon"), ({"seeds": 2, "at": ["T_2"]}, "seeds = 2"), ({"variant": "x"}, "variant")],
)  # fmt: skip
def test_a_wrong_argument_is_named(options, message):
    with pytest.raises(InputError, match=message):
        train(S, S.setup(width=3), mode="simultaneous", **options)


# printed orders 1.005, 1.002, 1.001 from t = 5, after the kink
def test_descent_is_first_order_in_the_learning_rate_after_the_kink():
    flow = solve(S, S.setup(width=5), level="L2", mode="simultaneous", at=[5.0, 45.0], rtol=1e-11)
    rates, errors = np.array([0.4, 0.2, 0.1, 0.05]), []
    for η in rates:
        end = train(S, S.setup(width=5, learning_rate=η), variant="gram", mode="simultaneous", steps=round(40 / η),
                    records=1, start=flow.blocks(5.0)).blocks(40.0)  # fmt: skip
        errors.append(max(np.abs(end[name] - block).max() for name, block in flow.blocks(45.0).items()))
    assert np.polyfit(np.log(rates), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.05)


# printed 1104 (m = 500) and 1075 (m = 50), each from one seed; the limit's onset is at step 1105
@pytest.mark.parametrize(("width", "slack"), [(50, 80), (500, 30)])
def test_section_6_onset_step_of_training(width, slack):
    assert abs(run(variant="gram", at=("T_2",), steps=1300, records=1, width=width).at("T_2")["t"] / 0.1 - 1105) < slack


# true ReLU, m = 100, 8000 steps: the specification's section 8.2
@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "L", "b", "accuracy", "sign"),
    [(3, 4, 0.5, 1.0, 1), (3, 4, 0.1, 0.75, -1), (3, 5, 0.5, 0.875, -1), (3, 5, 1.0, 1.0, 1)],
)
def test_section_8_2_the_stuck_phase_by_training(K, L, b, accuracy, sign):
    course = run(steps=8000, records=1, width=100, K=K, L=L, b=b)
    assert course["accuracy"][-1] == pytest.approx(accuracy) and np.sign(course["w_c"][-1]) == sign


@pytest.mark.slow
@pytest.mark.parametrize(("sigma_w", "low", "high"), [(0.5, 0.3, 0.5), (1.0, 0.26, 0.46)])
def test_section_6_attention_alone_does_not_learn(sigma_w, low, high):
    course = run(mode="attention_only", steps=30_000, records=1, seeds=16, width=50, sigma_w=sigma_w)
    assert low < course["loss"][-1].mean() < high and course["loss"][-1].min() > 0.05


def test_nothing_need_be_observed():
    trained = train(S, S.setup(width=3), mode="simultaneous", steps=2, observe=())
    assert not trained.series and trained.t[-1] == pytest.approx(0.2)
