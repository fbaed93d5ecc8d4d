"""What is read off the block at every level that follows sequences, once for neurons and for frozen gates.

Position i has the names of the limit (g, u, v, w, s_target, …); all positions together have their extremes and shares.
A `form` is what the network is written in: `model.Network`, `frozen.Frozen` or `frozen.Limit`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.parity.model import attention


class View(NamedTuple):
    """Position i by its number 0 … k-1, the query tokens that ask there, and keys: S[i], ordinary ones, the end.

    `is_target` marks the scores of S[i] at every position (keys × queries).
    """

    number: int
    asking: list[int]
    target: list[int]
    ordinary: list[int]
    end: list[int]
    is_target: np.ndarray


def view(p: Any) -> View:
    """The view of a setup; in mode block a later i stands for n+1, without a chain there is n+1 alone."""
    n_queries, number = 1 if p.mode == "no_chain" else p.k, p.i - p.n - 1
    if number >= n_queries or (p.mode == "block" and number > 1):
        number = 0
    target = [2 * number, 2 * number + 1]
    end = 2 * p.n if p.tokens == "all" else 2 * p.k + 1
    is_target = np.zeros((end + 2 * n_queries, 2 * n_queries), dtype=bool)
    is_target[: 2 * n_queries] = np.kron(np.eye(n_queries), np.ones((2, 2)))
    is_target[:, 1] = False  # token (n+1, 1) never occurs
    return View(number, target[: 1 if number == 0 else 2], target, list(range(2 * p.k, end)), [end], is_target)


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


def slack(form: Any, ops: Any, w: Any, X: Any) -> Any:
    """Inputs of neurons, signed to be positive at the start (sequences × positions × neurons)."""
    return (2 * ops.is_positive(w.nu).T[X.query] - 1) * form.preactivations(ops, w, X)


def formulas(form: Any) -> dict[str, Callable]:
    """Averages that can be written as formulas: what the derived limit has too."""

    def score(w: Any, p: Any, keys: list[int]) -> Any:
        seen = form.scores(w)[np.ix_(keys, view(p).asking)]
        return seen.sum() / seen.size

    def output(ops: Any, w: Any, p: Any, keys: list[int], sign: Callable) -> Any:
        asking = view(p).asking
        seen = form.frozen(ops, w, p)[1][np.ix_(asking, keys)]
        return (sign(*np.ix_(asking, keys)) * seen).sum() / seen.size

    def here(of: Callable) -> Callable:
        return lambda ops, w, X, p: of(ops, w, X, p)[..., view(p).number]

    def flipped(ops: Any, w: Any, X: Any, p: Any) -> Any:
        is_other = 1 - ops.is_positive(slack(form, ops, w, X))
        return is_other.sum(axis=(-2, -1)) / (is_other.shape[-2] * is_other.shape[-1])

    return {
        "g": lambda ops, w, X, p: output(ops, w, p, view(p).target, lambda query, key: 2 * ((query + key) % 2) - 1),
        "u": lambda ops, w, X, p: score(w, p, view(p).target),
        "v": lambda ops, w, X, p: score(w, p, view(p).ordinary),
        "w": lambda ops, w, X, p: score(w, p, view(p).end),
        "s_target": here(lambda ops, w, X, p: on_target(ops, form.scores(w), X)[0]),
        "one_hot_error": here(lambda ops, w, X, p: on_target(ops, form.scores(w), X)[1]),
        "margin": here(form.margins),
        "accuracy": here(lambda ops, w, X, p: ops.is_positive(form.margins(ops, w, X, p))),
        "common_mode": lambda ops, w, X, p: output(ops, w, p, [0, 1], lambda query, key: 1 - 2 * key),
    } | ({"flipped": flipped} if form.has_gates else {})


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
        "score_target_min": lambda ops, w, X, p: form.scores(w)[view(p).is_target].min(),
        "score_other_max": lambda ops, w, X, p: ops.largest(
            [form.scores(w)[~view(p).is_target], -form.scores(w)[~view(p).is_target]]
        ).max(),
        "accuracy_all": lambda ops, w, X, p: right(ops, w, X, p).min(axis=-1),
        "accuracy_mean": lambda ops, w, X, p: right(ops, w, X, p).mean(axis=-1),
        "P_max": lambda ops, w, X, p: ops.largest(
            [sign * form.frozen(ops, w, p)[0][X.query] for sign in (1, -1)]
        ).max(),
    }
    if form.has_gates:
        found["gate_slack"] = lambda ops, w, X, p: slack(form, ops, w, X).min()
    return found
