"""The max margin of the attention features (Eq. (2)): how separable the samples are for the neurons to come.

With the gates inside the features F(X) ∈ R^(2d+1), it is that of the vectors {y_i F(X_i)} (`flowsys.model.separator`).
"""

import numpy as np
from scipy.special import softmax

from flowsys.model.separator import separator
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function_of_rows
from flowsys.systems.mixture.model import attention_scores, sequence_of

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


def limit_margin(program: Program, y: np.ndarray, arguments: Arguments, K: int) -> float:
    """γ at a state of the limit, from three coordinates per sample orbit.

    f is linear in (w_c, w_v, b) with gates frozen; both heads and K groups share w_c and w_v, so a unit vector of the
    full feature space has (w_c, w_v) coordinates scaled by √(2K).
    """
    kinks = function_of_rows(program, ("kink_plus", "kink_minus"), "exact")
    b = arguments.parameters[program.parameters.index("b")]
    at_units = np.where([name.startswith("w_") for name in program.state], 0.0, np.stack([y, y]))
    at_units[[0, 1], [program.state.index(neuron) for neuron in ("w_c", "w_v")]] = 1.0
    plus, minus = kinks(np.vstack([y, at_units]), arguments)
    is_open = [np.where(h[0] > OPEN, 1.0, 0.0) for h in (plus, minus)]
    signals = is_open[0] * (plus[1:] - b) - is_open[1] * (minus[1:] - b)
    return separator(np.vstack([b * (is_open[0] - is_open[1]), signals / np.sqrt(2 * K)]).T).margin
