"""The one-layer attention-only transformer and its loss, once, in every set of coordinates it is read in.

Columns are (input; output; 0) + c_k in R^(2 d_X + K), with c_k the k-th unit vector of the last block (the paper's
third zero block of W_V leaves no other place for it; App. B). The merged W is trained whole; the loss sees it only
through its entries S between the orthonormal frames {inputs a_i, outputs b_i, steps c_k} of keys and {a_i, c_k} of
queries. A query at step k with pattern z_{k-1} scores a column by a sum of such entries; with W_V = (0 I 0) the output
F puts on every pattern the attention its columns as a label get, and the loss is ½ Σ_v (F_v - 1[v = z_k])² (Eqs. 2, 3).

The loss is read off `Columns`, and so are attention and how it moves: off all columns of prompts in all frame entries
(here), and off kinds of columns in the three kinds of entries that survive the average over relabelled tasks
(`symmetric`, exact for the population). `ops` is `flowsys.model.ops` or its symbolic twin.
"""

from collections.abc import Callable
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


# -- what a query sees ------------------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """The columns (…, c) of prompts, all of them or in kinds that nothing tells apart, and labels (…, v) likewise."""

    scores: Callable[[Any], Any]  # linear in what W is known by: entries of W, or a, b, H; of their rates too
    counts: Any  # weight in the prompt
    same_input: np.ndarray  # 1 if the column's input is the query's pattern
    same_step: np.ndarray
    output: Callable[[Any], Any]  # what attention puts on every label
    target: np.ndarray  # 1 for the label z_k
    multiplicity: Any = 1  # how many labels are of this kind


def attention(ops: Any, weights: Any, columns: Columns) -> Any:
    """Attention on every column, or every kind of them."""
    return ops.softmax(columns.scores(weights), columns.counts)


def loss(π: Any, columns: Columns) -> Any:
    """½ ‖F - z_k‖² from the attention."""
    r = columns.output(π) - columns.target
    return (columns.multiplicity * r * r).sum(axis=-1) / 2


def masses(ops: Any, π: Any, columns: Columns) -> Any:
    """Sums of attention, or of its rates, on the four kinds of columns (`MASSES`), as a last axis."""
    products = [u * k for u in (columns.same_input, 1 - columns.same_input)
                for k in (columns.same_step, 1 - columns.same_step)]  # fmt: skip
    return ops.stack([(π * ops.array(product)).sum(axis=-1) for product in products]).T


def mass_rates(ops: Any, π: Any, moving: Any, columns: Columns) -> Any:
    """How fast they move with the rates of the weights: dπ = π (ds - Σ π ds)."""
    ds = columns.scores(moving)
    return masses(ops, π * (ds - (π * ds).sum(axis=-1, keepdims=True)), columns)


# -- prompt by prompt -------------------------------------------------------------------------------------------------


def columns(X: Any, p: Any) -> Columns:
    """All K M columns of every prompt, scored by the frame entries S (2M + K, M + K).

    Endless prompts hold a column with its weight, α or (1 - α)/(M - 1), others as often as it is listed.
    """
    n, K, M = X.origins.shape
    of_prompt = lambda array: array.reshape(n, 1, 1)
    row, step, patterns = of_prompt(np.arange(n)), np.arange(K).reshape(1, K, 1), np.arange(M)
    flat = lambda array: array.reshape(n, K * M)

    def scores(S: Any) -> Any:
        of_query = (S[:, X.query] + S[:, M + X.step]).T
        on_inputs, on_labels = of_query[row, X.chains[:, :-1]], of_query[row, M + X.chains[:, 1:]]
        return flat(on_inputs + on_labels + of_query[:, 2 * M :].reshape(n, K, 1))

    matching, endless = 1 * (of_prompt(X.start) == patterns), of_prompt(X.endless)
    return Columns(
        scores,
        flat(endless * matching * p.alpha + endless * (1 - matching) * ((1 - p.alpha) / (M - 1)) + X.listed),
        flat(1 * (X.chains[:, :-1] == of_prompt(X.query))),
        flat(1 * (step == of_prompt(X.step)) * np.ones((1, 1, M), dtype=int)),
        lambda π: π.reshape(n, K, M)[row, step, X.origins].sum(axis=1),
        1 * (X.target.reshape(n, 1) == patterns),
    )


def shown(ops: Any, w: Any, X: Any, p: Any) -> tuple[Any, Columns]:
    """Attention (n, K M) on every column of the prompts at hand, and these."""
    found = w.once("columns", X, lambda: columns(X, p))
    return w.once("attention", X, lambda: attention(ops, w.W, found)), found


def prompt_loss(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """½ ‖F - z_k‖² of every prompt."""
    return loss(*shown(ops, w, X, p))
