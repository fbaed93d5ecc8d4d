"""Many patterns, the paper's surrogate, and the lemmas on entry gradients, against the population system."""

import jax
import numpy as np
import pytest
from prompt_oracle import Population, crossing, planar_velocity
from scipy.integrate import solve_ivp
from scipy.optimize import approx_fprime

from flowsys import ops
from flowsys.systems.prompt import lemmas, planar, scores, surrogate, symmetric
from flowsys.systems.prompt.scores import SymmetricScores


def solve(field, size, t_max, **options):
    return solve_ivp(field, (0, t_max), np.zeros(size), method="LSODA", dense_output=True, **options).sol


@pytest.fixture(scope="module")
def many_patterns():
    """Population flow at K = 3, alpha = 0.4 for any number of patterns, M traced."""
    with jax.enable_x64(True):
        field = jax.jit(
            lambda y, M: symmetric.field(
                0.0, SymmetricScores(y[0], y[1], y[2:].reshape(3, 3)), (symmetric.unwrapped_kinds(ops, M, 3, 0.4), M)
            )
        )

    def course(M, t_max):
        def velocity(t, y):
            a, b, H = field(y, float(M))
            return np.concatenate([[a, b], np.ravel(H)])

        with jax.enable_x64(True):
            return solve(velocity, 11, t_max, rtol=1e-8, atol=1e-10)

    return course


@pytest.fixture(scope="module")
def appendix_E():
    population = Population(20, 3, 0.4)
    return population, population.solve(1e4)


def column_gradients(population, y):
    return lemmas.column_gradients(SymmetricScores(*population.gradient(y)), population.M)


def drive(population, y):
    p = population.same_mass(y).mean()
    return p * (1 - p) ** 2 / population.M


def test_planar_field_from_autodiff_is_the_printed_one():
    with jax.enable_x64(True):
        field = jax.jit(planar.field)(0.0, planar.PlanarScores(0.7, 1.3), (20, 3, 0.4))
        ours = np.array([field.a, field.g])
    assert ours == pytest.approx(planar_velocity(0, (0.7, 1.3), 20, 3, 0.4), rel=1e-13)


def test_planar_system_starts_at_the_stated_rates():
    da, dg = planar_velocity(0, (0, 0), 2000, 3, 0.4)
    assert dg == pytest.approx(0.4 / 9, rel=1e-14)
    p, s = 0.4 / 3, 0.8 / 3
    assert da == pytest.approx(p * ((1 - p) ** 2 + s**2 / 2) / 1999, rel=1e-13)  # α/(K (M - 1)) for small α/K


@pytest.mark.parametrize("t, p", [(50, 0.3946), (200, 0.6672), (1000, 0.8781)])
def test_planar_attention_at_the_appendix_E_sizes(t, p):
    a, g = solve(lambda t, y: planar_velocity(t, y, 20, 3, 0.4), 2, t, rtol=1e-9, atol=1e-11)(t)
    weights = np.array([0.4 * np.exp(a + g), 0.6 * np.exp(g), 0.8, 1.2])
    assert weights[0] / weights.sum() == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize("epsilon, T_1", [(0.1, 105.7), (0.03, 311), (0.01, 876), (0.003, 2831)])
def test_stage_1_time_is_a_power_law_reached_by_the_population_of_a_million_patterns(many_patterns, epsilon, T_1):
    assert planar.stage_1_time(epsilon, 3, 0.4) == pytest.approx(T_1, rel=2e-3)
    course = many_patterns(1e6, 3000.0)
    assert crossing(course, lambda y: other_step_mass(y, 3, 0.4) - epsilon, 1, 3000) == pytest.approx(T_1, rel=2e-3)


def other_step_mass(y, K, alpha):
    """Largest attention on other steps for M → ∞, where the matching column alone feels a."""
    H = y[2:].reshape(K, K)
    weights = np.exp(H) * (1 - alpha + alpha * np.where(np.eye(K, dtype=bool), np.exp(y[0]), 1))
    return (1 - np.diag(weights) / weights.sum(axis=0)).max()


def test_stage_1_time_approaches_its_asymptote():
    ratios = [planar.stage_1_time(e, 3, 0.4) / planar.stage_1_time_asymptote(e, 3, 0.4) for e in (1e-3, 1e-6)]
    assert abs(ratios[1] - 1) < 1e-4 < abs(ratios[0] - 1) < 0.02


def test_stage_2_clock_integrates_its_velocity():
    slope = approx_fprime(np.array([0.3]), lambda p: float(planar.stage_2_clock(p[0])), 1e-7)[0]
    assert slope == pytest.approx(1 / (0.3**2 * 0.7**3), rel=1e-5)


@pytest.mark.parametrize("M, percent", [(20, -5.0), (40, -3.0), (80, -1.7), (160, -0.87)])
def test_stage_2_time_errs_like_one_over_M(M, percent):
    population = Population(M, 3, 0.4)
    predicted = planar.stage_2_time(0.9, M, 0.4)
    course = population.solve(1.2 * predicted, rtol=1e-8, atol=1e-10)
    T = crossing(course, lambda y: population.same_mass(y).min() - 0.9, 10, 1.2 * predicted)
    assert 100 * (T / predicted - 1) == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize("M, K, alpha", [(20, 3, 0.4), (200, 3, 0.4), (20, 2, 0.4)])
