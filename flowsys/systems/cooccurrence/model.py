"""The transformer's output (Eq. 1) and its logistic loss (Eq. 2), declared once, and on the limit's kinds of sentence.

Words are orthonormal, so the loss reads the weights only through G(μ) = Σ_j a_j w_jᵀ W_V μ and S = W_KᵀW_Q:

    F(X) = Σ_queries Σ_keys softmax_keys(score_scale · S[key, query]) · G(key),

a sum over queries without 1/L. `blocks` and `sample_loss` declare the network: [W | W_V] is a pair of factors of which
the loss sees a through the neurons (G = Wᵀa · W_V), [W_K | W_Q] another. `limit_loss` is the same formula on the four
kinds of sentence of Assumption 2.3, where all irrelevant words of a type are alike, with n and L free real numbers or
symbols. `ops` is `flowsys.model.ops` or its symbolic twin.
"""

from typing import Any, NamedTuple

import numpy as np

import flowsys as fs
from flowsys.systems.cooccurrence.scales import READINGS, output_weights, start_scales, whole
from flowsys.systems.cooccurrence.sentences import INCIDENCE, LABELS, MIXTURE, SPECIAL_WORDS, vocabulary

# -- declared: blocks of weights, and the loss of a sentence ---------------------------------------------------------


def blocks(p) -> dict[str, fs.Pair]:
    """W, W_V with W seen through a, and W_K, W_Q: entries of variance σ_1², σ_0² (Sec. 2), or Appendix A's."""
    a = output_weights(p)
    return {"G": value_pair(p, read=(lambda W: W @ a[:, None], None)), "S": score_pair(p)}


def value_pair(p, name: str = "UU", read=None) -> fs.Pair:
    """[Wᵀ | W_V]: the loss reads its product with words; σ_1² = beta/(m m1), σ_0² = alpha/m."""
    words, m1 = vocabulary(p), whole(p.m1, "m1")
    start = None
    if is_kaiming(p):
        m, d = p.width, len(words)
        start = lambda rng: (kaiming(rng, p.reading, (m, m1), m), kaiming(rng, p.reading, (m, d), d))
    scales = ((p.beta / m1) ** 0.5, p.alpha**0.5)
    return fs.Pair(m1, words, scales=scales, factors=("W", "W_V"), selfs=(name, "VV"), start=start, read=read)


def score_pair(p) -> fs.Pair:
    """[W_K | W_Q]."""
    words, start = vocabulary(p), None
    if is_kaiming(p):
        shape = (p.width, len(words))
        start = lambda rng: tuple(kaiming(rng, p.reading, shape, len(words)) for _ in range(2))
    return fs.Pair(words, words, scale=p.alpha**0.5, start=start)


def is_kaiming(p) -> bool:
    return p.mode == "data" and p.reading != "gaussian"


def kaiming(rng: np.random.Generator, reading: str, shape: tuple[int, int], fan_in: int) -> np.ndarray:
    """Appendix A's weights in one of the `READINGS`."""
    distribution, gain_squared, _ = READINGS[reading]
    if distribution == "normal":
        return rng.standard_normal(shape) * np.sqrt(gain_squared / fan_in)
    return rng.uniform(-1, 1, shape) * np.sqrt(3 * gain_squared / fan_in)


def scales_seen(X, p):
    """alpha, beta, |a|² and the score scale: parameters, or numbers of the data where the width sets them."""
    return X if p.mode == "data" else start_scales(p)


def scores_seen(S, words, X, p):
    """Scaled scores [sentence, query, key]; a word that occurs twice is two keys and two queries."""
    score_scale = scales_seen(X, p).score_scale
    if getattr(score_scale, "shape", ()):
        score_scale = score_scale[:1, None, None]  # one number, told with every sample
    return score_scale * S[words[:, None, :], words[:, :, None]]


def outputs(values, scores, ops, key_counts=None, query_counts=1):
    """F (Eq. 1) of each sentence from G(key) and scaled scores [sentence, query, key], with multiplicities."""
    return (query_counts * ops.attend(values, scores, key_counts, axis=-1)).sum(axis=-1)


def sentence_outputs(ops, w, words, X, p):
    """F of each sentence of a table of words."""
    return outputs(w.G[0][words][:, None, :], scores_seen(w.S, words, X, p), ops)


def sample_loss(ops, w, X, p):
    """log(1 + exp(−y F)) of every sentence (Eq. 2)."""
    return ops.softplus(-X.y * sentence_outputs(ops, w, X.words, X, p))


# -- the same on the kinds of sentence of the limit ------------------------------------------------------------------


class Sizes(NamedTuple):
    """n and, for the four types, shares, sample counts n_T, random slots R_T and 1/n_T; numbers or symbols.

    The limit reads n only through 1/n_T, so that n = ∞ is a number like any other.
    """

    n: Any
    shares: Any
    sample_counts: Any
    random_slots: Any
    per_sample: Any


