"""The one-layer attention-only transformer and its loss, once, in every set of coordinates it is read in.

Columns are (input; output; 0) + c_k in R^(2 d_X + K), with c_k the k-th unit vector of the last block (the paper's
third zero block of W_V leaves no other place for it; App. B). The merged W is trained whole; the loss sees it only
through its entries S between the orthonormal frames {inputs a_i, outputs b_i, steps c_k} of keys and {a_i, c_k} of
queries. A query at step k with pattern z_{k-1} scores a column by a sum of such entries; with W_V = (0 I 0) the output
F puts on every pattern the attention its columns as a label get, and the loss is ½ Σ_v (F_v - 1[v = z_k])² (Eqs. 2, 3).

Two readings of the same loss: in all frame entries, prompt by prompt (`prompt_loss`), and in the three kinds of entries
that survive the average over relabelled tasks (`population_losses`, exact for the population). `ops` is
`flowsys.model.ops` or its symbolic twin.
"""

from typing import Any, NamedTuple

import numpy as np

import flowsys as fs
from flowsys.errors import InputError

MASSES = {
    "same_same": "the query's pattern and step",
    "same_other": "the query's pattern at other steps",
    "other_same": "other patterns at the query's step",
    "other_other": "other patterns at other steps",
}
"""Kinds of columns: (pattern, step) of the query."""


# -- weights ----------------------------------------------------------------------------------------------------------


def orthonormal_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """n orthonormal rows in R^d, uniformly distributed."""
    Q, R = np.linalg.qr(rng.standard_normal((d, n)))
    return (Q * np.sign(np.diagonal(R))).T


