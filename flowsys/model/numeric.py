"""Functions of `ops` on NumPy arrays, for what is measured of states: nothing is differentiated, nothing compiled."""

import numpy as np

array = np.asarray
exp = np.exp
concatenate = np.concatenate
stack = np.stack


def relu(x):
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def smooth_relu(x, width):
    """width · log(1 + e^(x / width))."""
    return width * np.logaddexp(x / width, 0.0)


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


def clip_above(x, upper):
    """min(x, upper)."""
    return np.minimum(x, upper)


def log_sum_exp(scores, counts, axis=-1):
    """log Σ_i n_i e^(s_i)."""
    top = np.max(scores, axis=axis, keepdims=True, initial=-np.inf, where=counts > 0)
    return np.log(np.sum(counts * np.exp(np.minimum(scores - top, 0.0)), axis=axis)) + np.squeeze(top, axis=axis)


def cross_entropy(logits, target, counts, axis=-1):
    """-log p(target) of a softmax over classes along `axis`; class i stands for n_i classes, a target for itself."""
    logits, target = np.moveaxis(logits, axis, -1), np.asarray(target)[..., None]
    others = np.where(np.arange(logits.shape[-1]) == target, 0.0, counts)
    margins = logits - np.take_along_axis(logits, target, axis=-1)
    return np.logaddexp(log_sum_exp(margins, others), 0.0)
