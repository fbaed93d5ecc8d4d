"""Further numbers of the co-occurrence specification: sizes, identities, Appendix A's scales in the limit, late ratios.

Where a value of the specification was read off a grid of times or comes from other seeds, the value here is the located
one (or an interval), and a comment gives the other.
"""

import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.scales import Scales, condition_1
from flowsys.systems.cooccurrence.sentences import INCIDENCE

FEW, MANY = condition_1(512, 16, 5), condition_1(4096, 16, 5)
READING_A = Scales(2 / 3, 256 / 3, 256.0, 128**-0.5)  # Appendix A in the limit's parameters
READING_E = Scales(2 / 3, 1 / 9, 1 / 3, 128**-0.5)


def limit(n, scales, at=(), taus=(), L=5, **options):
    times = [tau / scales.beta for tau in taus]
    return solve(SYSTEM, SYSTEM.setup(n=n, L=L, **scales._asdict()), at=[*at, *times], rtol=1e-10, **options)


@pytest.mark.parametrize("n, scales, growth", [(60, FEW, 1.0219), (60, READING_A, 3.406), (60, READING_E, 99.57)])
def test_c_over_beta_at_the_end_of_training(n, scales, growth):
    found = limit(n, scales, ["T_star"], observe=["c_growth"])  # spec: 1.02, 3.3, about 100
    assert found["c_growth"][0] == pytest.approx(growth, rel=1e-3)


@pytest.mark.parametrize("scales, at_end, late", [(FEW, 1.031e-4, 2.918e-4), (READING_A, 1.584e-3, 4.058e-3),
                                                  (READING_E, 0.06752, 0.19835)])  # fmt: skip
def test_how_far_attention_leaves_the_uniform(scales, at_end, late):
    found = limit(60, scales, ["T_star"], [1e6], observe=["attention_deviation"])  # spec: 1e-4, 4e-3 (late), .07
    order = np.argsort(found.t)
    np.testing.assert_allclose(found["attention_deviation"][order], (at_end, late), rtol=1e-3)


@pytest.mark.parametrize("scales, products", [(READING_A, (7.280, 2.721, 1.718)), (FEW, (6.854, 7.942, 7.429))])
def test_loss_times_tau_is_no_constant_where_c_grows(scales, products):
    # spec: 7.3 → 1.7 with the scales of reading A; 8.3 (τ = 100) → 7.4 at n = 60, m = 512
    found = limit(60, scales, taus=[30, 1e4, 1e6], observe=["loss", "tau", "clock"])
    np.testing.assert_allclose(
        found["loss"] * found["tau"] * (1 + scales.m1 * scales.alpha / scales.beta), products, rtol=1e-3
    )


@pytest.mark.parametrize("n, S_33, ratio", [(60, 0.0883, 0.8602), (600, 0.3975, 0.6850), (6000, 0.4319, 0.6668),
                                            (np.inf, 0.4357, 0.6648)])  # fmt: skip
def test_the_common_score_and_the_rates_of_scores_at_late_times(n, S_33, ratio):
    found = limit(n, FEW if n == 60 else MANY, taus=[1e6], observe=["S_33", "S_21", "d_S_31", "d_S_21"])
    # spec: .09 to .43; .86, .67
    assert found["S_33"][0] / found["S_21"][0] == pytest.approx(S_33, abs=2e-4)
    assert -found["d_S_31"][0] / found["d_S_21"][0] == pytest.approx(ratio, abs=2e-4)


@pytest.mark.parametrize("n, G_1, G_3, R", [(60, 0.635, -0.455, 1.2865), (600, 0.940, -0.908, 1.4756),
                                            (6000, 0.990, -0.987, 1.4887)])  # fmt: skip
def test_values_when_all_samples_become_correct(n, G_1, G_3, R):
    # spec: G_1 + G_3 = .17, .01, -.03 and R from 1.494 on at n = 6000, a step of its grid later
    found = limit(n, FEW if n == 60 else MANY, ["T_1"], observe=["G_mu1", "G_mu3", "R"])
    np.testing.assert_allclose((found["G_mu1"][0], found["G_mu3"][0]), (G_1, G_3), atol=1e-3)
    assert found["R"][0] == pytest.approx(R, abs=2e-3)


@pytest.mark.parametrize("n, measured", [(60, 2.93), (600, 4.37), (6000, 4.64)])
def test_the_imbalance_of_the_targets_falls_with_the_dual_weight_of_their_type(n, measured):
    scales = FEW if n == 60 else MANY
    setup = SYSTEM.setup(n=n, L=5, **scales._asdict(), split=0.1)
    times = [tau / scales.beta for tau in (300, 1000)]
    found = solve(SYSTEM, setup, variant="without_swap", at=times, observe=["target_imbalance", "clock"], rtol=1e-11)
    power = np.diff(np.log(found["target_imbalance"]))[0] / np.diff(np.log(found["clock"]))[0]
    assert power == pytest.approx(-measured, abs=0.02)
    late = max_margin(n, 5).dual_weights[1] * (1 + 3 / (n / 6))
    assert 0.9 < measured / late < 1


def test_the_second_moment_of_the_bag_of_words_bounds_the_learning_rate():
    shares = np.array([3, 1, 1, 1]) / 6
    largest = np.linalg.eigvalsh((INCIDENCE.T * shares) @ INCIDENCE)[-1]
    assert largest == pytest.approx(2.03, abs=1e-3) and 8 / largest == pytest.approx(3.94, abs=0.01)
    # η(c + m1 α) of the readings A, B, C in the mean: A starts below the bound, B and C beyond it
    speeds = [0.01 * (c + 256 * alpha) for alpha, c in ((2 / 3, 256 / 3), (2, 256), (4, 512))]
    np.testing.assert_allclose(speeds, (2.56, 7.68, 15.36), rtol=1e-3)


def test_long_runs_take_few_steps():
    found = limit(600, MANY, taus=[1e6], observe=["loss"])
    assert found.statistics["steps"] < 200  # spec: 60 to 125 at looser tolerances
