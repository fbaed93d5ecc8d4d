"""One loss, three readings: columns of Eq. (2), frame entries, symmetric variables; and the fields that follow."""

from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import sympy
from prompt_oracle import Population

from flowsys.model import ops
from flowsys.systems.prompt import model, observations, prompts, scores, symmetric, tasks, transformer
from flowsys.systems.prompt.orbits import SymmetricScores, orbits_from_zero


def loss_from_columns(W, patterns, sample):
    """Eq. (2) and Eq. (3) written out: every column of every prompt as a vector."""
    n, K, M = sample.counts.shape
    d_X = patterns.shape[1]
    total = 0.0
    for i in range(n):
        columns = []
        for k in range(K):
            for x in range(M):
                u, v = sample.chains[i, k, x], sample.chains[i, k + 1, x]
                column = np.concatenate([patterns[u], patterns[v], np.eye(K)[k]])
                columns += [column] * int(sample.counts[i, k, x])
        query = np.concatenate([patterns[sample.query[i]], np.zeros(d_X), np.eye(K)[sample.step[i]]])
        columns = np.array(columns)
        weights = np.exp(columns @ W @ query)
        F = weights @ columns[:, d_X : 2 * d_X] / weights.sum()
        total += 0.5 * np.sum((patterns[sample.target[i]] - F) ** 2)
    return total / n


