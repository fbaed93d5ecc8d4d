"""The exact population system on the symmetric subspace: 2 + K² variables, at a cost that does not depend on M.

Every (cycle, z_0) has the same loss there, so one task serves: patterns are Z_M, σ = +1, the query's input is 0.
For a query at step k the step-k' column with input u has label u + k', the query's own chain passes u = T_{k'-1} -
T_{k-1} with T_k = k(k + 1)/2, and the target is k. Only the inputs {0, -k', T_{k'-1} - T_{k-1}} are told apart by
the scores or the weights: the other M - |marked| inputs of a step share their attention equally, so they enter as
one kind of column.

With M an integer the marked sets are taken mod M. Without wrapping they need M > K(K + 1)/2 (and M > 2), and then M
enters only through arithmetic: it may be a symbol.
"""

import numpy as np

from flowsys.errors import InputError

from .checks import check_count, check_fraction
from .model import Columns
from .orbits import SymmetricScores


def least_unwrapped_M(K: int) -> int:
    """The smallest M at which no two marked labels meet around Z_M and every step has an unmarked input."""
    return max(K * (K + 1) // 2, 2) + 1


def columns(ops, M, K: int, alpha, step: int, modulus: int | None = None) -> Columns:
    """Kinds of columns for a query at step k = `step`; M and alpha may be symbols when `modulus` is None."""

    def wrap(u):
        return u if modulus is None else u % modulus

    triangle = [k * (k + 1) // 2 for k in range(K + 1)]
    steps = range(1, K + 1)
    chain = {k: wrap(triangle[k - 1] - triangle[step - 1]) for k in steps}
    marked = {k: sorted({0, wrap(-k), chain[k]}) for k in steps}
    labels = sorted({wrap(u + k) for k in steps for u in marked[k]} | {wrap(step)})
    kinds = [(k, u) for k in steps for u in [*marked[k], None]]  # None: all unmarked inputs
    n_unmarked = {k: M - len(marked[k]) for k in steps}
    other_weight = (1 - alpha) / (K * (M - 1))

    def count(k, u):
        if u is None:
            return n_unmarked[k] * other_weight
        return alpha / K if u == chain[k] else other_weight

    def share(k, u, label):
        if u is None:
            is_unmarked = label is None or wrap(label - k) not in marked[k]
            return 1 / n_unmarked[k] if is_unmarked and len(marked[k]) != modulus else 0
        return int(label is not None and wrap(label - k) == u)

    return Columns(
        step=np.array([k - 1 for k, _ in kinds]),
        same_input=np.array([int(u == 0) for _, u in kinds]),
        same_label=np.array([int(u is not None and wrap(u + k) == 0) for k, u in kinds]),
        same_step=np.array([int(k == step) for k, _ in kinds]),
        counts=ops.array([count(k, u) for k, u in kinds]),
        shares=ops.array([[share(k, u, label) for k, u in kinds] for label in [*labels, None]]),
        target=np.array([int(label == wrap(step)) for label in [*labels, None]]),
        multiplicity=ops.array([*[1] * len(labels), M - len(labels)]),
    )


def kinds(ops, M: int, K: int, alpha) -> list[Columns]:
    """Columns of the queries at steps 1..K for any integer M."""
    check_count("K", K, 1)
    check_count("M", M, 2)
    if isinstance(alpha, int | float):
        check_fraction("alpha", alpha)
    return [columns(ops, M, K, alpha, step, modulus=M) for step in range(1, K + 1)]


def unwrapped_kinds(ops, M, K: int, alpha) -> list[Columns]:
    """Columns of the queries at steps 1..K for M ≥ `least_unwrapped_M(K)`, a number, traced number or symbol."""
    if isinstance(M, int) and least_unwrapped_M(K) > M:
        raise InputError(f"M = {M}, but with K = {K} the unwrapped columns need M of at least {least_unwrapped_M(K)}.")
    return [columns(ops, M, K, alpha, step) for step in range(1, K + 1)]


def velocity(gradient: SymmetricScores, M) -> SymmetricScores:
    """-P ∂L: entries move with minus their gradient, and a variable stands for M, M(M - 1) or one of them."""
    a, b, H = gradient
    return SymmetricScores(-a / (M - 1), -b / (M - 1), -H - H.sum(axis=1).reshape(-1, 1) / M)
