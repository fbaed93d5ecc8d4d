"""Functions of `ops` on NumPy arrays, for what is measured of states: nothing is differentiated, nothing compiled."""

import numpy as np
from scipy import special

array = np.asarray
exp = np.exp
log = np.log
sqrt = np.sqrt
tanh = np.tanh
sin = np.sin
cos = np.cos
arcsin = np.arcsin
erf = special.erf
sigmoid = special.expit
einsum = np.einsum
concatenate = np.concatenate
stack = np.stack
abs = np.abs
maximum = np.maximum
minimum = np.minimum
clip_above = np.minimum


def softplus(x):
    """log(1 + e^x)."""
    return np.logaddexp(x, 0.0)


def relu(x):
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def is_positive(x):
    """1 where x > 0, else 0."""
    return np.where(x > 0, 1.0, 0.0)


def largest(values):
    """The largest of a list of arrays, entry by entry, or along the first axis of one array."""
    return np.max(values, axis=0)


def smallest(values):
    """The smallest of them."""
    return np.min(values, axis=0)


def smooth_relu(x, width):
    """width · log(1 + e^(x / width))."""
    return width * softplus(x / width)


def power_relu(x, width, power):
    """0 | x^q / (q ϱ^(q-1)) on (0, ϱ] | x - ϱ (1 - 1/q), with ϱ = width and q = power."""
    return width / power * _whole_power(np.clip(x / width, 0.0, 1.0), power) + relu(x - width)


def _whole_power(x, n: int):
    """x^n by squaring: far faster than a power of reals."""
    squares, found = x, x if n % 2 else None
    for bit in bin(n)[-2:1:-1]:
        squares = squares * squares
        if bit == "1":
            found = squares if found is None else found * squares
    return found


def hinge(margin):
    """max(1 - margin, 0)."""
    return relu(1.0 - margin)


def softmax(scores, counts=None, axis=-1):
    """n_i e^(s_i) / Σ_j n_j e^(s_j)."""
    weights, _ = _weights(scores, counts, axis)
    return weights / weights.sum(axis=axis, keepdims=True)


def attend(values, scores, counts=None, axis=-1):
    """Σ_i p_i v_i along `axis`, with p the softmax of the scores."""
    return (softmax(scores, counts, axis) * values).sum(axis=axis)


def name(label, x):
    """x itself."""
    return x


def log_sum_exp(scores, counts=None, axis=-1):
    """log Σ_i n_i e^(s_i)."""
    weights, top = _weights(scores, counts, axis)
    return np.log(weights.sum(axis=axis)) + np.squeeze(top, axis=axis)


def _weights(scores, counts, axis):
    """n_i e^(s_i) over the largest e^(s_i) of a kind that occurs, and its logarithm."""
    counts = np.asarray(1.0 if counts is None else counts)
    top = np.max(scores, axis=axis, keepdims=True, initial=-np.inf, where=counts > 0)
    return counts * np.exp(np.minimum(scores - top, 0.0)), top


def cross_entropy(logits, target, counts=None, axis=-1):
    """-log p(target) of a softmax over classes along `axis`; class i stands for n_i classes, a target for itself."""
    logits, target = np.moveaxis(logits, axis, -1), np.asarray(target)[..., None]
    others = np.where(np.arange(logits.shape[-1]) == target, 0.0, 1.0 if counts is None else counts)
    margins = logits - np.take_along_axis(logits, target, axis=-1)
    return softplus(log_sum_exp(margins, others))
