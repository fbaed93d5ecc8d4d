"""The gradient of the frozen-gate loss on a batch, as matrix products (level L0 in the coordinates P, K, a).

Let X be the 0/1 matrix of sequences × tokens, and E_{q,t} = exp(a_{t,q}) on the tokens t that query token q may see.
Then all positions of all sequences at once have

    Z = X Eᵀ,      N = X (E ∘ K)ᵀ,      T = P + N/Z,

read at the query token that occurs. With ρ the slope of the loss in T there (0 at the token that does not occur),

    ∂L/∂P = Σ ρ,     ∂L/∂K = E ∘ ((ρ/Z)ᵀ X),     ∂L/∂aᵀ = E ∘ K ∘ ((ρ/Z)ᵀ X) - E ∘ ((ρN/Z²)ᵀ X).
"""

import numpy as np

from flowsys.systems.parity.data import Parity, sequences
from flowsys.systems.parity.model import FrozenCoordinates

CHUNK = 4096  # sequences at a time: bounds the memory of a large batch


def visible_tokens(problem: Parity) -> np.ndarray:
    """Which tokens each query token may attend to (queries × tokens): the causal mask."""
    key_position = np.arange(problem.n_tokens) // 2
    query_position = problem.n + np.arange(2 * problem.n_queries) // 2
    return key_position[None, :] <= query_position[:, None]


def exponentials(a, problem: Parity) -> np.ndarray:
    """E, up to a factor of each query token that the softmax does not see."""
    scores = np.where(visible_tokens(problem), np.asarray(a).T, -np.inf)
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def batch_slope(y: FrozenCoordinates, problem: Parity, bits: np.ndarray, kind: str = "linear") -> FrozenCoordinates:
    """∂L/∂(P, K, a) for the mean loss over the input strings `bits` (B × n)."""
    E = exponentials(y.a, problem)
    K, P = np.asarray(y.K), np.asarray(y.P)
    forward = np.concatenate([E, E * K]).T
    P_slope, backward = np.zeros_like(P), np.zeros((2 * len(E), problem.n_tokens))
    for first in range(0, len(bits), CHUNK):
        X, sign = tokens_and_signs(problem, bits[first : first + CHUNK])
        Z, N = np.split(X @ forward, 2, axis=1)
        active = (1 + sign * (P + N / Z) > 0) if kind == "hinge" else 1.0
        slope = X[:, -len(E) :] * sign * active / len(bits)  # the last tokens are those that ask
        P_slope += slope.sum(axis=0)
        backward += np.concatenate([slope / Z, slope * N / Z**2], axis=1).T @ X
    first_order, second_order = np.split(backward, 2)
    return FrozenCoordinates(P_slope, E * first_order, (E * K * first_order - E * second_order).T)


def tokens_and_signs(problem: Parity, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X (B × tokens), and (-1)^label for every query token (B × queries)."""
    sequence = sequences(problem, bits)
    shown = sequence[:, : problem.n_positions, None]
    X = np.concatenate([1 - shown, shown], axis=2).reshape(len(bits), -1).astype(float)
    labels = sequence[:, problem.n + 1 : problem.n + 1 + problem.n_queries]
    return X, np.repeat(1.0 - 2.0 * labels, 2, axis=1)


def batch_margins(y: FrozenCoordinates, problem: Parity, bits: np.ndarray) -> np.ndarray:
    """Margins of every sequence and position (B × positions)."""
    E = exponentials(y.a, problem)
    X, sign = tokens_and_signs(problem, bits)
    Z, N = X @ E.T, X @ (E * np.asarray(y.K)).T
    asked = X[:, -len(E) :] * -sign * (np.asarray(y.P) + N / Z)
    return asked.reshape(len(bits), -1, 2).sum(axis=2)