def test_surrogate_bounds_the_attention_from_below(M, K, alpha):
    population = Population(M, K, alpha)
    exact = population.solve(1e5, rtol=1e-8, atol=1e-10)
    paper = solve(lambda t, y: surrogate.velocity(np, *y, M, K, alpha), 2, 1e5, rtol=1e-8, atol=1e-12)
    for t in np.geomspace(1, 1e5, 40):
        assert population.same_mass(exact(t)).min() >= surrogate.same_mass(np, *paper(t), K, alpha)


@pytest.mark.parametrize("M, K, overtaken", [(200, 3, 1.8e3), (20, 2, 5.6e3), (20, 3, None)])
def test_surrogate_is_too_optimistic_about_other_steps_late(M, K, overtaken):
    population = Population(M, K, 0.4)
    exact = population.solve(1e5, rtol=1e-8, atol=1e-10)
    paper = solve(lambda t, y: surrogate.velocity(np, *y, M, K, 0.4), 2, 1e5, rtol=1e-8, atol=1e-12)
    ts = 10 ** np.arange(0, 5.01, 0.25)
    exceeds = [
        population.other_step_mass(exact(t)).max() > surrogate.other_step_mass(np, *paper(t), K, 0.4) for t in ts
    ]
    first = ts[np.argmax(exceeds)] if any(exceeds) else None
    assert first == (None if overtaken is None else pytest.approx(overtaken, rel=0.02))


def test_pattern_score_bound_of_equation_49_is_violated_in_the_middle():
    population = Population(200, 3, 0.4)
    course = population.solve(3000.0, rtol=1e-9, atol=1e-11)
    margin = lambda t: course(t)[0] - surrogate.pattern_score_bound(t, 200, 3, 0.4)
    assert all(margin(t) < 0 for t in (668, 1084))
    assert margin(600) > 0 and margin(1200) > 0
    assert min(margin(t) for t in np.linspace(668, 1084, 100)) == pytest.approx(-0.012, abs=5e-4)


def test_late_pattern_score_and_loss_follow_their_laws():
    population = Population(20, 3, 0.4)
    y = population.solve(1e7, rtol=1e-8, atol=1e-10)(1e7)
    assert y[0] - planar.late_pattern_score(1e7, 20, 0.4) == pytest.approx(0.05, abs=2e-3)
    assert population.loss(y) / planar.late_loss(1e7, 20) == pytest.approx(1, abs=2.5 / 20)  # up to O(1/M)


def test_entry_gradients_are_minus_the_velocities_of_the_orbits(appendix_E):
    population, course = appendix_E
    y = course(50.0)
    entry = lemmas.entry_gradients(SymmetricScores(*population.gradient(y)), 20)
    dy = population.velocity(0, y)
    moving = scores.orbits_from_zero(SymmetricScores(dy[0], dy[1], dy[2:].reshape(3, 3)), 20)
    for name in ("A_s", "A_d", "B_s", "B_d", "C", "G"):
        assert np.abs(getattr(entry, name) + getattr(moving, name)).max() < 1e-15


def test_lemma_F5_signs_hold_until_pattern_learning_wins(appendix_E):
    population, course = appendix_E
    for t in (0.0, 20.0, 50.0):
        ours = column_gradients(population, course(t))
        assert ours.same_same.mean() < 0 and ours.other_same.mean() < 0
        assert ours.same_other.mean() > 0 and ours.other_other.mean() > 0
    assert column_gradients(population, course(80.0)).same_other.mean() < 0


@pytest.mark.parametrize("t, ratio", [(0, 6.5), (120, 2.1), (500, 1.5), (1e4, 1.39)])
def test_same_column_gradient_against_lemma_F7(appendix_E, t, ratio):
    population, course = appendix_E
    y = course(t)
    ours = -column_gradients(population, y).same_same.mean() / drive(population, y)
    assert ours == pytest.approx(ratio, abs=0.05 if ratio > 1.4 else 5e-3)


@pytest.mark.parametrize("t, ratio", [(300, 1.07), (500, 0.85), (1e4, 0.64)])
def test_other_pattern_gradient_against_lemma_F7(appendix_E, t, ratio):
    population, course = appendix_E
    y = course(t)
    bound = lemmas.stage_2_bounds(population.same_mass(y).mean(), 20, 0.1)["other_same"].upper
    assert abs(column_gradients(population, y).other_same.mean()) / bound == pytest.approx(ratio, abs=5.1e-3)


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
    lower, upper = lemmas.stage_1_bounds(population.same_mass(y), M, K, alpha)[kind]
    ours = getattr(column_gradients(population, y), kind).mean()
    assert ((lower is None or lower.mean() <= ours) and ours <= upper.mean()) == holds


def test_times_of_the_paper_at_the_appendix_E_sizes():
    assert surrogate.stage_1_time(0.1, 3, 0.4) == pytest.approx(574, abs=0.5)
    assert surrogate.stage_2_time(20, 3, 0.4) == 150
    assert surrogate.training_time(0.1, 20, 3, 0.4) == pytest.approx(574 * 0.4 + 60 * 12.5, rel=1e-3)


def test_stage_1_time_refuses_a_threshold_above_the_initial_attention():
    with pytest.raises(ValueError, match=r"epsilon = 0.8, but attention on other steps starts at 1 - 1/K = 0.666667"):
        planar.stage_1_time(0.8, 3, 0.4)