class Scores(NamedTuple):
    """Scores S[key, query] that occur within sentences, by kind of word: p special, r_T irrelevant in type T."""

    special: Any
    """S[p, q], (3, 3)."""
    special_random: Any
    """S[p, r_T], (3, 4)."""
    random_special: Any
    """S[r_T, q], (4, 3)."""
    same_word: Any
    """S[r, r] of an irrelevant word of type T with itself, (4,)."""
    same_sample: Any
    """S[r', r] of two irrelevant words of one sentence of type T, (4,)."""


def logistic_loss(F, labels, sample_weights, ops):
    """Σ_i weight_i log(1 + exp(−y_i F_i)) (Eq. 2)."""
    return (sample_weights * ops.softplus(-(labels * F))).sum()


def type_sizes(n, L, ops, mixture=MIXTURE) -> Sizes:
    """n_T and R_T for real or symbolic n (also infinite) and L."""
    total = sum(mixture)
    counts = [n * share / total for share in mixture]
    slots = [L - len(words) for words in SPECIAL_WORDS]
    per_sample = [total / (n * share) for share in mixture]
    return Sizes(n, ops.array(mixture) / total, *map(ops.array, (counts, slots, per_sample)))


def _score_index() -> np.ndarray:
    """Where the score of (type, query kind, key kind) stands in the flattened `Scores` followed by a 0.

    Query kinds: μ1, μ2, μ3, an irrelevant word. Key kinds: μ1, μ2, μ3, the query itself, another irrelevant word.
    """
    special, special_random, random_special = np.arange(9).reshape(3, 3), 9 + np.arange(12).reshape(3, 4), 21
    index = np.full((4, 4, 5), 41)
    for T in range(4):
        index[T, :3, :3] = special.T
        index[T, :3, 4] = random_special + 3 * T + np.arange(3)
        index[T, 3, :3] = special_random[:, T]
        index[T, 3, 3:] = 33 + T, 37 + T
    return index


_SCORE_INDEX = _score_index()
_VALUE_INDEX = np.array([[[0, 1, 2, 3 + T, 3 + T]] for T in range(4)])


def _kinds(sizes: Sizes, ops):
    """(type, query kind, key kind) counts of keys, and (type, query kind) counts of queries."""
    slots = sizes.random_slots
    special_query = [[*INCIDENCE[T], 0, slots[T]] for T in range(4)]
    random_query = [[*INCIDENCE[T], 1, slots[T] - 1] for T in range(4)]
    key_counts = ops.array([[special_query[T]] * 3 + [random_query[T]] for T in range(4)])
    return key_counts, ops.array([[*INCIDENCE[T], slots[T]] for T in range(4)])


def _scores_by_kind(scores: Scores, score_scale, ops):
    flat = ops.concatenate([entry.reshape(-1) for entry in scores] + [ops.array([0])])
    return score_scale * flat[_SCORE_INDEX]


def limit_outputs(G, scores: Scores, sizes: Sizes, score_scale, ops):
    """F_T (T = 1 … 4) from G of the 7 word classes (μ1, μ2, μ3, r_1 … r_4) and the scores within sentences."""
    key_counts, query_counts = _kinds(sizes, ops)
    return outputs(G[_VALUE_INDEX], _scores_by_kind(scores, score_scale, ops), ops, key_counts, query_counts)


def attention(scores: Scores, sizes: Sizes, score_scale, ops):
    """Attention [type, query kind, key kind] on all keys of a kind together, and how many keys that is."""
    key_counts, _ = _kinds(sizes, ops)
    return ops.softmax(_scores_by_kind(scores, score_scale, ops), key_counts, axis=-1), key_counts


def limit_loss(G, scores: Scores, sizes: Sizes, score_scale, ops):
    """The training loss under Assumption 2.3 in the coordinates of the 7 word classes."""
    return logistic_loss(limit_outputs(G, scores, sizes, score_scale, ops), ops.array(LABELS), sizes.shares, ops)


def bag_of_words_outputs(G, sizes: Sizes):
    """F_T under uniform attention: the sum of G over the words of the sentence."""
    return (INCIDENCE * G[:3][None, :]).sum(axis=1) + sizes.random_slots * G[3:]


def bag_of_words_loss(G, sizes: Sizes, ops):
    """The training loss while attention is uniform (frozen), a logistic regression."""
    return logistic_loss(bag_of_words_outputs(G, sizes), ops.array(LABELS), sizes.shares, ops)


def unseen_words(G, scores: Scores, ops) -> tuple[Any, Scores]:
    """G and scores as met by a test sentence whose irrelevant words were never trained on: all theirs are 0."""
    unseen_G = ops.concatenate([G[:3], 0 * G[3:]])
    return unseen_G, Scores(scores.special, *(0 * entry for entry in scores[1:]))


def limit_test_loss(G, scores: Scores, sizes: Sizes, score_scale, ops):
    """The generalisation loss of the limit: test sentences consist of special words and unseen words."""
    return limit_loss(*unseen_words(G, scores, ops), sizes, score_scale, ops)
