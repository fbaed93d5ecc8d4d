"""What is read off the block at every level that follows sequences, once for neurons and for frozen gates.

Position i has the names of the limit (g, u, v, w, s_target, …); all positions together have their extremes and shares.
A `form` is what the network is written in: `model.Network`, `frozen.Frozen` or `frozen.Limit`.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.parity.model import attention


class View(NamedTuple):
    """How position i is read: its number 0 … k-1, averages of K (queries × keys) and of a (keys × queries).

    `targets` marks the scores of S[i] at every position (keys × queries).
    """

    number: int
    g: np.ndarray
    common: np.ndarray
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    targets: np.ndarray


def view(p: Any) -> View:
    """The view of a setup; in mode block a later i stands for n+1, without a chain there is n+1 alone."""
    number = p.i - p.n - 1
    number = 0 if (p.mode == "block" and number > 1) or p.mode == "no_chain" else number
    return _view(p.n if p.tokens == "all" else p.k, p.k, 1 if p.mode == "no_chain" else p.k, number, p.tokens == "all")


@lru_cache(maxsize=64)
def _view(n: int, k: int, n_queries: int, number: int, all_tokens: bool) -> View:
    ordinary = np.arange(2 * k, 2 * n) if all_tokens else np.array([2 * k])
    end = 2 * n if all_tokens else 2 * k + 1
    n_keys = end + 2 * n_queries
    queries = [0] if number == 0 else [2 * number, 2 * number + 1]
    g, common = np.zeros((2, 2 * n_queries, n_keys))
    u, v, w = np.zeros((3, n_keys, 2 * n_queries))
    share = 1 / len(queries)
    for query in queries:
        for bit in (0, 1):
            g[query, 2 * number + bit] = -((-1.0) ** (query + bit)) * share / 2
            common[query, bit] = (-1.0) ** bit * share / 2
            u[2 * number + bit, query] = share / 2
        v[ordinary, query] = share / len(ordinary)
        w[end, query] = share
    is_target = np.zeros((n_keys, 2 * n_queries), dtype=bool)
    for j in range(n_queries):
        is_target[2 * j : 2 * j + 2, [0] if j == 0 else [2 * j, 2 * j + 1]] = True
    return View(number, g, common, u, v, w, is_target)


def on_target(ops: Any, scores: Any, X: Any) -> tuple[Any, Any]:
    """Attention on S[i], and off it without cancellation, at every sequence and position."""
    s = attention(ops, scores, X)
    is_target = (np.arange(scores.shape[0]) == X.target[..., None]) * 1
    return (is_target * s).sum(axis=-1), ((1 - is_target) * s).sum(axis=-1)


def entropies(ops: Any, scores: Any, X: Any) -> Any:
    """H / log(length) of every query (Eq. (1)): log Σ n e^a - Σ p a, which is finite at any scores."""
    at = scores.T[X.query] * ((X.counts > 0) * 1)
    H = ops.log_sum_exp(at, X.counts) - (attention(ops, scores, X) * at).sum(axis=-1)
    return ops.largest([H, 0 * H]) / ops.log(X.counts.sum(axis=-1) * 1.0)


def _average(form: Any, name: str) -> Callable:
    """A signed average of K or of the scores at position i."""

    def read(ops, w, X, p):
        seen = form.frozen(ops, w, p)[1] if name in ("g", "common") else form.scores(w)
        return (getattr(view(p), name) * seen).sum()

    return read


def formulas(form: Any) -> dict[str, Callable]:
    """Averages that can be written as formulas: what the derived limit has too."""

    def here(of: Callable) -> Callable:
        return lambda ops, w, X, p: of(ops, w, X, p)[..., view(p).number]

    return {
        **{name: _average(form, name) for name in ("g", "u", "v", "w")},
        "s_target": here(lambda ops, w, X, p: on_target(ops, form.scores(w), X)[0]),
        "one_hot_error": here(lambda ops, w, X, p: on_target(ops, form.scores(w), X)[1]),
        "margin": here(form.margins),
        "accuracy": here(lambda ops, w, X, p: ops.is_positive(form.margins(ops, w, X, p))),
        "common_mode": _average(form, "common"),
    }


def observables(form: Any) -> dict[str, Callable]:
    """Everything that is observed of sequences, by the names and meanings of `vocabulary`."""

    def right(ops, w, X, p):
        return ops.is_positive(form.margins(ops, w, X, p))

    def error(ops, w, X, p):
        return on_target(ops, form.scores(w), X)[1]

    found = formulas(form) | {
        "entropy": lambda ops, w, X, p: entropies(ops, form.scores(w), X).min(axis=-1),
        "margin_min": lambda ops, w, X, p: form.margins(ops, w, X, p).min(),
        "margin_max": lambda ops, w, X, p: form.margins(ops, w, X, p).max(),
        "margin_i_min": lambda ops, w, X, p: form.margins(ops, w, X, p)[..., view(p).number].min(),
        "s_min": lambda ops, w, X, p: on_target(ops, form.scores(w), X)[0].min(),
        "one_hot_error_max": lambda ops, w, X, p: error(ops, w, X, p).max(),
        "score_target_min": lambda ops, w, X, p: form.scores(w)[view(p).targets].min(),
        "score_other_max": lambda ops, w, X, p: ops.largest(
            [form.scores(w)[~view(p).targets], -form.scores(w)[~view(p).targets]]
        ).max(),
        "accuracy_all": lambda ops, w, X, p: right(ops, w, X, p).min(axis=-1),
        "accuracy_mean": lambda ops, w, X, p: right(ops, w, X, p).mean(axis=-1),
        "P_max": lambda ops, w, X, p: ops.largest(
            [sign * form.frozen(ops, w, p)[0][X.query] for sign in (1, -1)]
        ).max(),
    }
    if not form.has_gates:
        return found

    def slack(ops, w, X):
        return (2 * ops.is_positive(w.nu).T[X.query] - 1) * form.preactivations(ops, w, X)

    return found | {
        "flipped": lambda ops, w, X, p: (1 - ops.is_positive(slack(ops, w, X))).mean(axis=(-2, -1)),
        "gate_slack": lambda ops, w, X, p: slack(ops, w, X).min(),
    }
