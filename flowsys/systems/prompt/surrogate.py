"""The paper's own account of training: a lower bound on p driven by two exponents (Eqs. 156-159, 44).

    p = [1 + (K-1) e^-s + (1-α)/α ((K-1) e^-s + e^-u)]^-1,    ds/dt = 2α²/K³ (1-p)²,    du/dt = p (1-p)²/(K M).

s is the score of the query's step, u that of its pattern. The paper has ≳ in du/dt; the constant 1 is a choice made
here.
"""

from typing import Any


def masses(ops: Any, s: Any, u: Any, K: Any, alpha: Any) -> list:
    """Attention on the four kinds of columns (`model.MASSES`), p first (Eq. 156 with s_1 = s_2 and s_3 = u)."""
    other_step, other_pattern, odds = (K - 1) * ops.exp(-s), ops.exp(-u), (1 - alpha) / alpha
    p = 1 / (1 + other_step + odds * (other_step + other_pattern))
    return [p, p * other_step, p * odds * other_pattern, p * odds * other_step]


def velocity(ops: Any, s: Any, u: Any, M: Any, K: Any, alpha: Any) -> tuple:
    """d(s, u)/dt."""
    p = masses(ops, s, u, K, alpha)[0]
    return 2 * alpha**2 / K**3 * (1 - p) ** 2, p * (1 - p) ** 2 / (K * M)
