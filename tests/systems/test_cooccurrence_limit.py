"""The limit oracle against the unlumped system, the spec's numbers, and its own shorter forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp

from flowsys.systems.cooccurrence import closure as cl
from flowsys.systems.cooccurrence import weights as wt
from flowsys.systems.cooccurrence.blocks import Blocks, matrix_of, word_classes
from flowsys.systems.cooccurrence.data import distinct_words
from flowsys.systems.cooccurrence.scales import Scales, condition_1, from_dimensionless
from tests.systems.cooccurrence_oracle import Limit, loss, outputs_and_drives

SCALES = Scales(1.0, 8.0, 4.0, 0.5)


def condition_1_limit(n, m=4096, form="eliminated"):
    return Limit(n, 5, *condition_1(m, 16, 5), form=form)


def rising_loss_of_type_2(limit):
    return lambda t, y: _output_rate(limit, y)


def _output_rate(limit, y, h=1e-6):
    dy = limit.field(0, y)
    return -(limit.outputs(y + h * dy)[1] - limit.outputs(y - h * dy)[1]) / (2 * h)


@pytest.mark.parametrize("n, L", [(12, 5), (6, 4)])
def test_the_unlumped_system_stays_on_the_blocks_of_the_limit(n, L):
    samples = distinct_words(n, L)
    limit = Limit(n, L, *SCALES)
    end = limit.solve([10.0], rtol=1e-11)[-1]
    with jax.enable_x64(True):
        problem = wt.problem(samples, SCALES.score_scale, SCALES.m1)
        flat, unravel = ravel_pytree(cl.symmetric_start(samples.d, SCALES.alpha, SCALES.beta))
        rhs = jax.jit(lambda t, y: ravel_pytree(cl.small_field(t, unravel(y), problem))[0])
        numpy_rhs = lambda t, y: np.asarray(rhs(t, y))
        full = solve_ivp(numpy_rhs, (0, 10), np.asarray(flat), "DOP853", rtol=1e-11, atol=1e-13)
        y = unravel(jnp.asarray(full.y[:, -1]))
    G, c, *matrices = limit.unpack(end)
    np.testing.assert_allclose(y.G, G[word_classes(samples)], atol=1e-9)
    assert abs(float(y.c) - c) < 1e-8 and np.max(np.abs(G)) > 1
    for full_matrix, blocks in zip(y[2:], matrices):
        np.testing.assert_allclose(full_matrix, matrix_of(Blocks(*blocks), samples), atol=1e-9)


def test_the_three_forms_of_the_limit_agree():
    forms = [Limit(60, 5, *SCALES, form=form) for form in ("full", "eliminated", "scores_only")]
    states = [limit.unpack(limit.solve([30.0], rtol=1e-11)[-1]) for limit in forms]
    for other in states[1:]:
        for x, z in zip(jax.tree.leaves(states[0]), jax.tree.leaves(other)):
            np.testing.assert_allclose(x, z, atol=1e-9)


def test_targets_start_at_one_sixth_and_irrelevant_words_at_three_over_n_of_that():
    limit = Limit(60, 5, *SCALES)
    G_dot = limit.field(0, limit.initial())[:7]
    assert G_dot[0] == pytest.approx((8 + 4) / 6, rel=1e-14) and abs(G_dot[2]) < 1e-14
    np.testing.assert_allclose(G_dot[3:] / G_dot[0], np.array([1, -1, -1, -1]) * 3 / 60, rtol=1e-12)


def test_only_the_three_dimensionless_numbers_matter():
    one, two = Limit(60, 5, *SCALES), Limit(60, 5, *from_dimensionless(0.5, 0.125, 1 / 32, m1=7.0))
    end_one, end_two = (limit.solve([40.0 / limit.beta], rtol=1e-11)[-1] for limit in (one, two))
    np.testing.assert_allclose(end_one[:7], end_two[:7], atol=1e-10)


@pytest.mark.parametrize("n, expected, peak", [(60, 2.434, 0.7627), (600, 3.418, 0.7977)])
def test_the_loss_of_type_2_peaks_where_the_spec_says(n, expected, peak):
    limit = condition_1_limit(n)
    t, y = limit.crossing(rising_loss_of_type_2(limit), 20 / limit.beta, first=1e-7)
    assert t * (limit.beta + limit.m1 * limit.alpha) == pytest.approx(expected, abs=6e-4)
    assert np.logaddexp(0, limit.outputs(y)[1]) == pytest.approx(peak, abs=6e-5)


@pytest.mark.parametrize("n, expected", [(60, 6.902), (600, 11.974)])
def test_all_samples_are_correct_from_the_time_of_the_spec(n, expected):
    limit = condition_1_limit(n)
    margin = lambda t, y: np.min(np.array([1, -1, -1, -1]) * limit.outputs(y))
    t, _ = limit.crossing(margin, 20 / limit.beta, first=4 / limit.beta)
    assert t * (limit.beta + limit.m1 * limit.alpha) == pytest.approx(expected, abs=6e-3)


@pytest.mark.parametrize("n, expected", [(60, 3.846), (600, 3.590)])
def test_the_common_word_overtakes_the_targets_at_the_time_of_the_spec(n, expected):
    limit = condition_1_limit(n)

    def overtaking(t, y):
        G_dot = limit.field(t, y)[:3]
        return -G_dot[2] - max(G_dot[0], G_dot[1])

    t, _ = limit.crossing(overtaking, 20 / limit.beta, first=1e-7)
    assert t * (limit.beta + limit.m1 * limit.alpha) == pytest.approx(expected, abs=6e-4)


def test_scores_have_the_signs_of_theorem_3_2_in_phase_2():
    limit = condition_1_limit(60, m=512)
    y = limit.solve([100 / limit.beta])[-1]
    G, _, _, S, _, _ = limit.unpack(y)
    dS = limit.field(0, y)[7:56].reshape(7, 7)
    assert dS[1, 0] > 0 and dS[0, 1] > 0 and dS[2, 0] < 0 and dS[2, 1] < 0 and S[0][1, 0] > 0
    F, *_ = outputs_and_drives(G, S, 60, 5, limit.s)
    assert loss(F) < 0.1


def test_time_is_spent_on_steps_not_on_samples():
    small, large = condition_1_limit(60), condition_1_limit(6_000_000)
    assert small.initial().shape == large.initial().shape
    assert np.all(np.isfinite(large.solve([1e3 / large.beta], rtol=1e-8)))


def test_condition_1_gives_the_dimensionless_numbers_of_the_spec():
    scales = condition_1(512, 16, 5)
    np.testing.assert_allclose((scales.rho, scales.delta, scales.lambda_), (16 / (5 * 512), 5 / 512, 1 / (5 * 512**2)))
