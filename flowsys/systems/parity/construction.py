"""Theorem 1: weights that compute the parity of k secret bits without a chain of thought.

    A = 40 log(n) V e_{n+1,0}ᵀ,   W_{r,1:d} = a_r e_{n+1,0},   W_{r,d+1:2d} = 2k U,   m = k+1,   h = ±1,

with U, V dual to the secret tokens: ⟨U, e_{j,b}⟩ = b and ⟨V, e_{j,b}⟩ = 1 on secret j. Attention averages the secret
bits, and 2m ramps turn their number c into the zigzag (-1)^(c+1). The ReLU's argument is a_r + 2k⟨U, ·⟩; the minus sign
of the last display of the proof is a misprint, as its next line shows.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity import model
from flowsys.systems.parity.data import Parity, population
from flowsys.systems.parity.model import Weights


def ramps(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets a_r and output weights h_r of the 2(k+1) neurons."""
    m = k + 1
    r = np.arange(1, 2 * m + 1)
    falling = np.where(r == m + 1, 1, -4 * ((r - m) // 2) + 2)
    return np.where(r <= m, -4 * ((r + 1) // 2) + 4, falling) * 1.0, np.where(r <= m, 1.0, -1.0)


def dual_vectors(problem: Parity, embeddings: jax.Array) -> tuple[jax.Array, jax.Array]:
    """U and V of Lemmas 2 and 3, the least-norm solutions."""
    secret = 2 * (np.array(problem.secrets) - 1)
    rows = embeddings[np.concatenate([secret, secret + 1])]
    duals = rows.T @ jnp.linalg.inv(rows @ rows.T)
    return duals[:, problem.k :].sum(axis=1), duals.sum(axis=1)


def construct(problem: Parity, embeddings: jax.Array) -> tuple[Weights, np.ndarray]:
    """The weights of Theorem 1 and their output weights h."""
    if problem.chain_of_thought:
        raise ValueError("chain_of_thought = True, but Theorem 1 is about the problem without it.")
    if embeddings.shape[1] < 2 * problem.k:
        raise ValueError(f"d = {embeddings.shape[1]}, but at least 2k = {2 * problem.k} dimensions are needed.")
    with jax.enable_x64(True):
        offsets, h = ramps(problem.k)
        U, V = dual_vectors(problem, embeddings)
        end = embeddings[2 * problem.n]
        W = jnp.concatenate([jnp.outer(offsets, end), jnp.outer(np.full(len(h), 2.0 * problem.k), U)], axis=1)
        return Weights(W=W, A=40 * np.log(problem.n) * jnp.outer(V, end)), h


def exhaustive_accuracy(problem: Parity, embeddings: jax.Array) -> float:
    """Share of all 2^n inputs whose parity the construction gets right."""
    with jax.enable_x64(True):
        w, h = construct(problem, embeddings)
        y = model.coordinates(w, embeddings, 2)
        return float((_margins(y, h, population(problem)) > 0).mean())


_margins = jax.jit(model.margins)


def largest_leak(problem: Parity, embeddings: jax.Array) -> float:
    """max |⟨V, e⟩| over non-secret tokens, which Lemma 4 bounds by 1/2."""
    with jax.enable_x64(True):
        secret = 2 * (np.array(problem.secrets) - 1)
        others = np.setdiff1d(np.arange(2 * problem.n), np.concatenate([secret, secret + 1]))
        return float(jnp.abs(embeddings[others] @ dual_vectors(problem, embeddings)[1]).max())
