"""Three gradient steps on fresh batches with frozen gates, as matrix products (level L0 in the coordinates P, K, a).

Let X be the 0/1 matrix of sequences × tokens, and E_{q,t} = exp(a_{t,q}) on the tokens t that query token q may see.
Then all positions of all sequences at once have

    Z = X Eᵀ,      N = X (E ∘ K)ᵀ,      T = P + N/Z,

read at the query token that occurs. With ρ the slope of the loss in T there (0 at the token that does not occur),

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
from flowsys.systems.parity.population_map import Rates

CHUNK = 4096  # sequences at a time: bounds the memory of a large batch


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
    key: jax.Array, problem: Parity, m: int, epsilon: float, batch: int, rates: Rates, *, d: int | None = None,
    loss: str = "linear",
) -> list[State]:  # fmt: skip
    """The states before and after each step; hypercube embeddings of dimension `d`, orthonormal tokens if None."""
    neuron_key, embedding_key, _, *batch_keys = jax.random.split(key, 3 + len(rates))
    n_queries = 2 * problem.n_queries
    gram = np.eye(problem.n_tokens)
    with jax.enable_x64(True):
        signs = np.asarray(jax.random.rademacher(neuron_key, (2 * m, n_queries), dtype=float))
        if d is not None:
            drawn = np.asarray(jax.random.rademacher(embedding_key, (problem.n_tokens, d), dtype=float))
            gram = drawn @ drawn.T / d
    of_queries = gram[-n_queries:, -n_queries:]
    p, h = epsilon * signs @ of_queries, output_weights(m)
    Γ = gate_overlaps(p, h)
    shape = (n_queries, problem.n_tokens)
    states = [State(((p > 0) * h[:, None] * p).sum(axis=0), np.zeros(shape), np.zeros(shape[::-1]))]
    for rate, batch_key in zip(rates, batch_keys):
        y, slope = states[-1], batch_slope(states[-1], problem, sample_bits(batch_key, problem, batch), loss)
        moved = State((Γ * of_queries) @ slope.P, Γ @ slope.K @ gram, gram @ slope.a @ of_queries)
        states.append(State(*(part - rate * by for part, by in zip(y, moved))))
    return states


def visible_tokens(problem: Parity) -> np.ndarray:
    """Which tokens each query token may attend to (queries × tokens): the causal mask."""
    key_position = np.arange(problem.n_tokens) // 2
    query_position = problem.n + np.arange(2 * problem.n_queries) // 2
    return key_position[None, :] <= query_position[:, None]


def exponentials(a: np.ndarray, problem: Parity) -> np.ndarray:
    """E, up to a factor of each query token that the softmax does not see."""
    scores = np.where(visible_tokens(problem), a.T, -np.inf)
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def batch_slope(y: State, problem: Parity, bits: np.ndarray, kind: str = "linear") -> State:
    """∂L/∂(P, K, a) for the mean loss over the input strings `bits` (B × n)."""
    E = exponentials(y.a, problem)
    forward = np.concatenate([E, E * y.K]).T
    P_slope, backward = np.zeros_like(y.P), np.zeros((2 * len(E), problem.n_tokens))
    for first in range(0, len(bits), CHUNK):
        X, sign = tokens_and_signs(problem, bits[first : first + CHUNK])
        Z, N = np.split(X @ forward, 2, axis=1)
        active = (1 + sign * (y.P + N / Z) > 0) if kind == "hinge" else 1.0
        slope = X[:, -len(E) :] * sign * active / len(bits)  # the last tokens are those that ask
        P_slope += slope.sum(axis=0)
        backward += np.concatenate([slope / Z, slope * N / Z**2], axis=1).T @ X
    first_order, second_order = np.split(backward, 2)
    return State(P_slope, E * first_order, (E * y.K * first_order - E * second_order).T)


def tokens_and_signs(problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X (B × tokens), and (-1)^label for every query token (B × queries)."""
    sequence = sequences(problem, bits)
    shown = sequence[:, : problem.n_positions, None]
    X = np.concatenate([1 - shown, shown], axis=2).reshape(len(bits), -1).astype(float)
    labels = sequence[:, problem.n + 1 : problem.n + 1 + problem.n_queries]
    return X, np.repeat(1.0 - 2.0 * labels, 2, axis=1)


def batch_margins(y: State, problem: Parity, bits: np.ndarray) -> np.ndarray:
    """Margins of every sequence and position (B × positions)."""
    E = exponentials(y.a, problem)
    X, sign = tokens_and_signs(problem, bits)
    Z, N = X @ E.T, X @ (E * y.K).T
    asked = X[:, -len(E) :] * -sign * (y.P + N / Z)
    return asked.reshape(len(bits), -1, 2).sum(axis=2)


def batch_attention(y: State, problem: Parity, bits: np.ndarray) -> np.ndarray:
    """Attention on S[i] of every sequence and position (B × positions)."""
    E = exponentials(y.a, problem)
    X, _ = tokens_and_signs(problem, bits)
    Z, asking = X @ E.T, X[:, -len(E) :]
    secret = 2 * np.repeat(np.array(problem.secrets)[: problem.n_queries] - 1, 2)
    on = np.stack([X[:, t : t + 2] @ E[q, t : t + 2] for q, t in enumerate(secret)], axis=1)
    return (asking * on / Z).reshape(len(bits), -1, 2).sum(axis=2)
