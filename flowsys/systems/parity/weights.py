"""The finite-width model: initial weights of Assumption 1 and the loss as a function of the weights.

A = 0,   W_{r,d+1:2d} = 0,   W_{r,1:d} = Σ_{i,b} ν_{r,i,b} e_{i,b},   ν = ±ε,   h = ±1/(2m) frozen.
"""

import jax
import jax.numpy as jnp

from flowsys.systems.parity import model
from flowsys.systems.parity.data import Parity, Table, check_positive, check_size
from flowsys.systems.parity.model import Coordinates, Weights


def output_weights(m: int) -> jax.Array:
    """h: the first m neurons push up, the others down (Assumption 1)."""
    check_size("m", m)
    with jax.enable_x64(True):
        return jnp.repeat(jnp.array([1.0, -1.0]), m) / (2 * m)


def initial_signs(key: jax.Array, problem: Parity, m: int) -> jax.Array:
    """Signs of ν on the query tokens (2m × 2·queries)."""
    check_size("m", m)
    with jax.enable_x64(True):
        return jax.random.rademacher(key, (2 * m, 2 * problem.n_queries), dtype=float)


def weights(key: jax.Array, problem: Parity, embeddings: jax.Array, m: int, epsilon: float) -> Weights:
    """Assumption 1."""
    check_positive("epsilon", epsilon)
    with jax.enable_x64(True):
        signs = initial_signs(key, problem, m)
        n_query_tokens, d = signs.shape[1], embeddings.shape[1]
        own = epsilon * signs @ embeddings[-n_query_tokens:]
        return Weights(W=jnp.concatenate([own, jnp.zeros_like(own)], axis=1), A=jnp.zeros((d, d)))


def initial_coordinates(signs: jax.Array, n_keys: int, epsilon: float) -> Coordinates:
    """Assumption 1 seen through orthonormal tokens: p = ν, q = 0, a = 0."""
    check_positive("epsilon", epsilon)
    with jax.enable_x64(True):
        n_neurons, n_query_tokens = signs.shape
        return Coordinates(p=epsilon * signs, q=jnp.zeros((n_neurons, n_keys)), a=jnp.zeros((n_keys, n_query_tokens)))


def weights_loss(w: Weights, problem: Parity, embeddings: jax.Array, h: jax.Array, table: Table, kind: str):
    """The loss as training sees it; differentiate with respect to `w`."""
    return model.loss(model.coordinates(w, embeddings, 2 * problem.n_queries), h, table, kind)
