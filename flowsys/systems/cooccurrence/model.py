"""The transformer's output (Eq. 1) and its logistic loss (Eq. 2), declared once.

Words are orthonormal, so the loss reads the weights only through G(μ) = Σ_j a_j w_jᵀ W_V μ and S = W_KᵀW_Q:

    F(X) = Σ_queries Σ_keys softmax_keys(score_scale · S[key, query]) · G(key),

a sum over queries without 1/L. [W | W_V] is a pair of factors of which the loss sees a through the neurons
(G = Wᵀa · W_V), [W_K | W_Q] another. Sentences are read as a `Table`: words that stand for themselves, or (in the
limit) kinds of words that stand for many. `ops` is `flowsys.model.ops` or its symbolic twin.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import flowsys as fs
from flowsys.systems.cooccurrence.scales import READINGS, output_weights, whole
from flowsys.systems.cooccurrence.sentences import vocabulary

# -- blocks of weights -----------------------------------------------------------------------------------------------


def blocks(p) -> dict[str, fs.Pair]:
    """[Wᵀ | W_V] with W seen through a, and [W_K | W_Q]: σ_1² = beta/(m m1), σ_0² = alpha/m (Sec. 2), or Appendix A's.

    Unread they are the paper's six families (App. C): A = W W_V under the name of G, B = W Wᵀ under that of UU.
    """
    words, m1, a = vocabulary(p), whole(p.m1, "m1"), output_weights(p)
    scales = (p.beta / m1) ** 0.5, p.alpha**0.5
    values = fs.Pair(m1, words, scales=scales, factors=("W", "W_V"), selfs=("UU", "VV"), start=kaiming(p, m1),
                     read=(lambda W: W @ a[:, None], None))  # fmt: skip
    return {"G": values, "S": fs.Pair(words, words, scale=p.alpha**0.5, start=kaiming(p))}


def kaiming(p, neurons: int | None = None):
    """Two factors of Appendix A's weights, of neurons (fan in m) or words (fan in d); None: Gaussian weights."""
    if p.mode != "data" or p.reading == "gaussian":
        return None
    reading = READINGS[p.reading]
    m, d = p.width, len(vocabulary(p))

    def draw(rng: np.random.Generator, columns: int, fan_in: int) -> np.ndarray:
        if reading.distribution == "normal":
            return rng.standard_normal((m, columns)) * np.sqrt(reading.variance / fan_in)
        return rng.uniform(-1, 1, (m, columns)) * np.sqrt(3 * reading.variance / fan_in)

    return lambda rng: (draw(rng, d, d) if neurons is None else draw(rng, neurons, m), draw(rng, d, d))


# -- the loss of sentences -------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """Sentences as they are read: keys and queries (sentence, word), with how many equal ones each stands for."""

    keys: Any
    queries: Any
    key_counts: Any = None
    """[sentence, query, key]; None where every word stands for itself."""
    query_counts: Any = 1
    irrelevant_keys: Any = None
    irrelevant_queries: Any = None
    """Whether a key is irrelevant, and how many irrelevant words a query stands for."""
    itself: Any = None
    """[query, key]: 1 where the key is the query itself."""
    outputs: Any = None
    """F where it is known already."""


class Kinds(SimpleNamespace):
    """The limit's samples, a sentence a type: they bring their `table`, and `unseen` ones with labels and weights."""


def read(X) -> Table:
    """The sentences that are trained on."""
    if isinstance(X, Kinds):
        return X.table
    return Table(X.words, X.words, None, 1, X.random, X.random, np.eye(X.words.shape[1], dtype=int))


def scores_seen(S, table: Table, p):
    """Scaled scores [sentence, query, key]; a word twice is two keys and two queries."""
    return p.score_scale * S[table.keys[:, None, :], table.queries[:, :, None]]


def outputs(values, scores, ops, key_counts=None, query_counts=1):
    """F (Eq. 1) of each sentence from G(key) and scaled scores [sentence, query, key], with multiplicities."""
    return (query_counts * ops.attend(values, scores, key_counts, axis=-1)).sum(axis=-1)


def sentence_outputs(ops, w, table: Table, p):
    """F of each sentence of a table."""
    if table.outputs is not None:
        return table.outputs
    values, scores = w.G[0][table.keys][:, None, :], scores_seen(w.S, table, p)
    return outputs(values, scores, ops, table.key_counts, table.query_counts)


def sample_loss(ops, w, X, p):
    """log(1 + exp(−y F)) of every sentence (Eq. 2)."""
    return ops.softplus(-X.y * sentence_outputs(ops, w, read(X), p))
