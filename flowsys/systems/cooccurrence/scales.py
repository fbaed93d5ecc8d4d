"""The scales of the problem: what Condition 1 sets, and the three dimensionless numbers of the limit.

Holding alpha = σ_0² m, beta = σ_1² m m1, m1 and the score scale s fixed while m → ∞ gives a limit whose attention
moves; in τ = beta·t its only parameters, with n and L, are

    rho = m1·alpha/beta,     delta = 1/(alpha·beta),     lambda = s²·alpha/beta.

With s = 1/√m tied to m, lambda → 0 and attention freezes: that is the paper's regime, the bag-of-words flow.
"""

from typing import NamedTuple


class Scales(NamedTuple):
    """Initial |v|² = |k|² = |q|² (alpha), initial c (beta), neurons, and the factor of the scores in the softmax."""

    alpha: float
    beta: float
    m1: float
    score_scale: float

    @property
    def rho(self):
        return self.m1 * self.alpha / self.beta

    @property
    def delta(self):
        return 1 / (self.alpha * self.beta)

    @property
    def lambda_(self):
        return self.score_scale**2 * self.alpha / self.beta


def from_dimensionless(rho: float, delta: float, lambda_: float, m1: float = 1.0) -> Scales:
    """Scales with the given dimensionless numbers; m1 only sets the unit of beta."""
    beta_squared = m1 / (rho * delta)  # rho·delta = m1/beta²
    beta = beta_squared**0.5
    alpha = 1 / (delta * beta)
    return Scales(alpha, beta, m1, (lambda_ * beta / alpha) ** 0.5)


def in_units_of_tau(rho: float, delta: float, lambda_: float) -> Scales:
    """The scales with beta = 1, whose time is τ."""
    return from_dimensionless(rho, delta, lambda_, m1=rho * delta)


def condition_1(m: float, m1: float, L: float, kappa: float = 1.0) -> Scales:
    """Condition 1 without its hidden logarithms: σ_0 = kappa/√(L m), σ_1 = 1/√m1, s = 1/√m.

    At kappa = 1 the initial output is of order 1 at every m; the limit is approached only with kappa ≪ 1.
    """
    for name, size in {"m": m, "m1": m1, "L": L, "kappa": kappa}.items():
        if not size > 0:
            raise ValueError(f"{name} = {size}, but it must be positive.")
    return Scales(kappa**2 / L, m, m1, m**-0.5)
