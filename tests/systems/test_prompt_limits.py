"""Many patterns, the paper's surrogate, and the lemmas on entry gradients, against the population system."""

import numpy as np
import pytest
from prompt_oracle import Population, planar_velocity
from scipy.integrate import solve_ivp
from scipy.optimize import approx_fprime

from flowsys.systems.prompt import planar, surrogate
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.model import MASSES
from flowsys.systems.prompt.symmetric import (
    SymmetricScores,
    entry_gradients,
    mean_column_gradients,
    orbits_from_zero,
)


def solve(field, size, t_max, **options):
    return solve_ivp(field, (0, t_max), np.zeros(size), method="LSODA", dense_output=True, **options).sol


@pytest.fixture(scope="module")
def appendix_E():
    population = Population(20, 3, 0.4)
    return population, population.solve(1e4)


def column_gradients(population, y):
    entry = entry_gradients(SymmetricScores(*population.gradient(y)), population.M)
    return dict(zip(MASSES, mean_column_gradients(entry)))


def test_planar_system_starts_at_the_stated_rates():
    da, dg = planar_velocity(0, (0, 0), 2000, 3, 0.4)
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
    paper = solve(lambda t, y: surrogate.velocity(np, *y, M, K, alpha), 2, 1e5, rtol=1e-8, atol=1e-12)
    for t in np.geomspace(1, 1e5, 40):
        assert population.same_mass(exact(t)).min() >= surrogate.masses(np, *paper(t), K, alpha)[0]


@pytest.mark.parametrize("M, K, overtaken", [(200, 3, 1.8e3), (20, 2, 5.6e3), (20, 3, None)])
def test_surrogate_is_too_optimistic_about_other_steps_late(M, K, overtaken):
    population = Population(M, K, 0.4)
    exact = population.solve(1e5, rtol=1e-8, atol=1e-10)
    paper = solve(lambda t, y: surrogate.velocity(np, *y, M, K, 0.4), 2, 1e5, rtol=1e-8, atol=1e-12)
    ts = 10 ** np.arange(0, 5.01, 0.25)
    of_paper = lambda t: sum(surrogate.masses(np, *paper(t), K, 0.4)[i] for i in (1, 3))
    exceeds = [population.other_step_mass(exact(t)).max() > of_paper(t) for t in ts]
    first = ts[np.argmax(exceeds)] if any(exceeds) else None
    assert first == (None if overtaken is None else pytest.approx(overtaken, rel=0.02))


def test_pattern_score_bound_of_equation_49_is_violated_in_the_middle():
    population = Population(200, 3, 0.4)
    course = population.solve(3000.0, rtol=1e-9, atol=1e-11)
    margin = lambda t: course(t)[0] - printed.pattern_score_bound(t, 200, 3, 0.4)
    assert all(margin(t) < 0 for t in (668, 1084))
    assert margin(600) > 0 and margin(1200) > 0
    assert min(margin(t) for t in np.linspace(668, 1084, 100)) == pytest.approx(-0.012, abs=5e-4)


def test_entry_gradients_are_minus_the_velocities_of_the_orbits(appendix_E):
    population, course = appendix_E
    y = course(50.0)
    entry = entry_gradients(SymmetricScores(*population.gradient(y)), 20)
    dy = population.velocity(0, y)
    moving = orbits_from_zero(SymmetricScores.of(dy), 20)
    for name in ("A_s", "A_d", "B_s", "B_d", "C", "G"):
        assert np.abs(getattr(entry, name) + getattr(moving, name)).max() < 1e-15


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
    ours = column_gradients(population, y)[kind]
    assert ((lower is None or lower.mean() <= ours) and ours <= upper.mean()) == holds


def test_times_of_the_paper_at_the_appendix_E_sizes():
    assert printed.stage_1_time(0.1, 3, 0.4) == pytest.approx(574, abs=0.5)
    assert printed.stage_2_time(20, 3, 0.4) == 150
    assert printed.training_time(0.1, 20, 3, 0.4) == pytest.approx(574 * 0.4 + 60 * 12.5, rel=1e-3)


def test_stage_1_time_refuses_a_threshold_above_the_initial_attention():
    with pytest.raises(ValueError, match=r"epsilon = 0.8, but attention on other steps starts at 1 - 1/K = 0.666667"):
        planar.stage_1_time(0.8, 3, 0.4)
