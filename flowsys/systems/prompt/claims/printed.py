"""What the paper prints: the bounds of Lemma F.5 on the gradients Γ of the four kinds of columns, and its times.

Times are in units of η × iterations and, as in the paper, up to a constant.
"""

from typing import Any, NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """Lower and upper bound; None where the lemma has none."""

    lower: Any
    upper: Any


def stage_1_bounds(p: Any, M: int, K: int, alpha: float) -> dict[str, Bounds]:
    """Lemma F.5, Eqs. (30)-(33), at attention p on the query's pattern and step (average the bounds over prompts)."""
    x, r = 1 - p, alpha**2 / K**2
    other_step = (-4 - (3 * K - 2) * x * (1 + r)) * p * x / (K * M)
    same_step = (-r + (K - 1 + (2 * K - 1) * r) * p) * x**2 / (K * M) - x**2 * r / K
    return {
        "same_same": Bounds(
            None, x**2 * (-4 * p * (1 + r) + r * (1 + 2 * (K - 1) / K)) / (K * M) - r / K * x**2
        ),  # Eq. (30)
        "same_other": Bounds(other_step + r / K * x**2, other_step + p * x**2 * (1 + r) / K),  # Eq. (31)
        "other_same": Bounds(same_step + x**2 * (-p + x * r) / K, same_step),  # Eq. (32)
        "other_other": Bounds(
            p * x**2 * (1 + (2 - K) * r) / (K * M) + x**2 * r / K,
            p * x**2 * (2 - K + (2 - K) * r) / (K * M) + x**2 * p * (1 + r) / K,
        ),  # Eq. (33)
    }


def stage_1_time(epsilon, K, alpha):
    """T_1 of Eq. (34): α^-2 K³ log(K/ε)."""
    return K**3 * np.log(K / np.asarray(epsilon)) / alpha**2


def stage_2_time(M, K, alpha):
    """T_2 of Eq. (46): K M / α."""
    return K * M / alpha


def stage_3_time(epsilon, M, K):
    """T_3 of Eq. (54): K M / ε, to (1 - p)² = ε."""
    return K * M / np.asarray(epsilon)


def training_time(epsilon, M, K, alpha):
    """The iterations of Theorem 1, Eq. (18), times η; its first term has α^-1 where Eq. (34) has α^-2."""
    return K**3 * np.log(K / np.asarray(epsilon)) / alpha + M * K * (1 / alpha + 1 / np.asarray(epsilon))


def pattern_score_bound(t, M, K, alpha):
    """u(t) ≥ ½ log((1 - α)² t / (α² K M)) for large t (Eq. 49)."""
    return np.log((1 - alpha) ** 2 * np.asarray(t) / (alpha**2 * K * M)) / 2
