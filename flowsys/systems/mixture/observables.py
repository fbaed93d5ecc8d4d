"""What is observed of the network, each number declared once for every level.

Entries of the limit (`w_c`, `S_cv_same`, …) are averages over groups and heads, the negative head's v-signs flipped
(Lemma C.4). The head of the label's sign is `plus`, the other `minus`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from flowsys.systems.mixture.model import attention_scores, logistic_loss, network_output, preactivations, sequence_of

MARGIN = 1e-3
"""A sample counts as classified where y f exceeds this: ties are exactly 0 up to rounding or smoothing."""
MATRICES = {"S": "score (key, query)", "KK": "key self-score", "QQ": "query self-score"}
PARTS = {"same": "of the same group", "diff": "of different groups"}
TOKENS = {"c": "group signal c", "v": "classification signal v", "d": "distractor"}
KINDS = {
    "consistent": "consistent samples (every distractor has the label's sign)",
    "conflicting": "conflicting samples (y times the sum of the v-signs is <= 0)",
}
SIDES = {"plus": "the head of the label's sign", "minus": "the other head"}


def _said(meaning: str, function: Callable) -> Callable:
    function.__doc__ = meaning
    return function


def _members(x: str, K: int) -> slice:
    return slice(0, K) if x == "c" else slice(K, 2 * K)


def neuron_average(x: str) -> Callable:
    """w_±·x over groups and heads."""
    sign = 1 if x == "c" else -1
    return lambda ops, w, X, p: (w.w[0][_members(x, p.K)] + sign * w.w[1][_members(x, p.K)]).sum() / (2 * p.K)


def entry_average(matrix: str, x: str, y: str, part: str) -> Callable:
    """The entries (x_k, y_j) of a matrix with j = k (same) or j ≠ k (diff), over groups and heads."""
    sign = 1 if x == y else -1

    def average(ops, w, X, p):
        M, at = getattr(w, matrix), (_members(x, p.K), _members(y, p.K))
        chosen = np.eye(p.K, dtype=int) if part == "same" else 1 - np.eye(p.K, dtype=int)
        return (chosen * (M[0][at] + sign * M[1][at])).sum() / (2 * int(chosen.sum()))

    return average


def score_spread(ops, w, X, p):
    """rms distance of single scores from the average of their class; 0 in the limit"""
    total = 0
    for x in "cv":
        for y in "cv":
            same, diff = (entry_average("S", x, y, part)(ops, w, X, p) for part in PARTS)
            expected = np.eye(p.K, dtype=int) * same + (1 - np.eye(p.K, dtype=int)) * diff
            for h, sign in enumerate((1, 1 if x == y else -1)):
                total += ((w.S[h][_members(x, p.K), _members(y, p.K)] - sign * expected) ** 2).sum()
    return ops.sqrt(total / (8 * p.K**2))


def _outputs(ops, w, X, p):
    """y f of every sample."""
    return X.y * network_output(ops, *preactivations(ops, w, X, p))


def accuracy(ops, w, X, p):
    """share of samples with y f > 0.001"""
    return ops.is_positive(_outputs(ops, w, X, p) - MARGIN)


def of_side(side: str, X, of_heads) -> Any:
    """Of both heads' numbers those of the head of the label's sign (plus), or of the other."""
    right = X.right if side == "plus" else 1 - X.right
    return right * of_heads[0] + (1 - right) * of_heads[1]


def mean_loss(kind: str) -> Callable:
    return lambda ops, w, X, p: getattr(X, kind) * logistic_loss(ops, 1, _outputs(ops, w, X, p))


def mean_output(kind: str) -> Callable:
    return lambda ops, w, X, p: getattr(X, kind) * _outputs(ops, w, X, p)


def mean_preactivation(side: str, kind: str) -> Callable:
    return lambda ops, w, X, p: getattr(X, kind) * of_side(side, X, preactivations(ops, w, X, p))


def mean_attention(side: str, query: str, key: str) -> Callable:
    """p^(side)(query, key) on conflicting samples: summed over distractor keys, averaged over distractor queries."""

    def attention(ops, w, X, p):
        p_heads = [ops.softmax(attention_scores(w.S[h], sequence_of(X)), axis=-2) for h in (0, 1)]
        place = {"c": slice(0, 1), "v": slice(1, 2), "d": slice(2, p.L)}
        chosen = [P[:, place[key], place[query]].sum(axis=(-2, -1)) for P in p_heads]
        return X.conflicting * of_side(side, X, chosen) / (p.L - 2 if query == "d" else 1)

    return attention


OBSERVE: dict[str, Callable] = {
    "w_c": _said("neuron alignment w_+·c_k with the group signals", neuron_average("c")),
    "w_v": _said("neuron alignment w_+·v_k with the classification signals", neuron_average("v")),
}
for _name, _meaning in MATRICES.items():
    for _part, _where in PARTS.items():
        for _x, _y in ("cc", "cv", "vc", "vv") if _name == "S" else ("cc", "cv", "vv"):
            _words = f"{_meaning} of {_x} with {_y} {_where}"
            OBSERVE[f"{_name}_{_x}{_y}_{_part}"] = _said(_words, entry_average(_name, _x, _y, _part))
OBSERVE["accuracy"] = accuracy
for _kind, _meaning in KINDS.items():
    OBSERVE[f"loss_{_kind}"] = _said(f"mean loss of {_meaning}", mean_loss(_kind))
    OBSERVE[f"f_{_kind}"] = _said(f"mean y f of {_meaning}", mean_output(_kind))
    for _side, _head in SIDES.items():
        OBSERVE[f"preactivation_{_side}_{_kind}"] = _said(
            f"mean H + b of {_head} on {_meaning}", mean_preactivation(_side, _kind)
        )
for _side, _head in SIDES.items():
    for _query in TOKENS:
        for _key in TOKENS:
            OBSERVE[f"p_{_side}_{_query}_{_key}"] = _said(
                f"attention of {_head}, query {TOKENS[_query]}, key {TOKENS[_key]}, mean over conflicting samples",
                mean_attention(_side, _query, _key),
            )
OBSERVE["score_spread"] = score_spread


def max_margin(w, X, p) -> float:
    """max margin of the attention features (Eq. (2)), gates as they stand"""
    from flowsys.systems.mixture.margin import margin_of_samples

    return margin_of_samples(w, X, p)
