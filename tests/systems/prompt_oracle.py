"""An independent NumPy/SciPy reading of the population system: all M·K columns of one cycle, printed gradients.

Nothing is imported from the package. State: y = (a, b, H_11, H_12, ..., H_KK), H_k'k at [k' - 1, k - 1].
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


class Population:
    """The M-cycle population with M patterns, K steps and matching fraction alpha."""

    def __init__(self, M, K, alpha):
        self.M, self.K, self.alpha = M, K, alpha
        k, kp, u = np.meshgrid(np.arange(1, K + 1), np.arange(1, K + 1), np.arange(M), indexing="ij")
        chain = (kp * (kp - 1) // 2 - k * (k - 1) // 2) % M
        self.log_weight = np.log(np.where(u == chain, alpha, (1 - alpha) / (M - 1)) / K)
        self.label = (u + kp) % M
        self.is_query = (u == 0).astype(float)
        self.leads_to_query = (self.label == 0).astype(float)
        self.target = np.eye(M)[np.arange(1, K + 1) % M]
        self.index = (np.arange(K)[:, None, None], self.label)

    def attention(self, y):
        a, b, H = y[0], y[1], y[2:].reshape(self.K, self.K)
        scores = self.log_weight + a * self.is_query + b * self.leads_to_query + H.T[:, :, None]
        weights = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
        return weights / weights.sum(axis=(1, 2), keepdims=True)

    def residual(self, pi):
        F = np.zeros((self.K, self.M))
        np.add.at(F, self.index, pi)
        return F, F - self.target

    def loss(self, y):
        _, r = self.residual(self.attention(y))
        return 0.5 * (r**2).sum() / self.K

    def gradient(self, y):
        """dL/da, dL/db, dL/dH."""
        pi = self.attention(y)
        F, r = self.residual(pi)
        g = pi * (r[self.index] - (F * r).sum(axis=1)[:, None, None]) / self.K
        return (g * self.is_query).sum(), (g * self.leads_to_query).sum(), g.sum(axis=2).T

    def velocity(self, t, y):
        a, b, H = self.gradient(y)
        M = self.M
        return np.concatenate([[-a / (M - 1), -b / (M - 1)], (-H - H.sum(axis=1, keepdims=True) / M).ravel()])

    def start(self):
        return np.zeros(2 + self.K**2)

    def solve(self, t_max, rtol=1e-10, atol=1e-12):
        """Dense solution on [0, t_max]."""
        return solve_ivp(
            self.velocity, (0, t_max), self.start(), method="DOP853", rtol=rtol, atol=atol, dense_output=True
        ).sol

    def masses(self, y):
        """(K, 4): attention on (same, same), (same, other), (other, same), (other, other) (pattern, step)."""
        pi = self.attention(y)
        same_step = np.eye(self.K)[:, :, None]
        u = self.is_query
        return np.stack(
            [
                (pi * x).sum(axis=(1, 2))
                for x in (u * same_step, u * (1 - same_step), (1 - u) * same_step, (1 - u) * (1 - same_step))
            ],
            axis=1,
        )

    def same_mass(self, y):
        return self.masses(y)[:, 0]

    def other_step_mass(self, y):
        return self.masses(y)[:, 1] + self.masses(y)[:, 3]


def column_gradients(population, y):
    """Γ of (same, same), (same, other), (other, same), (other, other) (pattern, step)."""
    a, b, H = population.gradient(y)
    M, K = population.M, population.K
    C = H.sum(axis=1) / M
    same_step = (C.sum() + H.trace()) / K
    other_step = (K * C.sum() + H.sum() - C.sum() - H.trace()) / (K * (K - 1))
    same, other = a / M - b / (M * (M - 1)), -a / (M * (M - 1)) - b / (M * (M - 1))
    return same + same_step, same + other_step, other + same_step, other + other_step


def crossing(solution, quantity, low, high):
    """Time in [low, high] at which quantity(y(t)) changes sign, found in log t."""
    return np.exp(brentq(lambda s: quantity(solution(np.exp(s))), np.log(low), np.log(high), xtol=1e-12))


def planar_velocity(y, M, K, alpha):
    """d(a, g)/dt from the spec's printed derivatives."""
    a, g = y
    masses = np.array([alpha * np.exp(a + g), (1 - alpha) * np.exp(g), (K - 1) * alpha, (K - 1) * (1 - alpha)])
    p, q, s, _ = masses / masses.sum()
    n = p + q
    dL_da = -p * (1 - p) ** 2 - s**2 * p / (K - 1)
    dL_dg = -(1 - p) * p * (1 - n) - s**2 * n / (K - 1)
    return np.array([-dL_da / (M - 1), -dL_dg / (K - 1)])


def papers_velocity(y, M, K, alpha):
    """d(s, u)/dt of the paper's exponents (Eqs. 156-159, 44)."""
    s, u = y
    p = 1 / (1 + (K - 1) * np.exp(-s) + (1 - alpha) / alpha * ((K - 1) * np.exp(-s) + np.exp(-u)))
    return 2 * alpha**2 / K**3 * (1 - p) ** 2, p * (1 - p) ** 2 / (K * M)
