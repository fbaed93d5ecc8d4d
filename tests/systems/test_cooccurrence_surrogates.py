"""Bag of words, max-margin constants and the paper's own formulas of the co-occurrence system."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flowsys.systems.cooccurrence.claims.phase_2 import quadratic_gradient_ratio
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.phases import initial_output_rates


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


SHARES, LABELS = np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6]), np.array([1, -1, -1, -1])


def bag_of_words_outputs(G, L):
    """F of the four types under uniform attention: the sum of G over the words of a sentence."""
    x, y, z, *random = G
    special = (x + y + z, x + z, y + z, z)
    return jnp.stack([F + (L - n) * r for F, n, r in zip(special, (3, 2, 2, 1), random)])


def bag_of_words_loss(G, L):
    return (SHARES * jax.nn.softplus(-LABELS * bag_of_words_outputs(G, L))).sum()


def bag_of_words(t, G, sizes):
    """dG/dclock of the 7 word classes (μ1, μ2, μ3, r_1 … r_4) under uniform attention: r, by autodiff."""
    n, L = sizes
    return -jax.grad(bag_of_words_loss)(G, L) / jnp.concatenate(
        [jnp.ones(3), n * SHARES * (L - np.array([3, 2, 2, 1]))]
    )


def many_samples(t, y):
    """The same at n = ∞ with the proportions 3 : 1 : 1 : 1, on y = (x, z) = (G_1, G_3), as the specification has it."""
    x, z = y
    g_1, g_2, g_4 = jax.nn.sigmoid(-(2 * x + z)) / 2, jax.nn.sigmoid(x + z) / 6, jax.nn.sigmoid(z) / 6
    return jnp.stack([g_1 - g_2, g_1 - 2 * g_2 - g_4])


def flow(field, y0, t_end, event=None, rtol=1e-11):
    rhs = jax.jit(field)
    if event is not None:
        event.terminal, event.direction = True, 1
    return solve_ivp(lambda t, y: np.asarray(rhs(t, y)), (0, t_end), y0, "DOP853", rtol=rtol, atol=1e-14, events=event)


def test_at_infinitely_many_samples_the_seven_classes_are_two_variables():
    sizes = (np.inf, 5)
    seven = flow(lambda t, y: bag_of_words(t, y, sizes), np.zeros(7), 50.0).y[:, -1]
    two = flow(many_samples, np.zeros(2), 50.0).y[:, -1]
    np.testing.assert_allclose(seven[[0, 2]], two, rtol=1e-9)
    assert not np.any(seven[3:])


def test_the_common_word_overtakes_the_targets_when_the_loss_of_type_2_is_largest():
    rates = jax.jit(many_samples)
    overtaking = lambda t, y: -float(np.asarray(rates(t, y)).sum())
    solution = flow(many_samples, np.zeros(2), 20.0, overtaking)
    assert solution.t_events[0][0] == pytest.approx(3.56472, abs=1e-5)
    assert np.logaddexp(0, solution.y_events[0][0].sum()) == pytest.approx(0.80257, abs=1e-5)


def test_all_samples_are_correct_at_the_time_of_the_spec():
    solution = flow(many_samples, np.zeros(2), 20.0, lambda t, y: -(y[0] + y[1]) if t > 1 else -1.0)
    assert solution.t_events[0][0] == pytest.approx(12.97941, abs=1e-5)
    np.testing.assert_allclose(solution.y_events[0][0], [0.99618, -0.99618], atol=1e-5)


def test_initial_rates_are_one_sixth_and_zero():
    np.testing.assert_allclose(many_samples(0.0, np.zeros(2)), [1 / 6, 0], atol=1e-16)


@pytest.mark.parametrize("n, L", [(12, 5), (10, 5), (8, 5), (60, 22), (60, 21.9)])
def test_the_loss_of_type_2_rises_at_first_exactly_when_n_exceeds_three_times_l_minus_2(n, L):
    sizes = (n, L)
    G_dot = bag_of_words(0.0, np.zeros(7), sizes)
    rate = float(G_dot[0] + G_dot[2] + (L - 2) * G_dot[4])
    assert rate == pytest.approx(1 / 6 - (L - 2) / (2 * n), abs=1e-15)
    assert rate == pytest.approx(initial_output_rates(n, L, (1 / 2, 1 / 6, 1 / 6, 1 / 6))[1], abs=1e-15)
    assert (rate > 1e-15) == (n > 3 * (L - 2))


@pytest.mark.parametrize(
    "n, L, R, inverse", [(60, 5, 1.2687, 8.223), (600, 5, 1.4745, 15.352), (600, 10, 1.4425, 13.055)]
)
def test_max_margin_constants_are_those_of_the_spec(n, L, R, inverse):
    separator = max_margin(n, L)
    assert separator.gradient_ratio == pytest.approx(R, abs=5e-5)
    assert separator.inverse_squared_margin == pytest.approx(inverse, abs=5e-4)


def test_max_margin_solves_the_two_by_two_system_of_the_spec():
    n, L = 60, 5
    A = np.linalg.solve([[3 + (L - 3) / (n / 2), -4], [-2, 3 + (L - 2) / (n / 6)]], [1, 1])
    np.testing.assert_allclose(max_margin(n, L).dual_weights, [A[0], A[1], A[1], 0], atol=1e-12)


def test_at_infinitely_many_samples_the_constants_are_rational():
    separator = max_margin(np.inf, 5)
    np.testing.assert_allclose(separator.dual_weights, [7, 5, 5, 0], atol=1e-12)
    np.testing.assert_allclose((separator.gradient_ratio, separator.inverse_squared_margin), (1.5, 17))
    np.testing.assert_allclose(separator.balance, (17 / 3, 17 / 2))


@pytest.mark.parametrize("n, exponent", [(60, 0.283), (600, 0.865), (6000, 0.985)])
def test_the_test_loss_decays_with_the_exponent_of_the_spec(n, exponent):
    assert max_margin(n, 5).test_exponent == pytest.approx(exponent, abs=6e-4)


@pytest.mark.parametrize("n, L", [(12, 30), (24, 12), (60, 5), (600, 40)])
def test_every_kind_of_sentence_has_margin_at_least_one_and_supports_have_one(n, L):
    separator = max_margin(n, L)
    margins = LABELS * np.asarray(bag_of_words_outputs(separator.direction, L))
    assert np.all(margins >= 1 - 1e-9)
    np.testing.assert_allclose(margins[separator.dual_weights > 1e-12], 1, atol=1e-9)


@pytest.mark.parametrize("n, L", [(60, 5), (600, 10)])
def test_the_flow_goes_to_the_max_margin_constants(n, L):
    sizes = (n, L)
    G = flow(lambda t, y: bag_of_words(t, y, sizes), np.zeros(7), 1e6, rtol=1e-9).y[:, -1]
    G_dot = bag_of_words(0.0, G, sizes)
    separator = max_margin(n, L)
    assert float(-G_dot[2] / G_dot[0]) == pytest.approx(separator.gradient_ratio, rel=2e-3)
    assert float(bag_of_words_loss(G, L)) * 1e6 == pytest.approx(separator.inverse_squared_margin, rel=2e-3)


def test_the_quadratic_of_the_paper_has_the_max_margin_ratio_as_its_root():
    assert quadratic_gradient_ratio((7, 5, 5, 0)) == pytest.approx(1.5, rel=1e-15)
