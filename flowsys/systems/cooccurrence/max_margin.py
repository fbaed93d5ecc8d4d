"""Late times: the direction and the rates that gradient flow on the bag of words converges to.

G grows like Ĝ·log(time) along the max-margin separator of the four kinds of sentence, Ĝ(x) = Σ_T y_T A_T [x in T] (for
an irrelevant word A_T/n_T), min margin 1. A = total dual weight of a type solves min ½AᵀKA − ΣA, A ≥ 0, with
K_TT' = y_T y_T' (shared special words) + δ_TT' R_T/n_T. Types 1, 2, 3 support it when n is large (type 4 has slack).
"""

from typing import NamedTuple

import numpy as np

from flowsys.model.separator import separator
from flowsys.systems.cooccurrence.sentences import INCIDENCE, LABELS, MIXTURE, SPECIAL_WORDS


class MaxMargin(NamedTuple):
    """The separator: dual weights by type, Ĝ of the 7 word classes, and what follows from them."""

    dual_weights: np.ndarray
    direction: np.ndarray

    @property
    def gradient_ratio(self) -> float:
        """R* = lim −Ġ_3/Ġ_1 (Lemmas 4.3, 4.5, F.6)."""
        return float(-self.direction[2] / self.direction[0])

    @property
    def inverse_squared_margin(self) -> float:
        """lim loss · ∫(c + m1·alpha)dt = 1/γ² (Theorem F.8)."""
        return float(self.dual_weights.sum())

    @property
    def test_exponent(self) -> float:
        """κ of test loss ~ time^−κ on sentences of unseen words: their least margin along Ĝ."""
        return float(np.min(np.array(LABELS) * (INCIDENCE @ self.direction[:3])))

    @property
    def balance(self) -> tuple[float, float]:
        """lim Σg/(g_2 + g_3 + g_4 − g_1) and Σg/(g_1 − g_2), g summed over types (Lemma 4.5)."""
        A = self.dual_weights
        return float(A.sum() / (A[1:].sum() - A[0])), float(A.sum() / (A[0] - A[1]))


def max_margin(n: float, L: float, mixture=MIXTURE) -> MaxMargin:
    """The separator for real L > 3 and real or infinite n."""
    y, sample_counts = np.array(LABELS), n * np.array(mixture) / sum(mixture)
    slots = np.array([L - len(words) for words in SPECIAL_WORDS])
    kinds = y[:, None] * np.hstack([INCIDENCE, np.diag(np.sqrt(slots / sample_counts))])
    A = separator(kinds).dual_weights
    return MaxMargin(A, np.concatenate([INCIDENCE.T @ (y * A), y * A / sample_counts]))
