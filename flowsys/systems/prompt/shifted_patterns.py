"""Test patterns in the span of the training patterns (Eq. 22), and the one direction that training never learns.

Σ_i S_{a_i v} is conserved, so from W(0) = 0 the input block is a (I - 11ᵀ/M): a test pattern of overlap λ with
1/√M, 1 = Σ_i μ_i, gains only μ'ᵀ W μ' = a (1 - λ²). At λ = 1 its attention never leaves the share α' of its
examples, however long the training or the prompt.
"""

import numpy as np

from .checks import check_count, check_fraction


def rotated_patterns(rng: np.random.Generator, patterns, M_test: int) -> np.ndarray:
    """M' orthonormal patterns, uniformly distributed in the span of the rows of `patterns`."""
    patterns = np.asarray(patterns, dtype=float)
    check_count("M_test", M_test, 1, len(patterns))
    return _orthonormal_rows(rng, M_test, len(patterns)) @ patterns


def overlapping_patterns(rng: np.random.Generator, patterns, M_test: int, overlap: float) -> np.ndarray:
    """M' orthonormal patterns, the first with the given overlap λ with the blind direction, the others random."""
    patterns = np.asarray(patterns, dtype=float)
    M = len(patterns)
    check_count("M_test", M_test, 1, M - 1)
    check_fraction("overlap", overlap, closed="01")
    blind = np.full((1, M), M**-0.5)
    sighted = _orthonormal_rows(rng, M_test, M - 1) @ _complement(blind)
    sighted[0] = overlap * blind + np.sqrt(1 - overlap**2) * sighted[0]
    return sighted @ patterns


def complement(test_patterns) -> np.ndarray:
    """An orthonormal basis, as rows, of the directions that noise may take: δ ⊥ span(M') (Eq. 14)."""
    return _complement(np.asarray(test_patterns, dtype=float))


def _complement(rows):
    return np.linalg.svd(rows)[2][len(rows) :]


def _orthonormal_rows(rng, n, d):
    Q, R = np.linalg.qr(rng.standard_normal((d, n)))
    return (Q * np.sign(np.diagonal(R))).T
