"""The functions of `flowsys.model.ops` on NumPy arrays: for what is looked at, needs no gradient and no compiling."""

from typing import Any

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


def softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def is_positive(x: Any) -> Any:
    return np.where(x > 0, 1.0, 0.0)


def largest(values: Any) -> Any:
    return np.max(values, axis=0)


def smallest(values: Any) -> Any:
    return np.min(values, axis=0)


def smooth_relu(x: Any, width: Any) -> Any:
    return width * softplus(x / width)


def power_relu(x: Any, width: Any, power: Any) -> Any:
    return width / power * _power(np.clip(x / width, 0.0, 1.0), power) + relu(x - width)


def _power(x: Any, n: int) -> Any:
    """x^n by squaring, which takes a tenth of the time of NumPy's own."""
    if n == 1:
        return x
    squared = _power(x * x, n // 2)
    return squared * x if n % 2 else squared


def hinge(margin: Any) -> Any:
    return relu(1.0 - margin)


def softmax(scores: Any, counts: Any = None, axis: int = -1) -> Any:
    scores = _present(scores, counts)
    weights = np.exp(scores - np.max(scores, axis=axis, keepdims=True)) * (1.0 if counts is None else counts)
    return weights / weights.sum(axis=axis, keepdims=True)


def attend(values: Any, scores: Any, counts: Any = None, axis: int = -1) -> Any:
    return (softmax(scores, counts, axis) * values).sum(axis=axis)


def name(label: str, x: Any) -> Any:
    return x


def log_sum_exp(scores: Any, counts: Any = None, axis: int = -1) -> Any:
    scores = _present(scores, counts)
    top = np.max(scores, axis=axis, keepdims=True)
    total = (np.exp(scores - top) * (1.0 if counts is None else counts)).sum(axis=axis)
    return np.log(total) + np.squeeze(top, axis=axis)


def cross_entropy(logits: Any, target: Any, counts: Any = None, axis: int = -1) -> Any:
    logits, target = np.moveaxis(logits, axis, -1), np.asarray(target)[..., None]
    others = np.where(np.arange(logits.shape[-1]) == target, 0.0, 1.0 if counts is None else counts)
    return softplus(log_sum_exp(logits - np.take_along_axis(logits, target, axis=-1), others))


def _present(scores: Any, counts: Any) -> Any:
    return scores if counts is None else np.where(counts > 0, scores, -np.inf)
