"""Three steps of gradient descent on the population loss, in closed form (infinite width, orthonormal tokens).

From Assumption 1 the first step correlates the neurons with S[i], the second turns that into scores, the third reads
the attended token (the three phases of Theorem 3). The formulas are exact for the linear loss with frozen gates; the
third step's change of the scores, of order 1-s once attention is one-hot, is left out.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flowsys.systems.parity.data import check_positive, check_secret_count


class Rates(NamedTuple):
    """Learning rates of the three steps."""

    eta_0: float
    eta_1: float
    eta_2: float


def usable_rates(n: int, m: float, epsilon: float, rho: float = 0.3, eta_2: float | None = None) -> Rates:
    """η_0 = η_1 = ρ·4mnε: ρ is the shift of a neuron's input over ε once attention is on S[i], so gates need ρ < 1.

    η_2 defaults to the 16mε/3 that shifts the input by 2ε/3, as Theorem 3 intends; Lemma 25 uses 4mε/3.
    """
    check_positive("rho", rho)
    eta = rho * 4 * m * n * epsilon
    return Rates(eta, eta, 16 * m * epsilon / 3 if eta_2 is None else eta_2)


def batch_rates(m: float, epsilon: float, batch: int, c: float, eta_2: float | None = None) -> Rates:
    """η_0 = η_1 = c·mε√B: as large as the noise of a batch allows the gates to stay (c ≲ 0.5)."""
    check_positive("c", c)
    eta = c * m * epsilon * np.sqrt(batch)
    return Rates(eta, eta, 16 * m * epsilon / 3 if eta_2 is None else eta_2)


@dataclass(frozen=True)
class ThreeStep:
    """Per position i = n+1..n+k: signals after each step, scores after the second, attention and margin after it.

    At n+2 token (S[n+2], β) has score u + (-1)^β `split`; v, w and `s_target` there leave out the common mode.
    """

    i: np.ndarray
    g_1: np.ndarray
    g_2: np.ndarray
    g_3: np.ndarray
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    s_target: np.ndarray
    split: float
    common_mode: float


def three_step(n: int, k: int, m: float, rates: Rates) -> ThreeStep:
    """The population map, from Assumption 1."""
    check_secret_count(n, k)
    check_positive("m", m)
    i = np.arange(n + 1, n + k + 1)
    first = i == n + 1
    # the query token (n+1, 0) always occurs, and its own overlap adds to the common mode: 4 times the others' rate
    # (k = 1 has the same diagonal overlap, so the same rate)
    gain = np.where(first, 1 / (8 * m), 1 / (32 * m))
    g_1 = rates.eta_0 * gain / i
    g_2 = (rates.eta_0 + rates.eta_1) * gain / i
    u = rates.eta_1 * np.where(first, 1 / 2, 1 / 4) * g_1 / i * (1 - 1 / i)
    v, w = -u / (i - 1), -2 * u / (i - 1)
    n_sure = np.where(first, 1, 2)
    s = 1 / (1 + (i - 1 - n_sure) * np.exp(v - u) + n_sure * np.exp(w - u))
    common_mode = rates.eta_0 / (16 * m * (n + 1)) if k > 1 else 0.0
    split = -rates.eta_1 / (4 * (n + 2) ** 2) * common_mode
    return ThreeStep(i, g_1, g_2, g_2 + rates.eta_2 * gain * s, u, v, w, s, split, common_mode)
