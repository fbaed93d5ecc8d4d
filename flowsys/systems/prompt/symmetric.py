"""Relabelling the patterns: orbits of entries of W, the variables they combine to, how these move, kinds of columns.

A relabelling permutes inputs a_i, outputs b_i and query patterns together and leaves steps alone; 4 + 3K + K² orbits of
entries result. The softmax sees only a = A_s - A_d, b = B_s - B_d and H_k'k = C_k' + G_k'k of them.

Every (cycle, z_0) has the same loss on that subspace, so one task serves: patterns are Z_M, σ = +1, the query's input
is 0. For a query at step k the step-k' column with input u has label u + k', the query's own chain passes u =
T_{k'-1} - T_{k-1} with T_k = k(k + 1)/2, and the target is k. Only the inputs {0, -k', T_{k'-1} - T_{k-1}} are told
apart by the scores or the weights: the other M - |marked| inputs of a step share their attention equally, so they
enter as one kind of column. With M an integer the marked sets are taken mod M. Without wrapping they need M > K(K +
1)/2 (and M > 2), and then M enters only through arithmetic: it may be a symbol.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.prompt.model import Columns


class SymmetricScores(NamedTuple):
    """a = A_s - A_d, b = B_s - B_d and H_k'k = C_k' + G_k'k: all of the scores that relabelling and softmax leave."""

    a: Any
    b: Any
    H: Any

    @classmethod
    def of(cls, y: Any) -> "SymmetricScores":
        """From a flat state (a, b, H)."""
        K = round(np.sqrt(len(y) - 2))
        return cls(y[0], y[1], y[2:].reshape(K, K))


class Orbits(NamedTuple):
    """Means over the orbits of relabelling, of entries of W or of their gradients."""

    A_s: Any  # input × same query pattern
    A_d: Any  # input × other query pattern
    B_s: Any  # output × same query pattern
    B_d: Any
    C: Any  # (K,): step × query pattern
    G: Any  # (K, K): step × query step

    @property
    def scores(self) -> SymmetricScores:
        """What softmax sees of them."""
        return SymmetricScores(self.A_s - self.A_d, self.B_s - self.B_d, self.C.reshape(-1, 1) + self.G)


def orbits_from_zero(symmetric: SymmetricScores, M: Any) -> Orbits:
    """Entries of the flow started at W = 0, where the conserved sums (and all input or output × step) vanish."""
    a, b, H = symmetric
    C = H.sum(axis=1) / (M + H.shape[0])
    return Orbits((M - 1) * a / M, -a / M, (M - 1) * b / M, -b / M, C, H - C.reshape(-1, 1))


def mean_column_gradients(entry: Orbits) -> tuple:
    """Γ = p̃'ᵀ ∇_W L p̃ for a column p̃' of (same, same), (same, other), (other, same), (other, other) (pattern, step).

    A positive Γ means that this score falls. Averages over steps and over prompts, tasks among them, so the label of p̃'
    meets the query's pattern through the "other" output entries only, and the output half of p̃ gets no gradient.
    """
    K = entry.C.shape[0]
    total, same_step = K * entry.C.sum() + entry.G.sum(), entry.C.sum() + entry.G.trace()
    steps = {"same": same_step / K, "other": (total - same_step) / (K * (K - 1))}
    patterns = {"same": entry.A_s + entry.B_d, "other": entry.A_d + entry.B_d}
    return tuple(patterns[p] + steps[s] for p in ("same", "other") for s in ("same", "other"))


def least_unwrapped_M(K: int) -> int:
    """The smallest M at which no two marked labels meet around Z_M and every step has an unmarked input."""
    return max(K * (K + 1) // 2, 2) + 1


def kinds(ops: Any, M: Any, K: int, alpha: Any, modulus: int | None = None) -> list[Columns]:
    """Columns of the queries at steps 1..K; M and alpha may be symbols where `modulus` is None."""
    return [_columns(ops, M, K, alpha, step, modulus) for step in range(1, K + 1)]


def _columns(ops: Any, M: Any, K: int, alpha: Any, step: int, modulus: int | None) -> Columns:
    wrap = (lambda u: u) if modulus is None else (lambda u: u % modulus)
    triangle, steps = [k * (k + 1) // 2 for k in range(K + 1)], range(1, K + 1)
    chain = {k: wrap(triangle[k - 1] - triangle[step - 1]) for k in steps}
    marked = {k: sorted({0, wrap(-k), chain[k]}) for k in steps}
    single, bulk = [(k, u) for k in steps for u in marked[k]], {k: M - len(marked[k]) for k in steps}
    found = [(k, u) for k in steps for u in [*marked[k], None]]  # None: all unmarked inputs
    labels = [*sorted({wrap(u + k) for k, u in single} | {wrap(step)}), None]  # None: every other label
    other_weight = (1 - alpha) / (K * (M - 1))

    def count(k: int, u: int | None) -> Any:
        return bulk[k] * other_weight if u is None else alpha / K if u == chain[k] else other_weight

    def share(k: int, u: int | None, label: int | None) -> Any:
        """The part of a kind's attention that each label of a kind gets."""
        origin = None if label is None or wrap(label - k) not in marked[k] else wrap(label - k)
        if u is None:
            return 1 / bulk[k] if origin is None and len(marked[k]) != modulus else 0
        return int(u == origin)

    shares = ops.array([[share(k, u, label) for k, u in found] for label in labels])
    same_input, same_label = np.array([[int(u == 0), int(u is not None and wrap(u + k) == 0)] for k, u in found]).T
    of_step = np.array([k - 1 for k, _ in found])
    return Columns(
        lambda y: y.a * ops.array(same_input) + y.b * ops.array(same_label) + y.H[of_step, step - 1],
        ops.array([count(k, u) for k, u in found]),
        same_input,
        1 * (of_step == step - 1),
        lambda π: ops.name(f"output_{step}", (shares * π[None, :]).sum(axis=-1)),
        ops.array([int(label == wrap(step)) for label in labels]),
        ops.array([*[1] * (len(labels) - 1), M - len(labels) + 1]),
    )
