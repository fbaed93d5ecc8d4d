"""The max margin of the attention features (Eq. (2)): how separable the samples are for the neurons to come.

With the gates inside the features F(X) ∈ R^(2d+1), it is that of the vectors {y_i F(X_i)} (`flowsys.model.separator`).
"""

import numpy as np
from scipy.special import softmax

from flowsys.model.separator import separator
from flowsys.systems.mixture.model import attention_scores, sequence_of
from flowsys.systems.mixture.observables import members
from flowsys.systems.mixture.population import representatives

OPEN = -1e-9
"""H + b from which on a gate counts as open: where the flow slides it is 0, and rounding must not decide."""


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
    return separator(X.y[:, None] * attention_features(X, list(zip(w.w, w.S)), p.b)).margin


def limit_margin(w, K: int, L: int, b: float) -> float:
    """γ at a state of the limit, from one sample of every orbit.

    f is linear in the neurons and b with gates frozen. The separator is as symmetric as the samples, so it lies in the
    span of the classes w_c and w_v, of 2K entries each.
    """
    F = attention_features(representatives(K, L), list(zip(w.w, w.S)), b)
    classes = [members(name, K).ravel() / np.sqrt(2 * K) for name in ("w_c", "w_v")]
    return separator(F @ np.array([*np.pad(classes, ((0, 0), (0, 1))), np.eye(4 * K + 1)[-1]]).T).margin
