"""Finite-width weights: their initialisations, and the inner products with words that the loss reads.

W (m1 × m), W_V, W_K, W_Q (m × d) are trained, the output weights a (m1) are fixed. The paper's theory has Gaussian
weights and signs a; its experiment says only "Kaiming initialisation", of which four readings are offered.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from flowsys.model import ops
from flowsys.systems.cooccurrence.data import Samples
from flowsys.systems.cooccurrence.model import data_loss


class Weights(NamedTuple):
    """The trained weights."""

    W: Array
    W_V: Array
    W_K: Array
    W_Q: Array


class Problem(NamedTuple):
    """What the finite-data loss depends on besides the weights; `output_norm` is |a|² (m1 for signs)."""

    words: Array
    labels: Array
    sample_weights: Array
    score_scale: Array
    output_norm: Array


READINGS = {
    "A": ("uniform", 1 / 3, "signs"),
    "B": ("normal", 1.0, "signs"),
    "C": ("normal", 2.0, "signs"),
    "E": ("uniform", 1 / 3, "uniform"),
}
"""Kaiming initialisation read as (distribution, variance × fan-in, output weights a).

A: the default of a linear layer, U(±1/√fan_in), with signs a. B, C: normal, with gain 1 and √2, with signs.
E: as A, with a ~ U(±1/√m1), fixed: the one that shows both phases on the axis of the paper's figure.
"""


def problem(samples: Samples, score_scale: float, output_norm: float) -> Problem:
    """The loss of a data set: every sample weighs 1/n."""
    with jax.enable_x64(True):
        as_float = lambda x: jnp.asarray(x, dtype=float)
        weights = np.full(samples.n, 1 / samples.n)
        return Problem(jnp.asarray(samples.words), *map(as_float, (samples.labels, weights, score_scale, output_norm)))


def gaussian_weights(key, m: int, m1: int, d: int, alpha: float, beta: float) -> tuple[Weights, Array]:
    """The paper's initialisation: entries of variance σ_0² = alpha/m and σ_1² = beta/(m m1), random signs a."""
    _check_positive(m=m, m1=m1, d=d, alpha=alpha, beta=beta)
    with jax.enable_x64(True):
        keys, signs = jax.random.split(key, 5), jax.random.rademacher
        W = jax.random.normal(keys[0], (m1, m), dtype=float) * np.sqrt(beta / (m * m1))
        V, K, Q = (jax.random.normal(k, (m, d), dtype=float) * np.sqrt(alpha / m) for k in keys[1:4])
        return Weights(W, V, K, Q), signs(keys[4], (m1,), dtype=float)


def kaiming_weights(key, m: int, m1: int, d: int, reading: str = "E") -> tuple[Weights, Array]:
    """Appendix A's "Kaiming initialisation" in one of the `READINGS`."""
    _check_positive(m=m, m1=m1, d=d)
    if reading not in READINGS:
        raise ValueError(f"reading = {reading!r}, but the readings are {', '.join(READINGS)}.")
    distribution, gain_squared, output = READINGS[reading]
    with jax.enable_x64(True):
        keys = jax.random.split(key, 5)

        def entries(key, shape, fan_in, distribution=distribution):
            if distribution == "normal":
                return jax.random.normal(key, shape, dtype=float) * np.sqrt(gain_squared / fan_in)
            bound = np.sqrt(3 * gain_squared / fan_in)
            return jax.random.uniform(key, shape, dtype=float, minval=-bound, maxval=bound)

        W = entries(keys[0], (m1, m), m)
        V, K, Q = (entries(k, (m, d), d) for k in keys[1:4])
        signs = output == "signs"
        a = jax.random.rademacher(keys[4], (m1,), dtype=float) if signs else entries(keys[4], (m1,), m1, "uniform")
        return Weights(W, V, K, Q), a


def weight_loss(weights: Weights, a, problem: Problem):
    """The training loss (Eq. 2) of the finite-width transformer."""
    G = a @ weights.W @ weights.W_V
    S = weights.W_K.T @ weights.W_Q
    return data_loss(G, S, problem.words, problem.labels, problem.sample_weights, problem.score_scale, ops)


def _check_positive(**sizes) -> None:
    for name, size in sizes.items():
        if not size > 0:
            raise ValueError(f"{name} = {size}, but it must be positive.")
