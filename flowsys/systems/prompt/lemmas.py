"""The bounds that Lemmas F.5 and F.7 put on the gradients Γ of the four kinds of columns (`Gamma_same_same` …)."""

from typing import Any, NamedTuple


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
