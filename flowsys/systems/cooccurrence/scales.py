"""The scales of the problem: what Condition 1 sets, the paper's experiment, and the three dimensionless numbers.

Holding alpha = σ_0² m, beta = σ_1² m m1, m1 and the score scale s fixed while m → ∞ gives a limit whose attention
moves; in τ = beta·t its only parameters, with n and L, are

    rho = m1·alpha/beta,     delta = 1/(alpha·beta),     lambda = s²·alpha/beta.

With s = 1/√m tied to m, lambda → 0 and attention freezes: that is the paper's regime, the bag-of-words flow.
"""

import math
from typing import NamedTuple

import numpy as np

from flowsys.errors import InputError


class Scales(NamedTuple):
    """Initial |v|² = |k|² = |q|² (alpha), initial c (beta), neurons, and the factor of the scores in the softmax."""

    alpha: float
    beta: float
    m1: float
    score_scale: float


class Reading(NamedTuple):
    """Appendix A's "Kaiming initialisation" as distribution, variance × fan in and output weights a; in words."""

    distribution: str
    variance: float
    output: str
    words: str


READINGS = {
    "A": Reading("uniform", 1 / 3, "signs", r"U($\pm$1/$\sqrt{\mathrm{fan\,in}}$), output weights $\pm$1"),
    "B": Reading("normal", 1.0, "signs", r"N(0, 1/fan in), output weights $\pm$1"),
    "C": Reading("normal", 2.0, "signs", r"N(0, 2/fan in), output weights $\pm$1"),
    "E": Reading("uniform", 1 / 3, "uniform", r"U($\pm$1/$\sqrt{\mathrm{fan\,in}}$), output weights too"),
}
"""A is a linear layer's default; E, with a ~ U(±1/√m1) fixed, shows both phases on the axis of the paper's figure."""


def of_reading(reading: str, m: int, m1: float, d: int) -> dict[str, float]:
    """alpha, beta (with the expected |a|²) and the score scale of Appendix A's weights, as it is read."""
    variance, output_norm = READINGS[reading].variance, m1 if READINGS[reading].output == "signs" else 1 / 3
    return {"alpha": variance * m / d, "beta": variance * output_norm, "score_scale": m**-0.5}


def output_weights(p) -> np.ndarray:
    """The fixed a. Signs are put into the neurons, a_j w_j having the law of w_j; reading E draws a ~ U(±1/√m1)."""
    m1 = whole(p.m1, "m1")
    if p.mode == "data" and p.reading == "E":
        return np.random.default_rng([p.seed, m1]).uniform(-1, 1, m1) / np.sqrt(m1)
    return np.ones(m1)


def whole(value: float, name: str) -> int:
    """A size of a data set or of a network."""
    if not math.isfinite(value) or value != int(value):
        raise InputError(f"{name} = {value:g} is not allowed at finite width: it must be a whole number.")
    return int(value)


def in_units_of_tau(rho: float, delta: float, lambda_: float) -> Scales:
    """The scales with the given dimensionless numbers and beta = 1, whose time is τ."""
    return Scales(1 / delta, 1.0, rho * delta, (lambda_ * delta) ** 0.5)


def condition_1(m: float, m1: float, L: float, kappa: float = 1.0, logs: float = 0.0) -> Scales:
    """Condition 1 with its hidden constant and logarithms: σ_0 = kappa/(√(L m) log^logs m), σ_1 = 1/√m1, s = 1/√m.

    At kappa = 1 and logs = 0 the initial output is of order 1 at every m; with logs > 0 it falls with m (Lemma D.8).
    """
    kappa = kappa / np.maximum(np.log(m), 1.0) ** logs
    return Scales(kappa**2 / L, m, m1, m**-0.5)
