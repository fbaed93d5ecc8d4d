"""Labelled sentences: the data of Definition 2.1, with or without repeated irrelevant words.

A sentence is a multiset of L word ids (the model has no positions). Ids 0, 1, 2 are μ1, μ2, μ3; the irrelevant words
are 3 … d−1. The types are I_1 (μ1, μ2, μ3; y = +1), I_2 (μ1, μ3), I_3 (μ2, μ3), I_4 (μ3; all y = −1), in the
proportions 3 : 1 : 1 : 1 unless told otherwise, and the rest of each sentence is filled with irrelevant words.
"""

import math
from dataclasses import dataclass

import numpy as np

SPECIAL_WORDS = ((0, 1, 2), (0, 2), (1, 2), (2,))
LABELS = (1, -1, -1, -1)
MIXTURE = (3, 1, 1, 1)
N_SPECIAL = 3


@dataclass(frozen=True)
class Samples:
    """Sentences with their labels: `words` (n, L), `labels` (n,), `types` 0 … 3 (n,), and the vocabulary size d."""

    words: np.ndarray
    labels: np.ndarray
    types: np.ndarray
    d: int

    @property
    def n(self) -> int:
        return self.words.shape[0]

    @property
    def L(self) -> int:
        return self.words.shape[1]

    @property
    def random_words(self) -> np.ndarray:
        """The irrelevant words that occur, each once."""
        return np.unique(self.words[self.words >= N_SPECIAL])


def distinct_words(n: int, L: int, mixture=MIXTURE, first_word: int = N_SPECIAL, d: int | None = None) -> Samples:
    """Assumption 2.3: exact proportions, and every irrelevant word occurs once in the whole set, from `first_word` on.

    A second set with `first_word` = d of the first is a test set of unseen words.
    """
    types = _exact_types(n, L, mixture)
    if first_word < N_SPECIAL:
        raise ValueError(f"first_word = {first_word}, but the ids below 3 are the special words; take 3 or more.")
    slots = sum(L - len(SPECIAL_WORDS[T]) for T in types)
    needed = first_word + slots
    if d is not None and d < needed:
        raise ValueError(f"d = {d}, but {slots} different irrelevant words from {first_word} on need d >= {needed}.")
    return _fill(types, L, np.arange(first_word, needed), needed if d is None else d)


def repeated_words(seed: int, n: int, L: int, d: int, mixture=MIXTURE) -> Samples:
    """Appendix A: exact proportions, irrelevant words uniform among the d − 3 and so repeated, also in a sentence."""
    return _uniform_words(np.random.default_rng(seed), _exact_types(n, L, mixture), L, d)


def drawn_sentences(seed: int, n: int, L: int, d: int, mixture=MIXTURE) -> Samples:
    """n independent sentences of Definition 2.1: types drawn with the probabilities of `mixture`."""
    _check_shape(n, L, mixture)
    generator = np.random.default_rng(seed)
    types = generator.choice(4, size=n, p=np.asarray(mixture, float) / sum(mixture))
    return _uniform_words(generator, types, L, d)


def _uniform_words(generator, types, L: int, d: int) -> Samples:
    if d <= N_SPECIAL:
        raise ValueError(f"d = {d}, but irrelevant words need d >= 4.")
    slots = sum(L - len(SPECIAL_WORDS[T]) for T in types)
    return _fill(types, L, generator.integers(N_SPECIAL, d, size=slots), d)


def _fill(types, L: int, random_words, d: int) -> Samples:
    supply = iter(random_words)
    words = [list(SPECIAL_WORDS[T]) + [next(supply) for _ in range(L - len(SPECIAL_WORDS[T]))] for T in types]
    types = np.asarray(types)
    return Samples(np.array(words, dtype=int).reshape(len(types), L), np.array(LABELS)[types], types, d)


def _exact_types(n: int, L: int, mixture) -> np.ndarray:
    _check_shape(n, L, mixture)
    counts = [n * share / sum(mixture) for share in mixture]
    if any(not math.isclose(count, round(count)) for count in counts):
        shares = ", ".join(f"{share / sum(mixture):.4g}" for share in mixture)
        raise ValueError(f"n = {n} is not allowed: shares {shares} of it must be whole numbers of samples.")
    return np.repeat(np.arange(4), [round(count) for count in counts])


def _check_shape(n: int, L: int, mixture) -> None:
    if n < 1 or int(n) != n:
        raise ValueError(f"n = {n}, but the number of samples must be a whole number >= 1.")
    if L < 3 or int(L) != L:
        raise ValueError(f"L = {L}, but a sentence holds up to three special words and needs a whole number >= 3.")
    if len(mixture) != 4 or min(mixture) < 0 or sum(mixture) <= 0:
        raise ValueError(f"mixture = {tuple(mixture)}, but it must be four shares >= 0, not all zero.")
