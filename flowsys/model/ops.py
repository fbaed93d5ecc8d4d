"""The functions a model may use, on JAX arrays: stable at scores of ±1000, in values and in gradients.

A model's loss takes an `ops` argument. Training and the autodiff oracle pass `flowsys.model.ops`; a derivation passes
`flowsys.symbolic.primitives`, which has the same names on NumPy object arrays of sympy expressions. Model code
may besides use what both kinds of array share: arithmetic, indexing, `.sum(axis=)`, `.reshape`, `.T`.
"""

import jax
import jax.numpy as jnp

array = jnp.asarray
exp = jnp.exp
log = jnp.log
sqrt = jnp.sqrt
tanh = jnp.tanh
sin = jnp.sin
cos = jnp.cos
arcsin = jnp.arcsin
erf = jax.scipy.special.erf
einsum = jnp.einsum
concatenate = jnp.concatenate
stack = jnp.stack


def sigmoid(x):
    """1 / (1 + e^-x)."""
    return jax.nn.sigmoid(x)


def softplus(x):
    """log(1 + e^x), the logistic loss of margin -x."""
    return jax.nn.softplus(x)


def relu(x):
    """max(x, 0), with derivative 0 at 0."""
    return jax.nn.relu(x)


def is_positive(x):
    """1 where x > 0, else 0, for counting only."""
    return jnp.where(x > 0, 1.0, 0.0)


def largest(values):
    """The largest of a list of arrays, entry by entry, or along the first axis of one array."""
    return _stacked(values).max(axis=0)


def smallest(values):
    """The smallest of a list of arrays, entry by entry, or along the first axis of one array."""
    return _stacked(values).min(axis=0)


def _stacked(values):
    return values if isinstance(values, jax.Array) else jnp.stack(list(values))


def smooth_relu(x, width):
    """width · log(1 + e^(x / width)): a ReLU rounded over `width`."""
    return width * jax.nn.softplus(x / width)


def power_relu(x, width, power):
    """0 | x^q / (q ϱ^(q-1)) on (0, ϱ] | x - ϱ (1 - 1/q), with ϱ = width and q = power: a ReLU without a kink."""
    return width / power * jnp.clip(x / width, 0.0, 1.0) ** power + jax.nn.relu(x - width)


def hinge(margin):
    """max(1 - margin, 0)."""
    return jax.nn.relu(1.0 - margin)


def clip_above(x, upper):
    """min(x, upper), with derivative 1 below and 0 above."""
    return upper - jax.nn.relu(upper - x)


def abs(x):
    """|x|, with derivative -1 at 0."""
    return 2.0 * jax.nn.relu(x) - x


def maximum(x, y):
    """The larger of two numbers, entry by entry: y + relu(x - y)."""
    return y + jax.nn.relu(x - y)


def minimum(x, y):
    """The smaller of two numbers, entry by entry: x - relu(x - y)."""
    return x - jax.nn.relu(x - y)


def softmax(scores, counts=None, axis=-1):
    """n_i e^(s_i) / Σ_j n_j e^(s_j): attention on the i-th kind of key, which occurs n_i ≥ 0 times."""
    present = True if counts is None else counts > 0
    top = jax.lax.stop_gradient(jnp.max(jnp.where(present, scores, -jnp.inf), axis=axis, keepdims=True))
    weights = jnp.exp(jnp.where(present, scores - top, -jnp.inf))
    if counts is not None:
        weights = counts * weights
    return weights / weights.sum(axis=axis, keepdims=True)


def attend(values, scores, counts=None, axis=-1):
    """Σ_i p_i v_i along `axis`, with p the softmax of the scores."""
    return (softmax(scores, counts, axis) * values).sum(axis=axis)


def name(label, x):
    """x itself; the label is for the derived program."""
    return x


def log_sum_exp(scores, counts=None, axis=-1):
    """log Σ_i n_i e^(s_i)."""
    return jax.nn.logsumexp(scores, axis=axis, b=counts)


def cross_entropy(logits, target, counts=None, axis=-1):
    """-log p(target) of a softmax over classes along `axis`, as softplus of a log-sum: accurate where p is near 1 too.

    `target` has an index of a class for every slice; class i stands for n_i classes, a target for itself alone.
    """
    logits, target = jnp.moveaxis(jnp.asarray(logits), axis, -1), jnp.asarray(target)[..., None]
    others = jnp.where(jnp.arange(logits.shape[-1]) == target, 0.0, 1.0 if counts is None else counts)
    margins = logits - jnp.take_along_axis(logits, target, axis=-1)
    return jax.nn.softplus(log_sum_exp(margins, others))
