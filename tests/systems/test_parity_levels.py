"""The levels of the parity system against each other: weights, inner products, frozen gates, limits; training."""

import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems import load

PARITY = load("parity")
SMALL = {"n": 5, "k": 3, "m": 8}


def course(level, variant, at, mode=None, rtol=1e-8, solver="tsit5", **parameters):
    # tsit5 compiles in half the time of the default, and these runs are short
    setup, solver = PARITY.setup(**parameters), "auto" if variant == "limit" else solver
    return solve(PARITY, setup, level=level, variant=variant, mode=mode, at=at, rtol=rtol, solver=solver)


def test_weights_and_what_is_seen_of_them_flow_alike():
    given = {**SMALL, "d": 40, "tokens": "all", "rtol": 1e-10}
    weights, reduced = course("L1", "weights", [150.0], **given), course("L2", "reduced", [150.0], **given)
    assert all(abs(weights[name][0] - reduced[name][0]) < 1e-7 for name in reduced)
    assert reduced["score_other_max"][0] > 0.1


@pytest.mark.slow
def test_classes_of_tokens_are_all_tokens():
    every = course("L2", "reduced", [100.0], rtol=1e-10, tokens="all", **SMALL)
    for level, variant in (("L1", "weights"), ("L2", "reduced")):
        classes = course(level, variant, [100.0], rtol=1e-10, **SMALL)
        assert all(abs(every[name][0] - classes[name][0]) < 1e-8 for name in every)


def test_frozen_gates_follow_the_live_ones_at_large_epsilon():
    live = course("L2", "reduced", [100.0], rtol=1e-10, **SMALL)
    still = course("L2", "frozen", [100.0], rtol=1e-10, **SMALL)
    assert live["flipped"][0] == 0 and all(abs(live[name][0] - still[name][0]) < 1e-8 for name in still)


@pytest.mark.parametrize("variant", ["balanced", "found"])
@pytest.mark.slow
def test_other_forms_of_the_limit_are_the_collapsed_one(variant):
    t, given = 360.0, {"n": 9, "k": 3, "m": 4.0, "rtol": 1e-11}
    exact, other = course("L3", "collapsed", [t], **given), course("L3", variant, [t], solver="auto", **given)
    shared = [name for name in exact if name in other]
    assert len(shared) >= 9 and all(abs(exact[name][0] - other[name][0]) < 1e-8 for name in shared)


def test_entropy_and_margins_of_the_limit_are_those_of_its_sequences():
    sequences = course("L3", "collapsed", [360.0], rtol=1e-11, n=9, k=3, m=4)
    limit = course("L3", "limit", [360.0], rtol=1e-11, n=9, k=3, m=4)
    for name in ("g", "u", "v", "w", "s_target", "one_hot_error", "margin"):
        assert abs(sequences[name][0] - limit[name][0]) < 1e-9
    # the entropy of all positions is the least of them, and that of position i is not less
    assert 0 <= sequences["entropy"][0] <= limit["entropy"][0] <= 1


def test_the_first_gate_flips_when_inputs_have_moved_by_epsilon():
    flip = course("L3", "balanced", ["gate_flip"], rtol=1e-10, n=12, k=1, m=100, epsilon=0.3)
    assert abs(flip["gate_slack"][0]) < 1e-10 and abs(2 * flip["margin"][0] - 0.3) < 1e-6  # 2 s g = ε


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_lumped_live_gates_follow_the_neurons_where_gates_flip_and_where_they_do_not(epsilon):
    # after a flip neurons move whose slope is 0 in most patterns of gates; by descent of own code lock is at 726.14
    given = {"at": ["lock"], "mode": "block", "observe": ["flipped", "u"], "level": "L3", "kink_width": 1e-3}
    setup = PARITY.setup("block", n=12, k=2, m=100, epsilon=epsilon, i=13)
    lumped, neurons = (solve(PARITY, setup, variant=variant, **given) for variant in ("live", "balanced"))
    assert abs(lumped.t[0] / neurons.t[0] - 1) < 1e-7 and abs(lumped["u"][0] - neurons["u"][0]) < 1e-6
    assert lumped["flipped"][0] == pytest.approx(neurons["flipped"][0], abs=1e-12)
    assert (lumped["flipped"][0] > 0) == (epsilon == 0.05) and (epsilon == 0.3 or abs(lumped.t[0] - 726.14) < 0.2)


def test_before_lock_the_common_mode_makes_half_of_the_sequences_wrong():
    # what the variant limit, which knows s·g alone, does not see
    early = course("L3", "collapsed", [18.0], n=9, k=3, m=4)
    limit = course("L3", "limit", [18.0], n=9, k=3, m=4)
    assert early["accuracy"][0] == 0.5 and limit["accuracy"][0] == 1.0
    assert "common mode" in PARITY.observables["accuracy"]


def test_width_error_falls_like_one_over_root_m():
    # n = 12, k = 3; slopes -0.41 … -0.51 over m = 64 … 16384
    τ = np.linspace(1, 9, 5)
    errors = []
    for m in (64, 1024):
        times = list(12 * np.sqrt(m) * τ)
        exact = course("L3", "collapsed", times, n=12, k=3, m=m)["s_target"]
        runs = [course("L2", "frozen", times, n=12, k=3, m=m, seed=seed)["s_target"] for seed in range(6)]
        errors.append(np.mean([np.abs(run - exact).max() for run in runs]))
    assert -0.85 < np.log(errors[1] / errors[0]) / np.log(16) < -0.25


def test_the_limit_of_a_width_other_than_m_is_that_of_m():
    at = [12 * 8 * 5.0]
    exact = course("L3", "collapsed", at, n=12, k=3, m=64)["s_target"][0]
    assert abs(course("L2", "frozen", at, n=12, k=3, m=64, width=40000)["s_target"][0] - exact) < 1e-3


def test_without_a_chain_nothing_moves_from_the_start():
    still = course("L2", "reduced", [50.0], mode="no_chain", n=8, k=2, m=4)
    moved = course("L2", "reduced", [50.0], mode="no_chain", n=8, k=1, m=4)
    assert still["score_other_max"][0] < 1e-12 and moved["score_target_min"][0] > 1e-3


def test_descent_approaches_the_flow_like_the_learning_rate():
    flow = course("L2", "reduced", [150.0], rtol=1e-10, **SMALL)["u"][0]
    errors = []
    for η in (2.0, 1.0):
        run = train(PARITY, PARITY.setup(**SMALL, learning_rate=η), steps=round(150 / η), records=1, observe=["u"])
        errors.append(abs(run["u"][-1] - flow))
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_three_steps_on_fresh_batches_learn():
    setup = PARITY.setup(n=8, k=2, m=400, tokens="all", batch=4096, epsilon=2.0, rho=0.3)
    found = train(PARITY, setup, variant="sgd", mode="three_step", records=1)
    assert found["accuracy_all"][-1] > 0.9 and found["s_target"][-1] > 0.9


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"batch": 64}, "batch = 64"),
        ({"d": 64}, "d = 64"),
        ({"tokens": "every"}, "tokens = every"),
    ],
)
def test_batches_and_dimensions_need_every_token(given, name):
    with pytest.raises(InputError, match=name):
        PARITY.setup(**given)


def test_a_run_on_batches_says_what_it_needs():
    for given, name in (({}, "tokens = classes"), ({"tokens": "all", "n": 8, "k": 2}, "batch = inf")):
        with pytest.raises(InputError, match=name):
            train(PARITY, PARITY.setup(**given), variant="sgd", mode="three_step", steps=3)
