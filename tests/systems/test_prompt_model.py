"""One loss, three readings: columns of Eq. (2), frame entries, symmetric variables; and the fields that follow."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
import sympy
from prompt_oracle import Population

import flowsys as fs
from flowsys import load
from flowsys.model import ops
from flowsys.model.concrete import View
from flowsys.systems.prompt import model, symmetric, tasks
from flowsys.systems.prompt.observables import orbit_means
from flowsys.systems.prompt.symmetric import SymmetricScores, orbits_from_zero

SYSTEM = load("prompt")


def entries_of(orbits, M):
    """S (2M + K, M + K) with the given orbit values, input and output × step entries 0."""
    K, eye, ones = len(orbits.C), np.eye(M), np.ones((M, M))
    nothing = np.zeros((M, K))
    A, B = ((d * ones + (s - d) * eye) for s, d in ((orbits.A_s, orbits.A_d), (orbits.B_s, orbits.B_d)))
    return np.block([[A, nothing], [B, nothing], [np.outer(orbits.C, np.ones(M)), orbits.G]])


def symmetric_point(K, seed=0):
    y = np.random.default_rng(seed).normal(size=2 + K * K)
    return y, SymmetricScores.of(y)


def loss_from_columns(S, sample):
    """Eq. (2) and Eq. (3) written out in an orthonormal frame of patterns: every column of every prompt as a vector."""
    n, K, M = sample.origins.shape
    W = np.zeros((2 * M + K, 2 * M + K))
    W[:, :M], W[:, 2 * M :] = S[:, :M], S[:, M:]
    total, eye = 0.0, np.eye(M)
    for i in range(n):
        columns = []
        for k in range(K):
            for x in range(M):
                u, v = sample.chains[i, k, x], sample.chains[i, k + 1, x]
                columns += [np.concatenate([eye[u], eye[v], np.eye(K)[k]])] * int(sample.listed[i, k, x])
        query = np.concatenate([eye[sample.query[i]], np.zeros(M), np.eye(K)[sample.step[i]]])
        weights = np.exp(np.array(columns) @ W @ query)
        F = weights @ np.array(columns)[:, M : 2 * M] / weights.sum()
        total += 0.5 * np.sum((eye[sample.target[i]] - F) ** 2)
    return total / n


def losses(S, sample, alpha=0.4):
    p = SimpleNamespace(alpha=alpha, mode="population", K=sample.origins.shape[1], M=sample.origins.shape[2])
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda S: model.prompt_loss(ops, View({"W": S}), sample, p))(S))


def test_loss_in_frame_entries_is_the_loss_of_the_columns_of_equation_2():
    S = 0.7 * np.random.default_rng(0).standard_normal((10, 6))
    p = SimpleNamespace(batch_size=16, K=2, M=4, l_tr=5, family="cycles", alpha=0.4)
    with jax.enable_x64(True):
        drawn = {
            k: np.asarray(v) for k, v in jax.jit(lambda key: tasks.batches(key, p).arrays)(jax.random.key(3)).items()
        }
    sample = fs.Samples(**drawn)
    assert losses(S, sample).mean() == pytest.approx(loss_from_columns(S, sample), rel=1e-13)


@pytest.mark.parametrize("M, K, alpha", [(5, 2, 0.4), (4, 3, 0.3), (3, 2, 0.6)])
def test_every_prompt_of_a_step_has_the_symmetric_loss(M, K, alpha):
    y, point = symmetric_point(K, seed=M)
    sample = tasks.population(tasks.all_cycle_tasks(M, K))
    by_prompt = losses(entries_of(orbits_from_zero(point, M), M), sample, alpha)
    with jax.enable_x64(True):
        kinds = symmetric.kinds(ops, M, K, alpha, M)
        seen = [(model.attention(ops, point, columns), columns) for columns in kinds]
        by_step = np.array([float(model.loss(*of)) for of in seen])
        masses = np.array([model.masses(ops, *of) for of in seen])
    assert np.abs(by_prompt - by_step[sample.step]).max() < 1e-14
    oracle = Population(M, K, alpha)
    assert by_step.mean() == pytest.approx(oracle.loss(y), rel=1e-14)
    assert np.abs(masses - oracle.masses(y)).max() < 1e-15


def test_frame_entries_of_all_cycles_flow_as_the_symmetric_variables():
    y, point = symmetric_point(3, seed=1)
    field = fs.field(SYSTEM, SYSTEM.setup(M=4, K=3, alpha=0.3, d_X=4), level="L2")
    dS = np.asarray(field(entries_of(orbits_from_zero(point, 4), 4).ravel())).reshape(11, 7)
    moving = orbit_means(dS, 4).scores
    ours = np.concatenate([[moving.a, moving.b], moving.H.ravel()])
    assert np.abs(ours - Population(4, 3, 0.3).velocity(0, y)).max() < 1e-15
    assert np.abs(entries_of(orbit_means(dS, 4), 4) - dS).max() < 1e-15, "relabelled entries part"
    for part in (dS[:4], dS[4:8], dS[8:]):  # conserved: sums over inputs, over outputs and over steps
        assert np.abs(part.sum(axis=0)).max() < 1e-15


def attention(scores, counts):
    """Softmax without the engine's opaque primitives."""
    weights = counts * np.frompyfunc(sympy.exp, 1, 1)(scores)
    return weights / np.asarray(weights.sum(axis=-1), dtype=object)[..., None]


symbolic = SimpleNamespace(array=lambda x: np.array(x, dtype=object), softmax=attention, name=lambda label, x: x)


@pytest.fixture(scope="module")
def symbolic_loss():
    """The K = 3 loss for every M and alpha, as a function of (M, alpha, a, b, H)."""
    M, alpha, a, b = sympy.symbols("M alpha a b")
    y = SymmetricScores(a, b, np.array(sympy.symbols("H:9"), dtype=object).reshape(3, 3))
    kinds = symmetric.kinds(symbolic, M, 3, alpha)
    parts = [model.loss(model.attention(symbolic, y, columns), columns) for columns in kinds]
    return sympy.lambdify([M, alpha, a, b, *y.H.ravel()], sum(parts) / 3, cse=True)


@pytest.mark.parametrize("M", [7, 8, 12, 20, 57])
def test_loss_with_a_symbol_for_M_is_exact_above_K_times_K_plus_1_over_2(M, symbolic_loss):
    assert symmetric.least_unwrapped_M(3) == 7
    y, _ = symmetric_point(3, seed=M)
    assert symbolic_loss(M, 0.4, *y) == pytest.approx(Population(M, 3, 0.4).loss(y), rel=1e-14)


def test_loss_with_a_symbol_for_M_is_wrong_where_labels_wrap(symbolic_loss):
    y = 0.5 * np.ones(11)
    for M, error in ((5, 1e-3), (6, 1e-4)):
        assert abs(symbolic_loss(M, 0.4, *y) - Population(M, 3, 0.4).loss(y)) > error
