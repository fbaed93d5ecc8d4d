"""The reduced systems of the co-occurrence transformer against autodiff on its weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flowsys.systems.cooccurrence import closure as cl
from flowsys.systems.cooccurrence import weights as wt
from flowsys.systems.cooccurrence.data import distinct_words, repeated_words
from flowsys.systems.cooccurrence.descent import descend, gram_step

DATA = {"distinct": distinct_words(6, 4), "repeated": repeated_words(1, 6, 4, 13)}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def finite_width(samples, seed=0, m=7, m1=5, alpha=1.0, beta=2.0):
    weights, a = wt.gaussian_weights(jax.random.key(seed), m, m1, samples.d, alpha, beta)
    a = a * (1 + 0.1 * jnp.arange(m1))  # a general fixed a, so that |a|² is told from m1
    return weights, a, wt.problem(samples, 0.6, float(a @ a))


def integrate(field, y0, args, t_end, rtol=1e-10):
    leaves, structure = jax.tree.flatten(jax.tree.map(np.asarray, y0))
    ends = np.cumsum([leaf.size for leaf in leaves])

    def unravel(y):
        parts = (part.reshape(leaf.shape) for part, leaf in zip(np.split(y, ends[:-1]), leaves))
        return jax.tree.unflatten(structure, parts)

    def rhs(t, y):
        return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(jax.jit(field)(t, unravel(y), args))])

    start = np.concatenate([leaf.ravel() for leaf in leaves])
    return unravel(solve_ivp(rhs, (0, t_end), start, "DOP853", rtol=rtol, atol=1e-12).y[:, -1])


def weight_field(t, weights, args):
    problem, a = args
    return jax.tree.map(jnp.negative, jax.grad(wt.weight_loss)(weights, a, problem))


def assert_close(got, expected, tolerance):
    for x, z in zip(jax.tree.leaves(got), jax.tree.leaves(expected)):
        np.testing.assert_allclose(x, z, rtol=0, atol=tolerance)


@pytest.mark.parametrize("data", DATA)
def test_both_closures_are_the_pushed_forward_gradient(data):
    weights, a, problem = finite_width(DATA[data])
    velocity = jax.jit(weight_field)(0.0, weights, (problem, a))
    small, d_small = jax.jvp(lambda w: cl.small_coordinates(w, a), (weights,), (velocity,))
    six, d_six = jax.jvp(cl.six_families, (weights,), (velocity,))
    assert_close(jax.jit(cl.small_field)(0.0, small, problem), d_small, 1e-12)
    assert_close(jax.jit(cl.six_families_field)(0.0, six, cl.SixFamiliesArgs(problem, a)), d_six, 1e-12)


def test_both_closures_follow_the_flow_of_the_weights_on_repeated_words():
    weights, a, problem = finite_width(DATA["repeated"], seed=1)
    end = integrate(weight_field, weights, (problem, a), 20.0)
    small = integrate(cl.small_field, cl.small_coordinates(weights, a), problem, 20.0)
    six = integrate(cl.six_families_field, cl.six_families(weights), cl.SixFamiliesArgs(problem, a), 20.0)
    assert float(wt.weight_loss(end, a, problem)) < 0.2 * float(wt.weight_loss(weights, a, problem))
    assert_close(small, cl.small_coordinates(end, a), 1e-8)
    assert_close(cl.small_from_six(six, a), cl.small_coordinates(end, a), 1e-8)


def test_a_closure_with_the_number_of_neurons_in_place_of_the_output_norm_is_noticed():
    weights, a, problem = finite_width(DATA["distinct"])
    small = cl.small_coordinates(weights, a)
    field = jax.jit(cl.small_field)
    wrong = field(0.0, small, problem._replace(output_norm=jnp.asarray(5.0)))
    assert np.max(np.abs(wrong.G - field(0.0, small, problem).G)) > 1e-3


def test_the_repeated_words_do_repeat():
    words = DATA["repeated"].words[DATA["repeated"].words >= 3]
    assert len(np.unique(words)) < len(words) and DATA["repeated"].d == DATA["distinct"].d


def test_drives_are_the_formulas_of_the_spec():
    weights, a, problem = finite_width(DATA["repeated"])
    samples, y = DATA["repeated"], cl.small_coordinates(weights, a)
    G, S, s = np.asarray(y.G), np.asarray(y.S), float(problem.score_scale)
    r, M = np.zeros(samples.d), np.zeros((samples.d, samples.d))
    for X, label in zip(samples.words, samples.labels):
        P = np.exp(s * S[np.ix_(X, X)])
        P /= P.sum(axis=0)
        mean = G[X] @ P
        g = label / (1 + np.exp(label * mean.sum())) / samples.n
        for l, query in enumerate(X):
            for h, key in enumerate(X):
                r[key] += g * P[h, l]
                M[key, query] += s * g * P[h, l] * (G[key] - mean[l])
    assert_close(jax.jit(cl.drives)(y.G, y.S, problem), (r, M), 1e-14)


def test_the_small_closure_is_a_gram_flow():
    weights, a, problem = finite_width(DATA["distinct"])
    y = cl.small_coordinates(weights, a)
    r, M = jax.jit(cl.drives)(y.G, y.S, problem)
    dy, d, A2 = jax.jit(cl.small_field)(0.0, y, problem), len(r), problem.output_norm
    N = jnp.sqrt(A2) * jnp.zeros((d + 1, d + 1)).at[:d, d].set(r).at[d, :d].set(r)
    B = jnp.block([[0 * M, M], [M.T, 0 * M]])
    for gram, generator in [(lambda y: cl.value_gram(y, A2), N), (cl.attention_gram, B)]:
        Γ = gram(y)
        assert_close(gram(dy), Γ @ generator + generator @ Γ, 1e-12)


def test_invariants_are_conserved_and_are_not_trivial():
    weights, a, problem = finite_width(DATA["distinct"], seed=2)
    y0 = cl.small_coordinates(weights, a)
    y = integrate(cl.small_field, y0, problem, 10.0, rtol=1e-11)
    before, after = (cl.invariants(state, problem.output_norm) for state in (y0, y))
    assert abs(float(y.c - y0.c)) > 0.1
    for name in before:
        np.testing.assert_allclose(after[name], before[name], rtol=1e-9, err_msg=name)


def test_words_that_do_not_occur_feel_nothing_and_do_nothing():
    samples = DATA["distinct"]
    weights, a, problem = finite_width(samples)
    r, M = jax.jit(cl.drives)(*_padded(cl.small_coordinates(weights, a), 2), problem)
    assert not np.any(r[samples.d :]) and not np.any(M[samples.d :]) and not np.any(M[:, samples.d :])


def _padded(y, extra):
    return jnp.pad(y.G, (0, extra), constant_values=0.5), jnp.pad(y.S, (0, extra), constant_values=0.5)


def test_gram_descent_is_descent_on_the_weights_at_the_size_of_appendix_a():
    samples = repeated_words(0, 60, 5, 64)
    weights, a = wt.kaiming_weights(jax.random.key(7), 128, 256, 64, "A")
    problem = wt.problem(samples, 128**-0.5, float(a @ a))
    start = cl.small_coordinates(weights, a)

    @jax.jit
    def train(weights):
        step = lambda w: jax.tree.map(lambda x, g: x - 0.01 * g, w, jax.grad(wt.weight_loss)(w, a, problem))
        return jax.lax.fori_loop(0, 200, lambda _, w: step(w), weights)

    reduced, record = descend(start, problem, samples.types, 0.01, 200)
    trained = cl.small_coordinates(train(weights), a)
    for x, z in zip(reduced, trained):
        assert np.max(np.abs(x - z)) <= 1e-11 * max(1.0, np.max(np.abs(z)))
    assert record.loss[-1] < 0.1 * record.loss[0]


def test_one_gram_step_is_a_congruence():
    weights, a, problem = finite_width(DATA["distinct"])
    y = cl.small_coordinates(weights, a)
    r, M = jax.jit(cl.drives)(y.G, y.S, problem)
    step = jnp.eye(2 * len(r)) + 0.3 * jnp.block([[0 * M, M], [M.T, 0 * M]])
    new = gram_step(y, r, M, 0.3, problem.output_norm)
    assert_close(cl.attention_gram(new), step @ cl.attention_gram(y) @ step, 1e-12)
