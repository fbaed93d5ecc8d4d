"""What is observed of the network, each number declared once for every level and for the limit.

Irrelevant words are averaged over their positions in a sentence and over the sentences of a type; outputs, losses and
attention over the sentences of a type. Rates are those of the flow (`w.rates`), in training too. The monitors are those
of Definition F.1 and Lemmas 4.3 to 4.5.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from flowsys.system.names import observables
from flowsys.systems.cooccurrence.model import Kinds, Table, outputs, read, sample_loss, scores_seen, sentence_outputs
from flowsys.systems.cooccurrence.sentences import LABELS, SPECIAL_WORDS, test_sentences

TYPES = {"1": "both targets", "2": "μ1 alone", "3": "μ2 alone", "4": "neither target"}
OBSERVE: dict[str, Callable] = {}


def declare(name: str, meaning: str, make: Callable[..., Callable], **labels) -> None:
    """Observables of a family of names: make(*labels) is the function of one."""
    OBSERVE.update(observables(name, meaning, make, **labels))


def number(name: str, meaning: str, function: Callable) -> None:
    """One observable, a function of the network, the samples and the parameters."""
    declare(name, meaning, lambda: lambda *seen: function(*seen))


def of_type(function: Callable) -> Callable:
    """Of a number of every sentence, the mean over the sentences of a type."""
    return lambda T: lambda ops, w, X, p: X.of_type[:, int(T) - 1] * function(ops, w, X, p)


# -- values and scores ----------------------------------------------------------------------------------------------


def where(words, word: int) -> Any:
    return (words == word).astype(int)


def irrelevant_mean(X, entries) -> Any:
    """Of entries at every query, the mean over the irrelevant words of each sentence."""
    irrelevant = read(X).irrelevant_queries
    return (irrelevant * entries).sum(axis=-1) / irrelevant.sum(axis=-1)


def on_others(X, entries) -> Any:
    """Of entries [sentence, query, key], the sum over the irrelevant keys that are not the query itself."""
    table = read(X)
    return ((1 - table.itself) * table.irrelevant_keys[:, None, :] * entries).sum(axis=-1)


def same_sample(ops, w, X, p) -> Any:
    """Of each sentence, the mean score of an irrelevant word with another one."""
    table = read(X)
    entries = w.S[table.keys[:, None, :], table.queries[:, :, None]]
    neighbours = table.irrelevant_queries.sum(axis=-1) - 1
    total = irrelevant_mean(X, on_others(X, entries if table.key_counts is None else table.key_counts * entries))
    return total / (neighbours + where(neighbours, 0))


def of_words(entries: Callable) -> Callable:
    """The mean over the irrelevant words of a type of what `entries` has for every word."""
    return of_type(lambda ops, w, X, p: irrelevant_mean(X, entries(w)[read(X).queries]))


def entry(block: str, moves: bool = False) -> Callable:
    """Entries of special words: G of one, a matrix of two."""
    at = lambda words: (0, int(words) - 1) if block == "G" else (int(words[0]) - 1, int(words[1]) - 1)
    return lambda words: lambda ops, w, X, p: getattr(w.rates if moves else w, block)[at(words)]


ENTRIES = {x + y: (x, y) for x in "123" for y in "123"}
TARGETED = {"12": 1, "21": 1, "31": -1, "32": -1}
"""The scores Theorem 3.3 speaks of, key then query, and which way they move."""

number("c", "|Wᵀa|² = Σ a_j1 a_j2 ⟨w_j1, w_j2⟩", lambda ops, w, X, p: w.UU[0, 0])
number("d_tau", "β, the rate of the limit's clock tau", lambda ops, w, X, p: p.beta)
number("d_clock", "c + m1 α, the rate of the bag of words' clock",
       lambda ops, w, X, p: w.UU[0, 0] + X.output_norm * p.alpha)  # fmt: skip
declare("G_mu<x>", "value Σ_j a_j w_jᵀ W_V μ<x>", entry("G"), x="123")
declare("d_G_mu<x>", "rate of G_mu<x>", entry("G", moves=True), x="123")
declare("G_r<T>", "value of an irrelevant word of type <T> (mean)", of_words(lambda w: w.G[0]), T="1234")
declare("d_G_r<T>", "rate of G_r<T>", of_words(lambda w: w.rates.G[0]), T="1234")
declare("S_<xy>", "score of <xy>, unscaled", entry("S"),
        xy={xy: f"key μ{x} for query μ{y}" for xy, (x, y) in ENTRIES.items()})  # fmt: skip
declare("d_S_<xy>", "rate of S_<xy>", entry("S", moves=True), xy=tuple(TARGETED))
for _block, _kind in (("VV", "value"), ("KK", "key"), ("QQ", "query")):
    declare(f"{_block}_<xy>", f"{_kind} correlation of <xy>", entry(_block),
            xy={xy: f"μ{x} and μ{y}" for xy, (x, y) in ENTRIES.items() if x <= y})  # fmt: skip
declare("S_<x>_r<T>", "score of key μ<x> for an irrelevant query of type <T> (mean)",
        lambda x, T: of_words(lambda w: w.S[int(x) - 1])(T), x="123", T="1234")  # fmt: skip
declare("S_r<T>_<x>", "score of an irrelevant key of type <T> for query μ<x> (mean)",
        lambda T, x: of_words(lambda w: w.S[:, int(x) - 1])(T), T="1234", x="123")  # fmt: skip
declare("S_r<T>_same_word", "score of an irrelevant word of type <T> for itself (mean)",
        of_type(lambda ops, w, X, p: irrelevant_mean(X, w.S[read(X).queries, read(X).queries])), T="1234")  # fmt: skip
declare("S_r<T>_same_sample", "score between irrelevant words of one sentence of type <T> (mean)",
        of_type(same_sample), T="1234")  # fmt: skip

# -- outputs and losses ---------------------------------------------------------------------------------------------


def margins(ops, w, X, p) -> Any:
    """y F of every sentence."""
    return X.y * sentence_outputs(ops, w, read(X), p)


def attention(ops, w, X, p) -> Any:
    """Attention [sentence, query, key]."""
    return ops.softmax(scores_seen(w.S, read(X), p), read(X).key_counts, axis=-1)


def output_rates(ops, w, X, p) -> Any:
    """dF/dt = Σ_queries Σ_keys p (dG(key)/dt + s (G(key) − Σ p G) dS/dt)."""
    table, scores = read(X), scores_seen(w.S, read(X), p)
    G, moving = (of[0][table.keys][:, None, :] for of in (w.G, w.rates.G))
    means = ops.attend(G, scores, table.key_counts, axis=-1)[:, :, None]
    moving = moving + (G - means) * scores_seen(w.rates.S, table, p)
    return outputs(moving, scores, ops, table.key_counts, table.query_counts)


def slopes(ops, w, X, p) -> Any:
    """g = 1/(1 + exp(yF)) of every sentence."""
    return ops.sigmoid(-margins(ops, w, X, p))


def test_loss(ops, w, X, p):
    """The loss on sentences never trained on."""
    if isinstance(X, Kinds):
        table, y, weights = X.unseen
    else:
        words, types, weights = test_sentences(p)
        table, y = Table(words, words), np.array(LABELS)[types]
    return (ops.array(weights) * ops.softplus(-y * sentence_outputs(ops, w, table, p))).sum()


declare("F_type<T>", "output on samples with <T> (mean)",
        of_type(lambda ops, w, X, p: sentence_outputs(ops, w, read(X), p)), T=TYPES)  # fmt: skip
declare("d_F_type<T>", "rate of F_type<T>", of_type(output_rates), T="1234")
declare("loss_type<T>", "training loss on samples with <T> (mean)", of_type(sample_loss), T=TYPES)
declare("g_type<T>", "(1/n) Σ g_i over samples with <T>, g = 1/(1 + exp(yF))",
        lambda T: lambda ops, w, X, p: X.kind[:, int(T) - 1] * slopes(ops, w, X, p), T=TYPES)  # fmt: skip
number("test_loss", "loss on sentences of words never trained on", test_loss)

# -- attention ------------------------------------------------------------------------------------------------------


def kind_of_attention(T: str, query: str, key: str) -> Callable:
    """Attention of a kind of query on a kind of key: `r` as key all (other) irrelevant words, `self` the query."""

    def share(ops, w, X, p):
        table, weight = read(X), attention(ops, w, X, p)
        chosen = lambda words, word: where(words, int(word) - 1)
        if key == "r":
            on_key = on_others(X, weight)
        else:
            on_key = (weight * (table.itself if key == "self" else chosen(table.keys, key)[:, None, :])).sum(axis=-1)
        return irrelevant_mean(X, on_key) if query == "r" else (chosen(table.queries, query) * on_key).sum(axis=-1)

    return of_type(share)(T)


def attention_deviation(ops, w, X, p):
    apart = attention(ops, w, X, p).reshape(-1) - 1 / p.L
    return p.L**2 * ops.largest([ops.largest(apart), ops.largest(-apart)])


for _T, _special in zip(TYPES, SPECIAL_WORDS):
    _words = [str(word + 1) for word in _special]
    for _queries, _keys in ((_words, (*_words, "r")), ("r", (*_words, "self", "r"))):
        declare("p_type<T>_<query>_<key>", "type <T>: attention of query <query> on key <key> (r: the other irrelevant "
                "words together)", kind_of_attention, T=_T, query=_queries, key=_keys)  # fmt: skip
number("attention_deviation", "L² max |p - 1/L| (Definition F.1 wants it below a constant)", attention_deviation)

# -- monitors -------------------------------------------------------------------------------------------------------


def of_gradients(name: str, meaning: str, value: Callable) -> None:
    """A number made of (1/n) Σ g_i over each type; X.weight holds what a sample counts in a mean."""

    def sums(ops, w, X, p):
        g = X.weight * slopes(ops, w, X, p)
        return value(ops, *((g * X.kind[:, T]).sum() for T in range(4)))

    number(name, meaning, sums)


number("R", "gradient ratio -Ġ(μ3)/Ġ(μ1) (Lemmas 4.3, 4.5)", lambda ops, w, X, p: -w.rates.G[0, 2] / w.rates.G[0, 0])
number("overtaking", "-Ġ(μ3) - max(Ġ(μ1), Ġ(μ2)): positive from T_0.5 on",
       lambda ops, w, X, p: -w.rates.G[0, 2] - ops.largest([w.rates.G[0, 0], w.rates.G[0, 1]]))  # fmt: skip
number("least_margin", "min over samples of yF: positive from T_1 on",
       lambda ops, w, X, p: ops.smallest(margins(ops, w, X, p)))  # fmt: skip
number("least_value", "min(G(μ1), G(μ2), -G(μ3)): theta at T_theta",
       lambda ops, w, X, p: ops.smallest([w.G[0, 0], w.G[0, 1], -w.G[0, 2]]))  # fmt: skip
number("c_growth", "c / β (Definition F.1 wants it to stay of order 1)",
       lambda ops, w, X, p: w.UU[0, 0] / p.beta)  # fmt: skip
of_gradients("balance_negative", "(g_2 + g_3 + g_4 - g_1) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
             lambda ops, a, b, c, d: (b + c + d - a) / (a + b + c + d))  # fmt: skip
of_gradients("balance_positive", "(g_1 - g_2) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
             lambda ops, a, b, c, d: (a - b) / (a + b + c + d))  # fmt: skip
of_gradients("gradient_order", "positive while g_4 < g_2, g_3 < g_1 < g_2 + g_3 + g_4 (Definition F.1)",
             lambda ops, a, b, c, d: ops.smallest([b - d, c - d, a - b, a - c, b + c + d - a]))  # fmt: skip
of_gradients("target_imbalance", "|g_2 - g_3| / min(g_2, g_3) (Lemma 4.4)",
             lambda ops, a, b, c, d: ops.largest([b - c, c - b]) / ops.smallest([b, c]))  # fmt: skip
number("score_signs", "min(Ṡ_12, Ṡ_21, -Ṡ_31, -Ṡ_32): positive while Theorem 3.2 item 1 holds",
       lambda ops, w, X, p: ops.smallest([sign * OBSERVE[f"d_S_{xy}"](ops, w, X, p)
                                          for xy, sign in TARGETED.items()]))  # fmt: skip
