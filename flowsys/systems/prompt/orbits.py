"""Relabelling the patterns: the orbits of score entries, and the symmetric variables they combine to.

A relabelling permutes inputs a_i, outputs b_i and query patterns together and leaves steps alone; 4 + 3K + K² orbits of
entries result. The softmax sees only a = A_s - A_d, b = B_s - B_d and H_k'k = C_k' + G_k'k of them.
"""

from typing import NamedTuple


class SymmetricScores(NamedTuple):
    """a = A_s - A_d, b = B_s - B_d and H_k'k = C_k' + G_k'k: all of the scores that relabelling and softmax leave."""

    a: object
    b: object
    H: object


class Orbits(NamedTuple):
    """Means of S over the orbits of relabelling: 4 + 3K + K² numbers."""

    A_s: object  # input × same query pattern
    A_d: object  # input × other query pattern
    B_s: object  # output × same query pattern
    B_d: object
    C: object  # (K,): step × query pattern
    D: object  # (K,): input × query step
    E: object  # (K,): output × query step
    G: object  # (K, K): step × query step


def orbits_from_zero(symmetric: SymmetricScores, M) -> Orbits:
    """Orbit values of the flow started at W = 0, where the conserved sums vanish."""
    a, b, H = symmetric
    K = H.shape[0]
    C = H.sum(axis=1) / (M + K)
    zero = 0 * C
    return Orbits((M - 1) * a / M, -a / M, (M - 1) * b / M, -b / M, C, zero, zero, H - C.reshape(K, 1))
