"""Verified logarithmic norms: how fast two nearby solutions can part.

For A = W J W⁻¹ with W diagonal (powers of 2), the Euclidean logarithmic norm is the largest eigenvalue of (A + Aᵀ)/2.
With any upper triangular R, c·I - (A + Aᵀ)/2 = RᵀR + E gives λ_max ≤ c + ‖E‖: R comes from a Cholesky factorisation in
floats that need not be trusted, E is bounded with all roundings.
"""

import numpy as np
from flint import arb

_EPSILON = 2.0**-52
_TINY = 1e-290
_ROOM = 1 + 2.0**-5  # for whoever bounds the same widths in another way


def midpoints_and_radii(rows: list[list[arb]]) -> tuple[np.ndarray, np.ndarray]:
    """Balls as float midpoints and radii, rounded outward."""
    middle = np.array([[float(x.mid()) for x in row] for row in rows])
    radius = np.array([[float(x.rad()) for x in row] for row in rows])
    if not (np.isfinite(middle).all() and np.isfinite(radius).all()):
        return middle, np.full_like(radius, np.inf)
    exact = (middle == 0) & (radius == 0)
    return middle, np.where(exact, 0.0, radius * (1 + 4 * _EPSILON) + np.abs(middle) * 2 * _EPSILON + _TINY)


def logarithmic_norm(jacobian: list[list[arb]], exponents: np.ndarray) -> tuple[float, float]:
    """An upper bound of the logarithmic norm of every matrix in `jacobian`, in the norm |W·| with W = 2^exponents.

    With it, how much of the bound is due to the width of the entries.
    """
    middle, radius = midpoints_and_radii(jacobian)
    n = len(middle)
    if not n:
        return 0.0, 0.0
    scale = np.ldexp(1.0, exponents[:, None] - exponents[None, :])  # exact: powers of 2
    middle, radius = middle * scale, radius * scale
    symmetric = (middle + middle.T) / 2
    wide = (radius + radius.T) / 2 + _EPSILON * (np.abs(middle) + np.abs(middle.T)) + _TINY
    wide = wide * (1 + 4 * _EPSILON)
    if not np.isfinite(wide).all():
        return float("inf"), float("inf")
    largest = float(np.linalg.eigvalsh(symmetric)[-1])
    size = float(np.abs(symmetric).sum(axis=1).max()) + _TINY
    for slack in (1e-13, 1e-11, 1e-9):
        c = largest + slack * size * n
        shifted = c * np.eye(n) - symmetric
        try:
            factor = np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            continue
        product = factor @ factor.T
        rounding = (n + 4) * _EPSILON * (np.abs(factor) @ np.abs(factor).T + np.abs(shifted) + abs(c)) + _TINY
        error = np.abs(shifted - product) + 2 * rounding
        width = spectral_radius(wide) * _ROOM
        return _up(_up(c + _row_sum(error)) + width), width
    return _up(size + _row_sum(wide)), _row_sum(wide)  # Gershgorin: no factor was found


def spectral_radius(nonnegative: np.ndarray) -> float:
    """An upper bound of the norm of every symmetric matrix with entries of at most this size (Collatz, Wielandt)."""
    vector = np.ones(len(nonnegative))
    best = _row_sum(nonnegative)
    for _ in range(4):
        vector = nonnegative @ vector
        vector = vector / vector.max() + 1e-6
        best = min(best, float(((nonnegative @ vector) * (1 + (len(vector) + 4) * _EPSILON) / vector).max()))
    return _up(best)


def _row_sum(matrix: np.ndarray) -> float:
    return float(matrix.sum(axis=1).max()) * (1 + (len(matrix) + 2) * _EPSILON)


def _up(x: float) -> float:
    return float(np.nextafter(x + abs(x) * 4 * _EPSILON, np.inf))
