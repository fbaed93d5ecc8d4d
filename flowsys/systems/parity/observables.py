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


AVERAGES = ("g", "u", "v", "w", "s_target", "one_hot_error", "margin", "accuracy", "common_mode", "flipped")
"""Formulas: what the derived limit has too."""


def observables(form: Any) -> dict[str, Callable]:
    """Everything that is observed of sequences, by the names and meanings of `vocabulary`."""

    def score(keys: str) -> Callable:
        def mean(ops, w, X, p):
            seen = form.scores(w)[np.ix_(getattr(view(p), keys), view(p).asking)]
            return seen.sum() / seen.size

        return mean

    def output(keys: Callable, sign: Callable) -> Callable:
        def mean(ops, w, X, p):
            at = np.ix_(view(p).asking, keys(p))
            return (sign(*at) * form.frozen(ops, w, p)[1][at]).sum() / (at[0].size * at[1].size)

        return mean

    def flipped(ops, w, X, p):
        is_other = 1 - ops.is_positive(slack(form, ops, w, X))
        return is_other.sum(axis=(-2, -1)) / (is_other.shape[-2] * is_other.shape[-1])

    target = lambda ops, w, X, p: on_target(ops, form.scores(w), X)[0]
    error = lambda ops, w, X, p: on_target(ops, form.scores(w), X)[1]
    right = lambda ops, w, X, p: ops.is_positive(form.margins(ops, w, X, p))
    size = lambda ops, x: ops.largest([x, -x]).max()
    here = lambda of: lambda ops, w, X, p: of(ops, w, X, p)[..., view(p).number]
    least = lambda of: lambda ops, w, X, p: of(ops, w, X, p).min()
    most = lambda of: lambda ops, w, X, p: of(ops, w, X, p).max()
    gated = {"flipped": flipped, "gate_slack": lambda ops, w, X, p: slack(form, ops, w, X).min()}
    return {
        "g": output(lambda p: view(p).target, lambda query, key: 2 * ((query + key) % 2) - 1),
        "common_mode": output(lambda p: [0, 1], lambda query, key: 1 - 2 * key),
        **{"u": score("target"), "v": score("ordinary"), "w": score("end")},
        **{
            "s_target": here(target),
            "one_hot_error": here(error),
            "margin": here(form.margins),
            "accuracy": here(right),
        },
        "entropy": lambda ops, w, X, p: entropies(ops, form.scores(w), X).min(axis=-1),
        **{"s_min": least(target), "one_hot_error_max": most(error), "margin_i_min": least(here(form.margins))},
        **{"margin_min": least(form.margins), "margin_max": most(form.margins)},
        "score_target_min": lambda ops, w, X, p: form.scores(w)[view(p).is_target].min(),
        "score_other_max": lambda ops, w, X, p: size(ops, form.scores(w)[~view(p).is_target]),
        "accuracy_all": lambda ops, w, X, p: right(ops, w, X, p).min(axis=-1),
        "accuracy_mean": lambda ops, w, X, p: right(ops, w, X, p).mean(axis=-1),
        "P_max": lambda ops, w, X, p: size(ops, form.frozen(ops, w, p)[0][X.query]),
        **(gated if form.has_gates else {}),
    }


def averages(form: Any) -> dict[str, Callable]:
    return {name: of for name, of in observables(form).items() if name in AVERAGES}
