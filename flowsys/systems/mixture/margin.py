"""The max margin of the attention features (Eq. (2)): how separable the samples are for the neurons to come.

With the gates inside the features F(X) ∈ R^(2d+1), the margin γ = max_|z|=1 min_i y_i F(X_i)·z is the distance from
0 to the convex hull of {y_i F(X_i)}. The nearest point is found by non-negative least squares,

    min_(a ≥ 0) |Fᵀa|² + M² (1ᵀa - 1)²,      z = Fᵀa / 1ᵀa,

which is exact for any M > 0 because the penalty only rescales a.
"""

import numpy as np
from scipy.optimize import nnls
from scipy.special import softmax

from flowsys.program import Program
from flowsys.program.arrays import Arguments, function
from flowsys.systems.mixture.model import attention_scores, sequence_of

OPEN = -1e-9
"""H + b from which on a gate counts as open: where the flow slides it is 0, and rounding must not decide."""


def max_margin(features: np.ndarray) -> float:
    """γ of the rows y_i F(X_i); 0 if they cannot be separated."""
    n = len(features)
    penalty = max(1.0, float(np.abs(features).max()))
    a, _ = nnls(np.vstack([features.T, penalty * np.ones(n)]), np.append(np.zeros(features.shape[1]), penalty))
    if a.sum() <= 0:
        return 0.0
    z = features.T @ (a / a.sum())
    length = np.linalg.norm(z)
    if length < 1e-9 * penalty:
        return 0.0
    return max(float((features @ z).min() / length), 0.0)


def attention(X, S: np.ndarray) -> np.ndarray:
    """p (sample, key, query) of a head with scores S."""
    return softmax(attention_scores(S, sequence_of(X)), axis=-2)


def head_features(X, S: np.ndarray) -> np.ndarray:
    """Σ_l Σ_i p_il x_i of every sample: the head output is w · this."""
    p = attention(X, S).sum(axis=-1)
    features = np.zeros((len(p), len(S)))
    np.add.at(features, (np.arange(len(p))[:, None], X.keys), p * X.signs)
    return features


def attention_features(X, heads, b: float) -> np.ndarray:
    """F(X) of Eq. (2) for the (neurons, scores) of both heads: f = [w_+, w_-, 1]·F(X)."""
    F = [head_features(X, S) for _, S in heads]
    gates = [(features @ w + b > OPEN).astype(float)[:, None] for features, (w, _) in zip(F, heads)]
    return np.hstack([gates[0] * F[0], -gates[1] * F[1], b * (gates[0] - gates[1])])


def margin_of_samples(w, X, p) -> float:
    """γ of a network at finite width, over all samples."""
    return max_margin(X.y[:, None] * attention_features(X, [(w.w[h], w.S[h]) for h in (0, 1)], p.b))


def limit_margin(program: Program, y: np.ndarray, arguments: Arguments, K: int) -> float:
    """γ at a state of the limit, from three coordinates per sample orbit.

    f is linear in (w_c, w_v, b) with gates frozen; both heads and K groups share w_c and w_v, so a unit vector of the
    full feature space has (w_c, w_v) coordinates scaled by √(2K).
    """
    preactivations = function(program, ("kink_plus", "kink_minus"), "exact", np)
    b = arguments.parameters[program.parameters.index("b")]
    neurons = [program.state.index("w_c"), program.state.index("w_v")]
    open_plus, open_minus = (np.where(h > OPEN, 1.0, 0.0) for h in preactivations(y, arguments))
    features = []
    for unit in ((1.0, 0.0), (0.0, 1.0)):
        state = y.copy()
        state[neurons] = unit
        plus, minus = preactivations(state, arguments)
        features.append((open_plus * (plus - b) - open_minus * (minus - b)) / np.sqrt(2 * K))
    return max_margin(np.array([*features, b * (open_plus - open_minus)]).T)
