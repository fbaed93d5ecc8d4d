"""Learning rates of three steps of gradient descent, from Assumption 1, in place of Assumption 2's.

The first step correlates the neurons with S[i], the second turns that into scores, the third reads the attended token
(the three phases of Theorem 3). Assumption 2's rates need astronomical n (Lemma 5).
"""

from typing import NamedTuple

import numpy as np

from flowsys.systems.parity.data import check_positive


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
