"""Many patterns, the paper's surrogate, and the lemmas on entry gradients, against the population system."""

import numpy as np
import pytest
from prompt_oracle import Population, column_gradients, planar_velocity
from scipy.optimize import approx_fprime

import flowsys as fs
from flowsys.systems.prompt import planar
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.model import MASSES


def test_planar_system_starts_at_the_stated_rates():
    da, dg = planar_velocity((0, 0), 2000, 3, 0.4)
    assert dg == pytest.approx(0.4 / 9, rel=1e-14)
    p, s = 0.4 / 3, 0.8 / 3
    assert da == pytest.approx(p * ((1 - p) ** 2 + s**2 / 2) / 1999, rel=1e-13)  # α/(K (M - 1)) for small α/K


def test_stage_1_time_approaches_its_asymptote():
    ratios = [planar.stage_1_time(e, 3, 0.4) / planar.stage_1_time_asymptote(e, 3, 0.4) for e in (1e-3, 1e-6)]
    assert abs(ratios[1] - 1) < 1e-4 < abs(ratios[0] - 1) < 0.02


def test_stage_2_clock_integrates_its_velocity():
    slope = approx_fprime(np.array([0.3]), lambda p: float(planar.stage_2_clock(p[0])), 1e-7)[0]
    assert slope == pytest.approx(1 / (0.3**2 * 0.7**3), rel=1e-5)


@pytest.mark.parametrize("M, K, alpha", [(20, 3, 0.4), (200, 3, 0.4), (20, 2, 0.4)])
def test_surrogate_bounds_the_attention_from_below(M, K, alpha):
    population = Population(M, K, alpha)
    exact = population.solve(1e5, rtol=1e-8, atol=1e-10)
    paper = fs.solve("prompt", M=M, K=K, alpha=alpha, level="L4", at=np.geomspace(1, 1e5, 40), observe=["p_min"])
    assert all(population.same_mass(exact(t)).min() >= bound for t, bound in zip(paper.t, paper["p_min"]))


@pytest.mark.parametrize("M, K, overtaken", [(200, 3, 1.8e3), (20, 2, 5.6e3), (20, 3, None)])
def test_surrogate_is_too_optimistic_about_other_steps_late(M, K, overtaken):
    population = Population(M, K, 0.4)
    exact = population.solve(1e5, rtol=1e-8, atol=1e-10)
    ts = 10 ** np.arange(0, 5.01, 0.25)
    paper = fs.solve("prompt", M=M, K=K, alpha=0.4, level="L4", at=ts, observe=["mass_other_step"])["mass_other_step"]
    exceeds = [population.other_step_mass(exact(t)).max() > bound for t, bound in zip(ts, paper)]
    first = ts[np.argmax(exceeds)] if any(exceeds) else None
    assert first == (None if overtaken is None else pytest.approx(overtaken, rel=0.02))


def test_pattern_score_bound_of_equation_49_is_violated_in_the_middle():
    population = Population(200, 3, 0.4)
    course = population.solve(3000.0, rtol=1e-9, atol=1e-11)
    margin = lambda t: course(t)[0] - printed.pattern_score_bound(t, 200, 3, 0.4)
    assert all(margin(t) < 0 for t in (668, 1084))
    assert margin(600) > 0 and margin(1200) > 0
    assert min(margin(t) for t in np.linspace(668, 1084, 100)) == pytest.approx(-0.012, abs=5e-4)


@pytest.mark.parametrize("t", [0.0, 50.0, 1e4])
def test_gradients_of_entries_and_columns_are_those_of_the_oracle(t):
    population, gammas = Population(20, 3, 0.4), [f"Gamma_{kind}" for kind in MASSES]
    entries = ("gamma_A_s", "gamma_A_d", "gamma_B_s", "gamma_B_d")
    there = fs.solve("prompt", M=20, K=3, alpha=0.4, at=[t], observe=[*entries, *gammas])
    a, b, _ = population.gradient(there.states[0])
    of_entries = a / 20, -a / (20 * 19), b / 20, -b / (20 * 19)
    for names, expected in ((entries, of_entries), (gammas, column_gradients(population, there.states[0]))):
        assert np.abs([there[name][0] for name in names] - np.array(expected)).max() < 1e-16


@pytest.mark.parametrize(
    "M, K, alpha, t, kind, holds",
    [
        (20, 3, 0.4, 500, "same_same", True), (20, 3, 0.4, 1000, "same_same", False),
        (20, 2, 0.4, 50, "same_same", False),
        (20, 3, 0.4, 200, "same_other", True), (20, 3, 0.4, 300, "same_other", False),
        (20, 2, 0.4, 0, "same_other", False),
        (20, 3, 0.4, 1000, "other_same", True), (20, 3, 0.8, 0, "other_same", False),
        (20, 3, 0.4, 120, "other_other", True), (20, 3, 0.4, 200, "other_other", False),
    ],
)  # fmt: skip
def test_where_the_bounds_of_lemma_F5_hold(M, K, alpha, t, kind, holds):
    population = Population(M, K, alpha)
    y = population.solve(max(t, 1), rtol=1e-8, atol=1e-10)(t)
    lower, upper = printed.stage_1_bounds(population.same_mass(y), M, K, alpha)[kind]
    ours = dict(zip(MASSES, column_gradients(population, y)))[kind]
    assert ((lower is None or lower.mean() <= ours) and ours <= upper.mean()) == holds


def test_times_of_the_paper_at_the_appendix_E_sizes():
    assert printed.stage_1_time(0.1, 3, 0.4) == pytest.approx(574, abs=0.5)
    assert printed.stage_2_time(20, 3, 0.4) == 150
    assert printed.training_time(0.1, 20, 3, 0.4) == pytest.approx(574 * 0.4 + 60 * 12.5, rel=1e-3)


def test_stage_1_time_refuses_a_threshold_above_the_initial_attention():
    with pytest.raises(ValueError, match=r"epsilon = 0.8, but attention on other steps starts at 1 - 1/K = 0.666667"):
        planar.stage_1_time(0.8, 3, 0.4)
