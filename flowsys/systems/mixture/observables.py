"""What is observed of the network, each number declared once for every level and for the limit.

A class of the limit (`w_c`, `S_cv_same`, …) is the average over groups and heads, the negative head's v-signs flipped
(Lemma C.4). The head of the label's sign is `plus`, the other `minus`.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from flowsys.system.names import observables
from flowsys.systems.mixture.model import Orbit, attention, margins, preactivations, sample_loss, sequence_of

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

# -- classes of entries ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def members(name: str, K: int) -> np.ndarray:
    """Where the class of an entry lies in its block (heads first), with signs: `S_cv_diff` is c_k, v_j with j ≠ k."""
    block, kinds, *part = name.split("_")
    of = {"c": np.repeat([1, 0], K), "v": np.repeat([0, 1], K)}
    flip = np.stack([of["c"] + of["v"], of["c"] - of["v"]])
    if block == "w":
        return flip * of[kinds]
    same = np.tile(np.eye(K, dtype=int), (2, 2))
    found = np.outer(of[kinds[0]], of[kinds[1]]) * (same if part == ["same"] else 1 - same)
    return flip[:, :, None] * flip[:, None, :] * (found if block == "S" else np.maximum(found, found.T))


def average(block: str, *labels: str) -> Callable:
    """The signed average over a class."""

    def over_class(ops, w, X, p):
        of_class = members("_".join((block, *labels)), p.K)
        return (getattr(w, block) * of_class).sum() / int(np.abs(of_class).sum())

    return over_class


def block_of(name: str, values: Mapping[str, Any], K: int) -> Any:
    """A block (w, S, KK or QQ, heads first) all of whose entries are their classes' values."""
    return sum(values[x] * members(x, K) for x in CLASSES if x.split("_")[0] == name)


_SIGNALS = {"c": "c_k with the group signals", "v": "v_k with the classification signals"}
CLASSES = observables("w_<x>", "neuron alignment w_+·<x>", partial(average, "w"), x=_SIGNALS)
for _matrix, _meaning in MATRICES.items():
    _pairs = {x + y: f"{x} with {y}" for x, y in ("cc", "cv", "vc", "vv") if _matrix == "S" or x <= y}
    CLASSES |= observables(f"{_matrix}_<xy>_<part>", f"{_meaning} of <xy> <part>", partial(average, _matrix), xy=_pairs,
                           part=PARTS)  # fmt: skip


def score_spread(ops, w, X, p):
    """rms distance of single scores from the average of their class; 0 in the limit"""
    averages = {name: mean(ops, w, X, p) for name, mean in CLASSES.items() if name.startswith("S_")}
    return ops.sqrt(((w.S - block_of("S", averages, p.K)) ** 2).sum() / (8 * p.K**2))


# -- means over samples ----------------------------------------------------------------------------------------------


def of_side(side: str, X, of_heads) -> Any:
    """Of both heads' numbers those of the head of the label's sign (plus), or of the other."""
    right = X.right if side == "plus" else 1 - X.right
    return right * of_heads[0] + (1 - right) * of_heads[1]


def accuracy(ops, w, X, p):
    """share of samples with y f > 0.001"""
    return ops.is_positive(margins(ops, w, X, p) - MARGIN)


def of_kind(function: Callable) -> Callable:
    """A number of every sample in the mean over a kind of samples."""
    return lambda kind: lambda ops, w, X, p: getattr(X, kind) * function(ops, w, X, p)


def mean_preactivation(side: str, kind: str) -> Callable:
    return of_kind(lambda ops, w, X, p: of_side(side, X, preactivations(ops, w, X, p)))(kind)


def mean_attention(side: str, query: str, key: str) -> Callable:
    """p^(side)(query, key) on conflicting samples: summed over distractor keys, averaged over distractor queries."""

    def of_head(ops, w, X, p, head: int):
        if isinstance(X, Orbit) and query == "d":
            return X.distractors_on[head][key]
        place = {"c": slice(0, 1), "v": slice(1, 2), "d": slice(2, None)}
        chosen = attention(ops, w.S[head], sequence_of(X))[..., place[key], place[query]]
        return chosen.sum(axis=(-2, -1)) / (p.L - 2 if query == "d" else 1)

    return of_kind(lambda ops, w, X, p: of_side(side, X, [of_head(ops, w, X, p, h) for h in (0, 1)]))("conflicting")


MEANS: dict[str, Callable] = {
    "accuracy": accuracy,
    **observables("loss_<kind>", "mean loss of <kind>", of_kind(sample_loss), kind=KINDS),
    **observables("f_<kind>", "mean y f of <kind>", of_kind(margins), kind=KINDS),
    **observables("preactivation_<side>_<kind>", "mean H + b of <side> on <kind>", mean_preactivation, side=SIDES,
                  kind=KINDS),
    **observables("p_<side>_<query>_<key>", "attention of <side>, query <query>, key <key>, mean over conflicting "
                  "samples", mean_attention, side=SIDES, query=TOKENS, key=TOKENS),
}  # fmt: skip
OBSERVE = {**CLASSES, **MEANS, "score_spread": score_spread}
