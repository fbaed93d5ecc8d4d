"""The max-margin separator of few vectors: what gradient flow of a logistic loss turns to, and how separable they are.

The margin γ = max_|z|=1 min_i x_i·z is the distance from 0 to the convex hull of the x_i. Its nearest point, Σ p_i x_i,
is found by non-negative least squares,

    min_(a ≥ 0) |Xᵀa|² + M² (1ᵀa - 1)²,      p = a / 1ᵀa,

which is exact for any M > 0, because the penalty only rescales a. The dual weights of the separator with margins ≥ 1,
argmin_(A ≥ 0) ½|XᵀA|² - 1ᵀA, are A = p/γ², and ΣA = γ⁻².
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls


class Separator(NamedTuple):
    """γ (0 if the vectors cannot be separated), p, and the nearest point of the hull."""

    margin: float
    shares: np.ndarray
    nearest: np.ndarray

    @property
    def dual_weights(self) -> np.ndarray:
        return self.shares / self.margin**2


def separator(vectors: np.ndarray) -> Separator:
    """The max-margin separator of the rows."""
    n, size = len(vectors), max(1.0, float(np.abs(vectors).max()))
    a, _ = nnls(np.vstack([vectors.T, size * np.ones(n)]), np.append(np.zeros(vectors.shape[1]), size))
    shares = a / a.sum() if a.sum() > 0 else a
    nearest = vectors.T @ shares
    length = float(np.linalg.norm(nearest))
    margin = 0.0 if length < 1e-9 * size else max(float((vectors @ nearest).min()) / length, 0.0)
    return Separator(margin, shares, nearest)