def setting(M, K, d_X, xi, seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return in_numpy((transformer.weights(keys[0], d_X, K, xi), transformer.orthonormal_patterns(keys[1], M, d_X)))


def in_numpy(tree):
    return jax.tree.map(np.asarray, tree)


@partial(jax.jit, static_argnums=(1, 2, 3))
def batch_of_cycles(key, n, M, K):
    return prompts.batch(key, tasks.random_cycle_tasks(key, n, M, K), 0.4, 5)


@jax.jit
def symmetric_scores_and_field(point, sample):
    """S at the symmetric point, its velocity, that velocity's symmetric part and what the latter rebuilds."""
    M, K = sample.counts.shape[2], sample.counts.shape[1]
    S = scores.scores_from_orbits(orbits_from_zero(point, M), M)
    dS = scores.field(0.0, S, sample)
    rebuilt = scores.scores_from_orbits(scores.orbits(dS, K), M)
    return dS, scores.symmetric_part(dS, K), rebuilt


def symmetric_point(K, seed=0):
    y = np.random.default_rng(seed).normal(size=2 + K * K)
    return y, SymmetricScores(y[0], y[1], y[2:].reshape(K, K))


def flat(symmetric):
    return np.concatenate([[symmetric.a, symmetric.b], np.ravel(symmetric.H)])


def attention(scores, counts):
    """Softmax without the engine's opaque primitives."""
    weights = counts * np.frompyfunc(sympy.exp, 1, 1)(scores)
    return weights / np.asarray(weights.sum(axis=-1), dtype=object)[..., None]


arrays = SimpleNamespace(
    array=np.asarray,
    softmax=lambda scores, counts: counts * np.exp(scores) / (counts * np.exp(scores)).sum(axis=-1)[..., None],
    name=lambda label, x: x,
)
symbolic = SimpleNamespace(array=lambda x: np.array(x, dtype=object), softmax=attention, name=lambda label, x: x)


@pytest.fixture(scope="module")
def symbolic_loss():
    """The K = 3 loss for every M and alpha, as a function of (M, alpha, a, b, H)."""
    M, alpha, a, b = sympy.symbols("M alpha a b")
    H = np.array(sympy.symbols("H:9"), dtype=object).reshape(3, 3)
    loss = model.symmetric_loss(symbolic, a, b, H, symmetric.unwrapped_kinds(symbolic, M, 3, alpha))
    return sympy.lambdify([M, alpha, a, b, *H.ravel()], loss, cse=True)


def test_loss_in_frame_entries_is_the_loss_of_the_columns_of_equation_2():
    W, patterns = setting(M=4, K=2, d_X=6, xi=0.7)
    with jax.enable_x64(True):
        sample = in_numpy(batch_of_cycles(jax.random.key(3), 16, 4, 2))
        ours = float(jax.jit(transformer.loss)(W, patterns, sample))
    assert ours == pytest.approx(loss_from_columns(W, patterns, sample), rel=1e-13)


@jax.jit
def both_flows(W, patterns, sample):
    """Score flow, weight flow seen in scores; weight flow, score flow seen in weights."""
    dW = transformer.field(0.0, W, (patterns, sample))
    dS = scores.field(0.0, transformer.scores_of(W, patterns), sample)
    return dS, transformer.scores_of(dW, patterns), dW, transformer.weights_with(dS, patterns)


def test_weight_flow_seen_in_frame_entries_is_the_score_flow():
    W, patterns = setting(M=4, K=3, d_X=7, xi=0.5)
    with jax.enable_x64(True):
        sample = prompts.population(tasks.all_cycle_tasks(4, 3), 0.3)
        dS, pushed, dW, rebuilt = in_numpy(both_flows(W, patterns, sample))
    assert np.abs(pushed - dS).max() < 1e-14 < np.abs(dS).max()
    assert np.abs(rebuilt - dW).max() < 1e-14, "entries outside of the frames move"


def test_score_flow_conserves_the_sums_over_inputs_outputs_and_steps():
    with jax.enable_x64(True):
        S = np.random.default_rng(0).normal(size=(11, 7))
        dS = jax.jit(scores.field)(0.0, S, prompts.population(tasks.all_cycle_tasks(4, 3), 0.4))
    sums = observations.token_sums(np.asarray(dS)[None], 4)[0]
    assert sums.shape == (3 * 7,)
    assert np.abs(sums).max() < 1e-15 < np.abs(dS).max()


@pytest.mark.parametrize("M, K", [(4, 2), (5, 3)])
def test_score_flow_stays_symmetric_and_is_the_symmetric_field(M, K):
    y, point = symmetric_point(K)
    with jax.enable_x64(True):
        sample = prompts.population(tasks.all_cycle_tasks(M, K), 0.4)
        dS, moved, rebuilt = in_numpy(symmetric_scores_and_field(point, sample))
    assert np.abs(rebuilt - dS).max() < 1e-15 < np.abs(dS).max()
    assert np.abs(flat(moved) - Population(M, K, 0.4).velocity(0, y)).max() < 1e-15


def loss_and_field(point, kinds, M):
    loss, gradient = jax.value_and_grad(lambda y: model.symmetric_loss(ops, *y, kinds))(point)
    return loss, symmetric.velocity(gradient, M)


@pytest.mark.parametrize("M, K", [(4, 3), (20, 3)])
def test_symmetric_field_from_autodiff_is_the_oracle(M, K):
    y, point = symmetric_point(K, seed=M)
    oracle = Population(M, K, 0.35)
    with jax.enable_x64(True):
        loss, field = in_numpy(jax.jit(loss_and_field)(point, symmetric.kinds(ops, M, K, 0.35), M))
    assert float(loss) == pytest.approx(oracle.loss(y), rel=1e-14)
    assert np.abs(flat(field) - oracle.velocity(0, y)).max() < 1e-15


@pytest.mark.parametrize(
    "M, K", [(2, 1), (3, 2), (3, 5), (4, 3), (5, 3), (6, 3), (7, 3), (57, 3), (9, 4), (16, 5), (40, 8)]
)
def test_grouped_columns_have_the_loss_of_all_columns_at_every_size(M, K):
    y, point = symmetric_point(K, seed=M)
    loss = model.symmetric_loss(arrays, *point, symmetric.kinds(arrays, M, K, 0.35))
    assert loss == pytest.approx(Population(M, K, 0.35).loss(y), rel=1e-13)


def masses_twice(point, kinds, sample):
    S = scores.scores_from_orbits(orbits_from_zero(point, 5), 5)
    return model.symmetric_masses(ops, *point, kinds), model.score_masses(ops, S, sample)


def test_masses_agree_between_frame_entries_symmetric_variables_and_oracle():
    y, point = symmetric_point(3, seed=5)
    with jax.enable_x64(True):
        sample = prompts.population(tasks.all_cycle_tasks(5, 3), 0.4)
        ours, by_prompt = in_numpy(jax.jit(masses_twice)(point, symmetric.kinds(ops, 5, 3, 0.4), sample))
    assert np.abs(ours - Population(5, 3, 0.4).masses(y)).max() < 1e-15
    assert np.abs(by_prompt - ours[sample.step]).max() < 1e-15


@pytest.mark.parametrize("M", [7, 8, 12, 20, 57])
def test_loss_with_a_symbol_for_M_is_exact_above_K_times_K_plus_1_over_2(M, symbolic_loss):
    y, _ = symmetric_point(3, seed=M)
    assert symbolic_loss(M, 0.4, *y) == pytest.approx(Population(M, 3, 0.4).loss(y), rel=1e-14)


def test_loss_with_a_symbol_for_M_is_wrong_where_labels_wrap(symbolic_loss):
    y = 0.5 * np.ones(11)
    for M, error in ((5, 1e-3), (6, 1e-4)):
        assert abs(symbolic_loss(M, 0.4, *y) - Population(M, 3, 0.4).loss(y)) > error


def test_the_same_definition_in_symbols_has_the_gradient_of_autodiff():
    a, b, *H = sympy.symbols("a b H:4")
    kinds = symmetric.kinds(symbolic, 4, 2, sympy.Rational(2, 5))
    loss = model.symmetric_loss(symbolic, a, b, np.array(H, dtype=object).reshape(2, 2), kinds)
    y, _ = symmetric_point(2)
    gradient = sympy.lambdify([a, b, *H], [sympy.diff(loss, v) for v in (a, b, *H)], cse=True)(*y)
    da, db, dH = Population(4, 2, 0.4).gradient(y)
    assert np.abs(np.array(gradient, dtype=float) - np.concatenate([[da, db], dH.ravel()])).max() < 1e-15


def test_frame_entry_loss_reads_symbols_as_it_reads_arrays():
    S = np.array(sympy.symbols("S:40"), dtype=object).reshape(8, 5)
    sample = prompts.population(tasks.all_cycle_tasks(3, 2), 0.4)
    values = np.random.default_rng(0).normal(size=(8, 5))
    in_symbols = sympy.lambdify(list(S.ravel()), model.score_loss(symbolic, S, sample), cse=True)(*values.ravel())
    with jax.enable_x64(True):
        in_arrays = float(jax.jit(lambda S: model.score_loss(ops, S, sample))(values))
    assert in_symbols == pytest.approx(in_arrays, rel=1e-14)


def test_M_and_alpha_may_be_traced_numbers():
    y, point = symmetric_point(3)
    loss = jax.jit(lambda M, alpha: model.symmetric_loss(ops, *point, symmetric.unwrapped_kinds(ops, M, 3, alpha)))
    with jax.enable_x64(True):
        values = [float(loss(float(M), alpha)) for M, alpha in ((20, 0.4), (9, 0.7))]
    expected = [Population(20, 3, 0.4).loss(y), Population(9, 3, 0.7).loss(y)]
    assert values == pytest.approx(expected, rel=1e-14)


def test_unwrapped_columns_refuse_an_M_at_which_labels_wrap():
    assert symmetric.least_unwrapped_M(3) == 7
    with pytest.raises(ValueError, match="M = 6, but with K = 3 the unwrapped columns need M of at least 7"):
        symmetric.unwrapped_kinds(ops, 6, 3, 0.4)
