"""Three gradient steps on fresh batches with frozen gates, as matrix products (level L0 in the coordinates P, K, a).

Let X be the 0/1 matrix of sequences × tokens, and E_{q,t} = exp(a_{t,q}) on the tokens t that query token q may see.
Then all positions of all sequences at once have

    Z = X Eᵀ,      N = X (E ∘ K)ᵀ,      T = P + N/Z,

read at the query token that occurs. With ρ the slope of the linear loss in T there (0 at the token that does not),

    ∂L/∂P = Σ ρ,     ∂L/∂K = E ∘ ((ρ/Z)ᵀ X),     ∂L/∂aᵀ = E ∘ K ∘ ((ρ/Z)ᵀ X) - E ∘ ((ρN/Z²)ᵀ X),

and with G the Gram matrix of the tokens and Γ the gate overlaps, P moves along (Γ ∘ G_queries) ∂_P, K along Γ ∂_K G,
a along G ∂_a G_queries. The cost does not depend on the width.
"""

from typing import NamedTuple

import jax
import numpy as np

from flowsys.systems.parity.data import Parity, sequences
from flowsys.systems.parity.frozen import gate_overlaps
from flowsys.systems.parity.model import output_weights

CHUNK = 4096  # sequences at a time: bounds the memory of a large batch


class Rates(NamedTuple):
    """Learning rates of the three steps."""

    eta_0: float
    eta_1: float
    eta_2: float


def batch_rates(m: float, epsilon: float, batch: int, c: float) -> Rates:
    """η_0 = η_1 = c·mε√B: as large as the noise of a batch allows the gates to stay (c ≲ 0.5)."""
    eta = c * m * epsilon * np.sqrt(batch)
    return Rates(eta, eta, 16 * m * epsilon / 3)


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
    key: jax.Array, problem: Parity, m: int, epsilon: float, batch: int, rates: Rates, d: int | None = None
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


def exponentials(a: np.ndarray, problem: Parity) -> np.ndarray:
    """E under the causal mask, up to a factor of each query token that the softmax does not see."""
    key, query = np.arange(problem.n_tokens) // 2, problem.n + np.arange(2 * problem.n_queries) // 2
    scores = np.where(key[None, :] <= query[:, None], a.T, -np.inf)
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def tokens_and_signs(problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X (B × tokens), and (-1)^label for every query token that occurs, 0 for the others (B × queries)."""
    sequence = sequences(problem, bits)
    shown = sequence[:, : problem.n_positions, None]
    X = np.concatenate([1 - shown, shown], axis=2).reshape(len(bits), -1).astype(float)
    labels = sequence[:, problem.n + 1 : problem.n + 1 + problem.n_queries]
    asking = X[:, -2 * problem.n_queries :]  # the last tokens are those that ask
    return X, asking * np.repeat(1.0 - 2.0 * labels, 2, axis=1)


def batch_slope(y: State, problem: Parity, bits: np.ndarray) -> State:
    """∂L/∂(P, K, a) for the mean loss over the input strings `bits` (B × n)."""
    E = exponentials(y.a, problem)
    forward = np.concatenate([E, E * y.K]).T
    P_slope, backward = np.zeros_like(y.P), np.zeros((2 * len(E), problem.n_tokens))
    for first in range(0, len(bits), CHUNK):
        X, sign = tokens_and_signs(problem, bits[first : first + CHUNK])
        Z, N = np.split(X @ forward, 2, axis=1)
        slope = sign / len(bits)
        P_slope += slope.sum(axis=0)
        backward += np.concatenate([slope / Z, slope * N / Z**2], axis=1).T @ X
    first_order, second_order = np.split(backward, 2)
    return State(P_slope, E * first_order, (E * y.K * first_order - E * second_order).T)


def margins_and_attention(y: State, problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins, and attention on S[i], of every sequence and position (B × positions)."""
    E, (X, sign) = exponentials(y.a, problem), tokens_and_signs(problem, bits)
    Z = X @ E.T
    secret = 2 * np.repeat(np.array(problem.secrets)[: problem.n_queries] - 1, 2)
    on = np.stack([X[:, t : t + 2] @ E[q, t : t + 2] for q, t in enumerate(secret)], axis=1)
    by_token = -sign * (y.P + X @ (E * y.K).T / Z), sign**2 * on / Z
    return tuple(part.reshape(len(bits), -1, 2).sum(axis=2) for part in by_token)
