"""The limit written out for one (n, k): every string, every token, what the automatic lumping works on.

With the gate overlaps Γ = (I + 11ᵀ)/(8m), outputs split as K = D + 1·Σ_query D into an own part and a common mode, and
dD/dt = -∂_K L/(8m), da/dt = -∂_a L. From 0 only own parts on tokens that tell about the label move, so (D, a) lumps
to the fewest variables; the queries' own outputs P stay 0.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity import model
from flowsys.systems.parity.data import ascending, population
from flowsys.systems.parity.model import FrozenCoordinates


def coordinate_names(n: int, k: int) -> tuple[str, ...]:
    """D_query_key, then a_key_query; a token is its position with its bit, e.g. 7b0."""
    tokens = [f"{j}b{b}" for j in range(1, n + k + 1) for b in (0, 1)]
    queries = tokens[2 * n :]
    return (*(f"D_{q}_{t}" for q in queries for t in tokens), *(f"a_{t}_{q}" for t in tokens for q in queries))


def unlumped_field(n: int, k: int, m: float) -> Callable[[np.ndarray], np.ndarray]:
    """d(D, a)/dt on flat vectors, as a NumPy function; linear loss."""
    parity = ascending(n, k)
    n_tokens, n_queries = parity.n_tokens, 2 * k
    half = n_queries * n_tokens
    table = population(parity)

    def loss(K, a):
        return model.loss(FrozenCoordinates(P=jnp.zeros(n_queries), K=K, a=a), None, table, "linear")

    @jax.jit
    def rhs(y):
        D, a = y[:half].reshape(n_queries, n_tokens), y[half:].reshape(n_tokens, n_queries)
        slope_K, slope_a = jax.grad(loss, argnums=(0, 1))(D + D.sum(axis=0), a)
        return jnp.concatenate([-slope_K.ravel() / (8 * m), -slope_a.ravel()])

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rhs(np.asarray(y, dtype=float)))

    return evaluate
