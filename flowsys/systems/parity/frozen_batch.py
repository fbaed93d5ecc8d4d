"""Three gradient steps on fresh batches with frozen gates, as matrix products (level L0 in the coordinates P, K, a).

Let X be the 0/1 matrix of sequences × tokens, and E_{q,t} = exp(a_{t,q}) on the tokens t that query token q may see.
Then all positions of all sequences at once have

    Z = X Eᵀ,      T = P + X (E ∘ K)ᵀ / Z,

read at the query token that occurs. With G the Gram matrix of the tokens and Γ the gate overlaps, P moves along
(Γ ∘ G_queries) ∂_P L, K along Γ ∂_K L G, a along G ∂_a L G_queries. The cost does not depend on the width.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity.data import Parity, sequences
from flowsys.systems.parity.frozen import gate_overlaps
from flowsys.systems.parity.model import output_weights

CHUNK = 4096  # sequences at a time: bounds the memory of a large batch


def batch_rates(m: float, epsilon: float, batch: int, c: float) -> tuple[float, float, float]:
    """η_0 = η_1 = c·mε√B: as large as the noise of a batch allows the gates to stay (c ≲ 0.5); η_2."""
    eta = c * m * epsilon * np.sqrt(batch)
    return eta, eta, 16 * m * epsilon / 3


class State(NamedTuple):
    """Outputs P (queries), K (queries × keys) of the neurons active at the start, and scores a (keys × queries)."""

    P: np.ndarray
    K: np.ndarray
    a: np.ndarray


def sample_bits(key: jax.Array, problem: Parity, batch: int) -> np.ndarray:
    """`batch` fresh input strings."""
    # NumPy's generator, since JAX's would be compiled anew for every batch size
    return np.random.default_rng(np.asarray(jax.random.key_data(key))).integers(0, 2, (batch, problem.n))


def batch_steps(
    key: jax.Array, problem: Parity, m: int, epsilon: float, batch: int, rates: Sequence[float], d: int | None = None
) -> State:
    """The state after the steps, linear loss; hypercube embeddings of dimension `d`, orthonormal tokens if None."""
    neuron_key, embedding_key, _, *batch_keys = jax.random.split(key, 3 + len(rates))
    n_queries, gram = 2 * problem.n_queries, np.eye(problem.n_tokens)
    with jax.enable_x64(True):
        signs = np.asarray(jax.random.rademacher(neuron_key, (2 * m, n_queries), dtype=float))
        if d is not None:
            drawn = np.asarray(jax.random.rademacher(embedding_key, (problem.n_tokens, d), dtype=float))
            gram = drawn @ drawn.T / d
    of_queries = gram[-n_queries:, -n_queries:]
    p, h = epsilon * signs @ of_queries, output_weights(m)
    Γ = gate_overlaps(p, h)
    shape = (n_queries, problem.n_tokens)
    y = State(((p > 0) * h[:, None] * p).sum(axis=0), np.zeros(shape), np.zeros(shape[::-1]))
    for rate, batch_key in zip(rates, batch_keys):
        slope = batch_slope(y, problem, sample_bits(batch_key, problem, batch))
        moved = (Γ * of_queries) @ slope.P, Γ @ slope.K @ gram, gram @ slope.a @ of_queries
        y = State(*(part - rate * by for part, by in zip(y, moved)))
    return y


def exponentials(a: Any) -> Any:
    """E under the causal mask, up to a factor of each query token that the softmax does not see."""
    key = np.arange(len(a)) // 2
    query = key[-a.shape[1] :]  # the last tokens are those that ask
    scores = jnp.where(key[None, :] <= query[:, None], a.T, -jnp.inf)
    return jnp.exp(scores - scores.max(axis=1, keepdims=True))


def tokens_and_signs(problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X (B × tokens), and (-1)^label for every query token that occurs, 0 for the others (B × queries)."""
    sequence = sequences(problem, bits)
    shown = sequence[:, : problem.n_positions, None]
    X = np.concatenate([1 - shown, shown], axis=2).reshape(len(bits), -1).astype(float)
    labels = sequence[:, problem.n + 1 : problem.n + 1 + problem.n_queries]
    return X, X[:, -2 * problem.n_queries :] * np.repeat(1.0 - 2.0 * labels, 2, axis=1)


def outputs(y: State, X: Any) -> Any:
    """T of every sequence at every query token."""
    E = exponentials(y.a)
    return y.P + X @ (E * y.K).T / (X @ E.T)


_slope = jax.jit(jax.grad(lambda y, X, sign: (sign * outputs(y, X)).sum()))


def batch_slope(y: State, problem: Parity, bits: np.ndarray) -> State:
    """∂L/∂(P, K, a) for the mean of the linear loss over the input strings `bits` (B × n)."""
    parts = (bits[first : first + CHUNK] for first in range(0, len(bits), CHUNK))
    with jax.enable_x64(True):
        slopes = [_slope(y, *tokens_and_signs(problem, part)) for part in parts]
    return State(*(np.sum(of_parts, axis=0) / len(bits) for of_parts in zip(*slopes)))


def margins_and_attention(y: State, problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins, and attention on S[i], of every sequence and position (B × positions)."""
    X, sign = tokens_and_signs(problem, bits)
    with jax.enable_x64(True):
        E, T = (np.asarray(x) for x in (exponentials(y.a), outputs(y, X)))
    secret = 2 * np.repeat(np.array(problem.secrets)[: problem.n_queries] - 1, 2)
    on = np.stack([X[:, t : t + 2] @ E[q, t : t + 2] for q, t in enumerate(secret)], axis=1)
    by_token = -sign * T, sign**2 * on / (X @ E.T)
    return tuple(part.reshape(len(bits), -1, 2).sum(axis=2) for part in by_token)
