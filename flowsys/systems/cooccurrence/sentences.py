"""Labelled sentences: the data of Definition 2.1, every irrelevant word once or words that repeat.

A sentence is a multiset of L words (the model has no positions). Words 0, 1, 2 are μ1, μ2, μ3; all others are
irrelevant. The types are I_1 (μ1, μ2, μ3; y = +1), I_2 (μ1, μ3), I_3 (μ2, μ3), I_4 (μ3; all y = −1), in the shares
1/2, 1/6, 1/6, 1/6 unless told otherwise, and the rest of each sentence is filled with irrelevant words.

Assumption 2.3 (modes `limit`, `dimensionless`): every irrelevant word occurs once, and one test sentence of each type
has words of its own that never occur. Appendix A (mode `data`): words are drawn uniformly and so repeated, also within
a sentence, and so are the test sentences.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.systems.cooccurrence.scales import output_weights, whole

SPECIAL_WORDS = ((0, 1, 2), (0, 2), (1, 2), (2,))
LABELS = (1, -1, -1, -1)
MIXTURE = (3, 1, 1, 1)
INCIDENCE = np.array([[int(word in words) for word in range(3)] for words in SPECIAL_WORDS])
"""INCIDENCE[T, p] = 1 if the special word p occurs in sentences of type T."""


class Sentences(NamedTuple):
    """Sentences (n, L) with their types 0 … 3, and what they weigh in a mean."""

    words: np.ndarray
    types: np.ndarray
    weights: np.ndarray


def shares_of(values: Any) -> tuple[float, float, float, float]:
    """The shares of the four types; 2 and 3 are made exactly equal if they are up to rounding."""
    share_1, share_2, share_4 = (values[f"share_{T}"] for T in (1, 2, 4))
    share_3 = 1 - share_1 - share_2 - share_4
    rounded: Any = np.where(abs(share_3 - share_2) < 1e-9, share_2, share_3)[()]
    return (share_1, share_2, rounded, share_4)


def validate(values: Mapping[str, Any]) -> None:
    """Refuse shares that leave nothing for a type, and fewer than one sample of a type."""
    of_types = shares_of(values)
    if np.min(of_types[2]) < 0.01 - 1e-12:
        raise InputError(
            f"share_1 + share_2 + share_4 = {np.max(1 - of_types[2]):g} is not allowed: "
            "at least 0.01 must be left for the samples with μ2 alone."
        )
    n, least = values["n"], 1 / np.minimum.reduce(of_types)
    if np.any(n < least * (1 - 1e-9)):
        raise InputError(f"n = {n:g} is not allowed: every type needs a sample, so n must be at least {least:g}.")


# -- sentences -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def filled(n: int, L: int, of_types: tuple[float, ...], first: int = 3, d: int = 0, seed: int = 0) -> Sentences:
    """Exact shares; every irrelevant word occurs once, from the id `first` on (Assumption 2.3), or with d words those
    after `first` are drawn uniformly (Appendix A)."""
    counts = [n * share for share in of_types]
    if any(not math.isclose(count, round(count), abs_tol=1e-9) for count in counts):
        told = ", ".join(f"{share:.4g}" for share in of_types)
        raise InputError(f"n = {n} is not allowed: shares {told} of it must be whole numbers of samples.")
    types = np.repeat(np.arange(4), [round(count) for count in counts])
    slots = [L - len(SPECIAL_WORDS[T]) for T in types]
    free = sum(slots)
    drawn = np.random.default_rng(seed).integers(first, d, size=free) if d else np.arange(first, first + free)
    supply = iter(drawn.tolist())
    words = [[*SPECIAL_WORDS[T], *(next(supply) for _ in range(free))] for T, free in zip(types, slots)]
    return Sentences(np.array(words, dtype=int), types, np.full(n, 1 / n))


def training_sentences(p, later: int = 0) -> Sentences:
    """The training set, or in mode data one of as many sentences drawn from a later seed."""
    sizes = whole(p.n, "n"), whole(p.L, "L"), shares_of(p)
    return filled(*sizes, d=p.d, seed=p.data_seed + later) if p.mode == "data" else filled(*sizes)


def test_sentences(p) -> Sentences:
    """Sentences never trained on: drawn anew, or one of each type of words that never occur."""
    if p.mode == "data":
        return training_sentences(p, later=2**31)
    unseen = filled(4, whole(p.L, "L"), (0.25,) * 4, first=int(training_sentences(p).words.max()) + 1)
    return unseen._replace(weights=np.array(shares_of(p)))


def vocabulary(p) -> list[str]:
    """All words by name: mu1, mu2, mu3, then rT_i_j, the j-th irrelevant word of the i-th sentence of type T."""
    names = ["mu1", "mu2", "mu3"]
    if p.mode == "data":
        return names + [f"w{word}" for word in range(3, p.d)]
    for mark, (_, types, _) in (("r", training_sentences(p)), ("x", test_sentences(p))):
        for T in range(4):
            count, slots = int(np.sum(types == T)), whole(p.L, "L") - len(SPECIAL_WORDS[T])
            names += [f"{mark}{T + 1}_{i}_{j}" for i in range(count) for j in range(slots)]
    return names


def samples(p) -> fs.Samples:
    """The training set; `of_type` weighs a sample in the mean over each type, `random` marks irrelevant positions.

    `output_norm` is |a|², which may depend on the seed.
    """
    words, types, _ = training_sentences(p)
    kind = types[:, None] == np.arange(4)
    positions, special = np.arange(words.shape[1]), np.array([len(s) for s in SPECIAL_WORDS])[types]
    return fs.Samples(words=words, y=np.array(LABELS)[types], random=positions >= special[:, None],
                      kind=kind, of_type=kind / kind.mean(axis=0),
                      output_norm=np.full(len(types), np.sum(output_weights(p) ** 2)))  # fmt: skip
