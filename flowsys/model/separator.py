"""The max-margin separator of few vectors: what gradient flow of a logistic loss turns to, and how separable they are.

The margin γ = max_|z|=1 min_i x_i·z is the distance from 0 to the convex hull of the x_i. Its nearest point, Σ p_i x_i,
is found by non-negative least squares,

    min_(a ≥ 0) |Xᵀa|² + M² (1ᵀa - 1)²,      p = a / 1ᵀa,

which is exact for any M > 0, because the penalty only rescales a. Squares lose a margin below 1e-8 of the vectors, so
from there Wolfe's algorithm goes on, which compares products x_i·z: the nearest point of the affine hull of those x_i
that count, one more of them while some x_j lies nearer along z, less those whose share would be negative. All of it is
done in units of the largest entry, so that the margin scales with the vectors. The dual weights of the
separator with margins ≥ 1, argmin_(A ≥ 0) ½|XᵀA|² - 1ᵀA, are A = p/γ², and ΣA = γ⁻².
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

SMALLEST = 1e-13  # of the largest entry: a margin below is rounding
ROUNDING = 1e-14
MOST_STEPS = 1000


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
    n, size = len(vectors), float(np.abs(vectors).max())
    if size == 0:
        return Separator(0.0, np.full(n, 1 / n), np.zeros(vectors.shape[1]))
    x = vectors / size
    a, _ = nnls(np.vstack([x.T, np.ones(n)]), np.append(np.zeros(x.shape[1]), 1.0))
    shares = _nearest(x, a / a.sum())
    nearest = x.T @ shares
    length = float(np.linalg.norm(nearest))
    return Separator(size * length if length >= SMALLEST else 0.0, shares, size * nearest)


def _nearest(x: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Shares of the point of the hull nearest to 0, from shares near them (Wolfe's algorithm)."""
    count = [int(i) for i in np.flatnonzero(shares > 0)]
    for _ in range(MOST_STEPS):
        while True:
            wanted = _of_affine_hull(x[count])
            if (wanted > 0).all():
                break
            have = shares[count]
            falling = np.flatnonzero(wanted <= 0)
            part = have[falling] / (have[falling] - wanted[falling])
            shares[count] = np.maximum(have + part.min() * (wanted - have), 0.0)
            shares[count[falling[int(part.argmin())]]] = 0.0
            count = [i for i in count if shares[i] > 0]
        shares[count] = wanted
        nearest = x.T @ shares
        products = x @ nearest
        length = float(np.linalg.norm(nearest))
        nearer = int(products.argmin())
        if nearer in count or length < SMALLEST or length**2 - products[nearer] <= ROUNDING * length:
            break
        count.append(nearer)
    return shares


def _of_affine_hull(x: np.ndarray) -> np.ndarray:
    """Shares, of any sign, of the point nearest to 0 in the affine hull of the rows."""
    base = int(
        (x**2).sum(axis=1).argmin()
    )  # its share is the large one, so that the others are not found as differences
    differences = np.delete(x, base, axis=0) - x[base]
    others = np.linalg.lstsq(differences.T, -x[base], rcond=None)[0]
    others += np.linalg.lstsq(differences.T, -x[base] - differences.T @ others, rcond=None)[0]
    return np.insert(others, base, 1 - others.sum())
