"""Entry gradients of the population loss, and the bounds that Lemmas F.5 and F.7 put on them.

Γ = p̃'ᵀ ∇_W L p̃ for a column p̃ of step k and a column p̃' of the same or another pattern and step; a positive Γ
means that this score falls. The lemmas average over prompts, tasks among them, so the label of p̃' meets the
query's pattern through the "other" output entries only, and the output half of p̃ gets no gradient. In the
symmetric subspace an entry gradient is the gradient of its variable divided by the number of entries it stands for.
"""

from typing import NamedTuple

from .orbits import SymmetricScores


class EntryGradients(NamedTuple):
    """∇_W L between one key token and one query token, by orbit."""

    A_s: object
    A_d: object
    B_s: object
    B_d: object
    C: object  # (K,): step k' × query pattern
    G: object  # (K, K): step k' × query step


class Bounds(NamedTuple):
    """Lower and upper bound; None where the lemma has none."""

    lower: object
    upper: object


def entry_gradients(gradient: SymmetricScores, M) -> EntryGradients:
    """Entry gradients from ∂L/∂(a, b, H)."""
    a, b, H = gradient
    n_other = M * (M - 1)
    return EntryGradients(a / M, -a / n_other, b / M, -b / n_other, H.sum(axis=1) / M, H)


def mean_column_gradients(entry: EntryGradients) -> tuple:
    """Γ for p̃' of (same, same), (same, other), (other, same), (other, other) (pattern, step), each averaged over steps.

    On numbers, symbols or traced arrays.
    """
    K = entry.C.shape[0]
    total, same_step = K * entry.C.sum() + entry.G.sum(), entry.C.sum() + entry.G.trace()
    steps = {"same": same_step / K, "other": (total - same_step) / (K * (K - 1))}
    patterns = {"same": entry.A_s + entry.B_d, "other": entry.A_d + entry.B_d}
    return tuple(patterns[p] + steps[s] for p in ("same", "other") for s in ("same", "other"))


def stage_1_bounds(p, M, K, alpha) -> dict[str, Bounds]:
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