def frames(p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows a_i, b_i, c_k that keys are sums of, and rows a_i, c_k that queries are sums of."""
    M, K, d_X = p.M, p.K, p.d_X
    patterns, D = orthonormal_rows(np.random.default_rng(0), M, d_X), 2 * d_X + K
    a, b, c = np.zeros((M, D)), np.zeros((M, D)), np.eye(D)[2 * d_X :]
    a[:, :d_X] = b[:, d_X : 2 * d_X] = patterns
    return np.concatenate([a, b, c]), np.concatenate([a, c])


def blocks(p: Any) -> dict[str, fs.Direct]:
    """W with independent N(0, ξ²) entries (Algorithm 1, line 2), seen through its frame entries; 0 in the limit."""
    if p.d_X < p.M:
        raise InputError(f"d_X = {p.d_X} is not allowed: it must be at least M = {p.M}.")
    (keys, queries), D = frames(p), 2 * p.d_X + p.K
    start = lambda rng, ξ=p.xi: ξ * rng.standard_normal((D, D))
    return {"W": fs.Direct(D, D, start=start, limit=0.0, read=lambda W: keys @ W @ queries.T)}


# -- prompt by prompt -------------------------------------------------------------------------------------------------


def column_counts(X: Any, p: Any) -> Any:
    """How often every column (n, K, M) stands in its prompt: the weights α, (1 - α)/(M - 1) of endless prompts."""
    n, M = X.origins.shape[0], X.origins.shape[2]
    matching = 1 * (X.start.reshape(n, 1, 1) == np.arange(M).reshape(1, 1, M))
    endless = X.endless.reshape(n, 1, 1)
    return endless * matching * p.alpha + endless * (1 - matching) * ((1 - p.alpha) / (M - 1)) + X.listed


def column_scores(S: Any, X: Any) -> Any:
    """Score (n, K, M) of every column for its prompt's query, from the frame entries S (2M + K, M + K)."""
    n, K, M = X.origins.shape
    of_query = (S[:, X.query] + S[:, M + X.step]).T
    row = np.arange(n).reshape(n, 1, 1)
    on_inputs, on_labels = of_query[row, X.chains[:, :-1]], of_query[row, M + X.chains[:, 1:]]
    return on_inputs + on_labels + of_query[:, 2 * M :].reshape(n, K, 1)


def attention(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """Attention (n, K, M) on every column."""
    shape = X.origins.shape
    flat = lambda array: array.reshape(shape[0], -1)
    found = lambda: ops.softmax(flat(column_scores(w.W, X)), flat(column_counts(X, p))).reshape(shape)
    return w.once("attention", X, found)


def residual(π: Any, X: Any) -> Any:
    """F - z_k in pattern coordinates (n, M), from the attention."""
    n, K, M = X.origins.shape
    row, step = np.arange(n).reshape(n, 1, 1), np.arange(K).reshape(1, K, 1)
    return π[row, step, X.origins].sum(axis=1) - 1 * (X.target.reshape(n, 1) == np.arange(M).reshape(1, M))


def prompt_loss(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """½ ‖F - z_k‖² of every prompt."""
    if p.mode == "planar":
        raise InputError("mode = planar is allowed at level L3 (symmetric) only: it is a limit of it.")
    r = residual(attention(ops, w, X, p), X)
    return (r * r).sum(axis=-1) / 2


def four_masses(ops: Any, attention: Any, same_input: Any, same_step: Any) -> Any:
    """Sums of `attention` over the four combinations of the two 0/1 indicators, as a last axis (`MASSES`)."""
    products = [u * k for u in (same_input, 1 - same_input) for k in (same_step, 1 - same_step)]
    return ops.stack([(attention * ops.array(product)).sum(axis=-1) for product in products]).T


def by_kind(ops: Any, of_columns: Any, X: Any) -> Any:
    """Attention (n, K, M), or its rates, summed over the four kinds of columns: (n, 4)."""
    n, K, M = X.origins.shape
    flat = lambda array: array.reshape(n, K * M)
    same_input = 1 * (X.chains[:, :-1] == X.query.reshape(n, 1, 1))
    same_step = 1 * (np.arange(K).reshape(1, K, 1) == X.step.reshape(n, 1, 1)) * np.ones((1, 1, M), dtype=int)
    return four_masses(ops, flat(of_columns), flat(same_input), flat(same_step))


def prompt_masses(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """Attention (n, 4) on the four kinds of columns."""
    return w.once("masses", X, lambda: by_kind(ops, attention(ops, w, X, p), X))


def prompt_mass_rates(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """How fast it moves (n, 4): dπ = π (ds - Σ π ds)."""
    π, ds = attention(ops, w, X, p), column_scores(w.rates.W, X)
    return by_kind(ops, π * (ds - (π * ds).sum(axis=(1, 2)).reshape(-1, 1, 1)), X)


# -- by kinds of columns, on the symmetric subspace -------------------------------------------------------------------


class Columns(NamedTuple):
    """Kinds of columns that one query step tells apart in the population, and kinds of labels they lead to."""

    step: np.ndarray  # (c,): k' - 1
    same_input: np.ndarray  # (c,): 1 if the column's input is the query's pattern
    same_label: np.ndarray  # (c,): 1 if the column's label is the query's pattern
    counts: Any  # (c,): total weight of the kind in the prompt
    shares: Any  # (v, c): part of the kind's attention that goes to each single label of kind v
    target: np.ndarray  # (v,): 1 for the label z_k
    multiplicity: Any  # (v,): how many labels are of kind v


def kind_scores(ops: Any, a: Any, b: Any, H: Any, kinds: list[Columns]) -> list:
    """Scores a 1[u = z] + b 1[label = z] + H_k'k of the kinds of columns; `kinds[k - 1]` are those of a query at k."""
    return [a * ops.array(columns.same_input) + b * ops.array(columns.same_label) + H[columns.step, step]
            for step, columns in enumerate(kinds)]  # fmt: skip


def kind_attention(ops: Any, a: Any, b: Any, H: Any, kinds: list[Columns]) -> list:
    """Attention on the kinds of columns, by the query's step."""
    return [ops.softmax(s, columns.counts) for s, columns in zip(kind_scores(ops, a, b, H, kinds), kinds)]


def population_losses(ops: Any, a: Any, b: Any, H: Any, kinds: list[Columns]) -> list:
    """L_k, k = 1..K; the population loss is their mean."""
    losses = []
    for k, (π, columns) in enumerate(zip(kind_attention(ops, a, b, H, kinds), kinds), start=1):
        F = ops.name(f"output_{k}", (columns.shares * π[None, :]).sum(axis=-1))
        r = F - ops.array(columns.target)
        losses.append(ops.name(f"L_{k}", (columns.multiplicity * r * r).sum(axis=-1) / 2))
    return losses


def total_masses(ops: Any, attention: list, kinds: list[Columns]) -> list:
    """Sums of attention (or of its rates) on the four kinds of (pattern, step), by the query's step."""
    return [four_masses(ops, π, columns.same_input, 1 * (columns.step == k))
            for k, (π, columns) in enumerate(zip(attention, kinds))]  # fmt: skip
