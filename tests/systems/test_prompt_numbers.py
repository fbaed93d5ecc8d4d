"""Numbers of the specification that stand in no other test: bounds of the lemmas, exponents, task families."""

import numpy as np
import pytest

from flowsys import load, solve
from flowsys.laws.fits import power_law
from flowsys.systems.prompt import planar
from flowsys.systems.prompt.claims import printed

SYSTEM = load("prompt")


def start(**parameters):
    """Attention p of every query step and the gradients at t = 0."""
    K = parameters.get("K", 3)
    names = [f"mass_same_same_{k}" for k in range(1, K + 1)]
    run = solve(SYSTEM, SYSTEM.setup(**parameters), at=[0.0], observe=[*names, "Gamma_same_other", "Gamma_other_same"])
    return np.array([run[name][0] for name in names]), run


def test_section_6_upper_bound_31_is_broken_at_the_start_for_two_steps():
    p, run = start(K=2)
    upper = printed.stage_1_bounds(p, 20, 2, 0.4)["same_other"].upper.mean()
    assert (run["Gamma_same_other"][0], upper) == pytest.approx((0.0393, 0.0372), abs=5e-5)


def test_section_6_lower_bound_32_is_broken_at_the_start_for_many_matching_examples():
    p, run = start(alpha=0.8)
    lower = printed.stage_1_bounds(p, 20, 3, 0.8)["other_same"].lower.mean()
    assert (run["Gamma_other_same"][0], lower) == pytest.approx((-0.058, -0.046), abs=5e-4)


@pytest.mark.parametrize("M, K, alpha, first, last, depth",
                         [(20, 2, 0.4, 27, 199, 0.16), (2000, 2, 0.2, 264, 5.9e4, 1.18)])  # fmt: skip
def test_section_6_pattern_score_is_below_equation_49_in_the_middle_only(M, K, alpha, first, last, depth):
    # the specification's ends are points of a grid that is 4 % wide
    times = [first * 0.97, first * 1.02, *np.geomspace(first * 1.03, last, 200), last * 1.06]
    run = solve(SYSTEM, SYSTEM.setup(M=M, K=K, alpha=alpha), at=times, observe=["a"])
    margin = run["a"] - printed.pattern_score_bound(run.t, M, K, alpha)
    assert margin[0] > 0 and margin[-1] > 0 and (margin[1:-1] < 0).all()
    assert margin.min() == pytest.approx(-depth, abs=6e-3)


def test_section_6_exponents_of_stage_1_from_its_quadrature():
    steps = (2, 3, 4, 5, 6, 7, 8)
    assert power_law(steps, [planar.stage_1_time(0.1, K, 0.4) for K in steps]).slope == pytest.approx(1.79, abs=5e-3)
    local = lambda low, high: np.log(
        planar.stage_1_time(0.1, 3, high) / planar.stage_1_time(0.1, 3, low)) / np.log(high / low)  # fmt: skip
    assert local(0.01, 0.02) == pytest.approx(-0.99, abs=5e-3)
    assert local(0.45, 0.65) == pytest.approx(-0.5, abs=0.05)


@pytest.mark.parametrize("t, loss", [(50.0, 0.1095), (200.0, 0.0224), (1000.0, 0.0031)])
def test_section_3_1_losses_of_the_population_beside_other_task_families(t, loss):
    run = solve(SYSTEM, SYSTEM.setup(M=10, K=2), at=[t], observe=["loss"])
    assert run["loss"][0] == pytest.approx(loss, abs=5.1e-5)


@pytest.mark.slow
def test_section_3_1_losses_of_independent_permutations():
    """64 tasks of one random draw; the population of cycles has 0.1095, 0.0224, 0.0031."""
    setup = SYSTEM.setup(M=10, K=2, family="permutations", n_tasks=64, xi=0.0)
    run = solve(SYSTEM, setup, level="L2", at=[50.0, 200.0, 1000.0], observe=["loss"])
    assert run["loss"] == pytest.approx([0.113, 0.0231, 0.0032], abs=5e-4)


def counted(name, **parameters):
    """An observable that does not depend on the state of training."""
    return solve(SYSTEM, SYSTEM.setup(**parameters), at=[0.0], observe=[name])[name][0]


def test_section_7_chain_by_exact_counting():
    assert counted("chain_success_exact", l_ts=10, alpha_test=0.4, tau=0.6**3) == pytest.approx(0.4020, abs=5e-5)


@pytest.mark.parametrize("l_ts, error", [(5, 0.366), (10, 0.264), (20, 0.180), (40, 0.089), (80, 0.037)])
def test_section_7_one_step_errors_of_the_default_test_by_exact_counting(l_ts, error):
    # the specification's are of 3000 prompts: three standard errors
    found = counted("icl_error_exact", l_ts=l_ts)
    assert found == pytest.approx(error, abs=3 * np.sqrt(error * (1 - error) / 3000))


@pytest.mark.parametrize(
    "p, beta, l_ts, error",
    [(0.6, 0.9, 20, 0.845), (0.6, 0.9, 80, 0.985), (0.6, 0.9, 320, 1.0), (0.8, 0.9, 20, 0.25), (0.8, 0.9, 80, 0.087),
     (0.8, 0.9, 320, 0.002), (0.6, 0.3, 80, 0.32), (0.75, 0.9, 80, 0.39)],
)  # fmt: skip
def test_section_6_one_step_errors_with_and_without_condition_1_by_exact_counting(p, beta, l_ts, error):
    found = counted("icl_error_exact", style="attractor", tau=p**3, beta=beta, l_ts=l_ts)
    assert found == pytest.approx(error, abs=0.016)  # of 1500 to 3000 prompts


def test_counting_that_would_take_too_many_examples_is_nan():
    assert np.isnan(counted("examples_needed", alpha_test=0.01))
    assert np.isnan(counted("chain_success_exact", l_ts=601))
    assert np.isnan(counted("icl_error_exact", l_ts=601))


def test_the_blind_pattern_of_random_weights_keeps_its_share_of_attention():
    """Flow on all cycles from random weights, tested by its weights; λ = 1 is blind, λ = 0 is not."""
    sizes = {"M": 5, "K": 2, "M_test": 4, "alpha_test": 0.2, "n_prompts": 200, "d_X": 8}
    seen = {}
    for overlap in (0.0, 1.0):
        setup, names = SYSTEM.setup(overlap=overlap, **sizes), ["attention_overlap"]
        run = solve(SYSTEM, setup, level="L2", at=[1000.0], observe=names, rtol=1e-6, solver="tsit5")
        seen[overlap] = run["attention_overlap"][0]
    assert seen[1.0] == pytest.approx(0.2, abs=0.02)
    assert seen[0.0] > 0.5


def test_a_time_may_be_a_parameter():
    run = solve(SYSTEM, SYSTEM.setup(t_given=61.6), at=["T_given", 61.6], observe=["loss"])
    assert run.t.tolist() == [61.6]
    assert run.at("T_given")["values"]["loss"] == run.at(61.6)["values"]["loss"]
