"""Frozen token embeddings and the Gram matrix that is the metric of the flow (Definition 3).

The embedding of every token is uniform on the hypercube {±d^(-1/2)}^d; exactly orthonormal tokens are the limit of
large d. One row per token, in the order of `data`.
"""

import jax
import jax.numpy as jnp

from flowsys.systems.parity.data import check_size


def orthonormal(n_tokens: int) -> jax.Array:
    """The standard basis: d = number of tokens."""
    check_size("n_tokens", n_tokens)
    with jax.enable_x64(True):
        return jnp.eye(n_tokens)


def hypercube(key: jax.Array, n_tokens: int, d: int) -> jax.Array:
    """Unit vectors with independent entries ±d^(-1/2)."""
    check_size("n_tokens", n_tokens)
    check_size("d", d)
    with jax.enable_x64(True):
        return jax.random.rademacher(key, (n_tokens, d), dtype=float) / jnp.sqrt(1.0 * d)
