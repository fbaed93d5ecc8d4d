"""What is observed of the network, each number declared once for every level and for the limit.

Irrelevant words are averaged over their positions in a sentence and over the sentences of a type; outputs, losses and
attention over the sentences of a type. Rates are those of the flow (`w.rates`), in training too. The monitors are those
of Definition F.1 and Lemmas 4.3 to 4.5.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from flowsys.systems.cooccurrence.model import Kinds, Table, read, scales_seen, scores_seen, sentence_outputs
from flowsys.systems.cooccurrence.sentences import LABELS, SPECIAL_WORDS, test_sentences

TYPES = {"1": "both targets", "2": "μ1 alone", "3": "μ2 alone", "4": "neither target"}
TARGETED = ("12", "21", "31", "32")
"""The scores Theorem 3.3 speaks of, key then query."""
CORRELATIONS = {"VV": "value", "KK": "key", "QQ": "query"}

OBSERVE: dict[str, Callable] = {}


def declared(name: str, meaning: str) -> Callable:
    """Declares an observable under its name and meaning."""

    def record(function: Callable) -> Callable:
        function.__doc__ = meaning
        OBSERVE[name] = function
        return function

    return record


def of_type(X, T: str) -> Any:
    return getattr(X, f"type{T}")


# -- values and scores ----------------------------------------------------------------------------------------------

declared("c", "|Wᵀa|² = Σ a_j1 a_j2 ⟨w_j1, w_j2⟩")(lambda ops, w, X, p: w.UU[0, 0])
declared("d_tau", "β, the rate of the limit's clock tau")(lambda ops, w, X, p: scales_seen(X, p).beta)


@declared("d_clock", "c + m1 α, the rate of the bag of words' clock")
def clock_rate(ops, w, X, p):
    scales = scales_seen(X, p)
    return w.UU[0, 0] + scales.m1 * scales.alpha


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


def same_sample(S, X) -> Any:
    """Of each sentence, the mean entry of an irrelevant word with another one."""
    table = read(X)
    entries = S[table.keys[:, None, :], table.queries[:, :, None]]
    neighbours = table.irrelevant_queries.sum(axis=-1) - 1
    total = irrelevant_mean(X, on_others(X, entries if table.key_counts is None else table.key_counts * entries))
    return total / (neighbours + where(neighbours, 0))


def of_words(T: str, entries: Callable) -> Callable:
    """The mean over the irrelevant words of a type of what `entries` has for every word."""
    return lambda ops, w, X, p: of_type(X, T) * irrelevant_mean(X, entries(w)[read(X).queries])


for i, x in enumerate("123"):
    declared(f"G_mu{x}", f"value Σ_j a_j w_jᵀ W_V μ{x}")(lambda ops, w, X, p, i=i: w.G[0, i])
    declared(f"d_G_mu{x}", f"rate of G_mu{x}")(lambda ops, w, X, p, i=i: w.rates.G[0, i])
for T in TYPES:
    declared(f"G_r{T}", f"value of an irrelevant word of type {T} (mean)")(of_words(T, lambda w: w.G[0]))
    declared(f"d_G_r{T}", f"rate of G_r{T}")(of_words(T, lambda w: w.rates.G[0]))
for (i, x), (j, y) in product(enumerate("123"), repeat=2):
    declared(f"S_{x}{y}", f"score of key μ{x} for query μ{y}, unscaled")(lambda ops, w, X, p, at=(i, j): w.S[at])
    if x + y in TARGETED:
        declared(f"d_S_{x}{y}", f"rate of S_{x}{y}")(lambda ops, w, X, p, at=(i, j): w.rates.S[at])
    for name in CORRELATIONS if i <= j else ():
        declared(f"{name}_{x}{y}", f"{CORRELATIONS[name]} correlation of μ{x} and μ{y}")(
            lambda ops, w, X, p, name=name, at=(i, j): getattr(w, name)[at]
        )
for T, (i, x) in product(TYPES, enumerate("123")):
    declared(f"S_{x}_r{T}", f"score of key μ{x} for an irrelevant query of type {T} (mean)")(
        of_words(T, lambda w, i=i: w.S[i])
    )
    declared(f"S_r{T}_{x}", f"score of an irrelevant key of type {T} for query μ{x} (mean)")(
        of_words(T, lambda w, i=i: w.S[:, i])
    )
for T in TYPES:
    declared(f"S_r{T}_same_word", f"score of an irrelevant word of type {T} for itself (mean)")(
        lambda ops, w, X, p, T=T: of_type(X, T) * irrelevant_mean(X, w.S[read(X).queries, read(X).queries])
    )
    declared(f"S_r{T}_same_sample", f"score between irrelevant words of one sentence of type {T} (mean)")(
        lambda ops, w, X, p, T=T: of_type(X, T) * same_sample(w.S, X)
    )


# -- outputs and losses ---------------------------------------------------------------------------------------------


def margins(ops, w, X, p) -> Any:
    """y F of every sentence."""
    return X.y * sentence_outputs(ops, w, read(X), X, p)


def attention(ops, w, X, p) -> Any:
    """Attention [sentence, query, key]."""
    return ops.softmax(scores_seen(w.S, read(X), X, p), read(X).key_counts, axis=-1)


def output_rates(ops, w, X, p) -> Any:
    """dF/dt = Σ_queries Σ_keys p (dG(key)/dt + s (G(key) − Σ p G) dS/dt)."""
    table = read(X)
    if table.output_rates is not None:
        return table.output_rates
    G, rates = (of[0][table.keys][:, None, :] for of in (w.G, w.rates.G))
    means = ops.attend(G, scores_seen(w.S, table, X, p), table.key_counts, axis=-1)[:, :, None]
    moving = rates + (G - means) * scores_seen(w.rates.S, table, X, p)
    return (table.query_counts * (attention(ops, w, X, p) * moving).sum(axis=-1)).sum(axis=-1)


def gradient_sums(ops, w, X, p) -> list:
    """(1/n) Σ g_i over each type, g = 1/(1 + exp(y F)); X.weight holds what a sample counts in a mean."""
    g = X.weight * ops.sigmoid(-margins(ops, w, X, p))
    return [(g * X.kind[:, T]).sum() for T in range(4)]


for i, (T, kind) in enumerate(TYPES.items()):
    declared(f"F_type{T}", f"output on samples with {kind} (mean)")(
        lambda ops, w, X, p, T=T: of_type(X, T) * sentence_outputs(ops, w, read(X), X, p)
    )
    declared(f"d_F_type{T}", f"rate of F_type{T}")(lambda ops, w, X, p, T=T: of_type(X, T) * output_rates(ops, w, X, p))
    declared(f"loss_type{T}", f"training loss on samples with {kind} (mean)")(
        lambda ops, w, X, p, T=T: of_type(X, T) * ops.softplus(-margins(ops, w, X, p))
    )
    declared(f"g_type{T}", f"(1/n) Σ g_i over samples with {kind}, g = 1/(1 + exp(yF))")(
        lambda ops, w, X, p, i=i: X.kind[:, i] * ops.sigmoid(-margins(ops, w, X, p))
    )


@declared("test_loss", "loss on sentences of words never trained on")
def test_loss(ops, w, X, p):
    table, y, weights = unseen_sentences(X, p)
    return (ops.array(weights) * ops.softplus(-y * sentence_outputs(ops, w, table, X, p))).sum()


def unseen_sentences(X, p) -> tuple[Table, Any, Any]:
    """Sentences never trained on, their labels and weights."""
    if isinstance(X, Kinds):
        return X.unseen
    words, types, weights = test_sentences(p)
    return Table(words, words), np.array(LABELS)[types], weights


# -- attention ------------------------------------------------------------------------------------------------------


def kind_of_attention(T: str, query: str, key: str) -> Callable:
    """Attention of a kind of query on a kind of key: `r` as key all (other) irrelevant words, `self` the query."""

    def share(ops, w, X, p):
        table, weight = read(X), attention(ops, w, X, p)
        if key == "r":
            on_key = on_others(X, weight)
        else:
            on_key = (weight * (table.itself if key == "self" else where(table.keys, int(key) - 1)[:, None, :])).sum(
                axis=-1
            )
        if query == "r":
            return of_type(X, T) * irrelevant_mean(X, on_key)
        return of_type(X, T) * (where(table.queries, int(query) - 1) * on_key).sum(axis=-1)

    return share


for T in TYPES:
    words = [str(word + 1) for word in SPECIAL_WORDS[int(T) - 1]]
    for query in (*words, "r"):
        for key in (*words, *(("self", "r") if query == "r" else ("r",))):
            meaning = f"type {T}: attention of query {query} on key {key} (r: the other irrelevant words together)"
            declared(f"p_type{T}_{query}_{key}", meaning)(kind_of_attention(T, query, key))


@declared("attention_deviation", "L² max |p - 1/L| (Definition F.1 wants it below a constant)")
def attention_deviation(ops, w, X, p):
    apart = attention(ops, w, X, p).reshape(-1) - 1 / p.L
    return p.L**2 * ops.largest([ops.largest(apart), ops.largest(-apart)])


# -- monitors -------------------------------------------------------------------------------------------------------


@declared("R", "gradient ratio -Ġ(μ3)/Ġ(μ1) (Lemmas 4.3, 4.5)")
def gradient_ratio(ops, w, X, p):
    return -w.rates.G[0, 2] / w.rates.G[0, 0]


@declared("overtaking", "-Ġ(μ3) - max(Ġ(μ1), Ġ(μ2)): positive from T_0.5 on")
def overtaking(ops, w, X, p):
    return -w.rates.G[0, 2] - ops.largest([w.rates.G[0, 0], w.rates.G[0, 1]])


@declared("least_margin", "min over samples of yF: positive from T_1 on")
def least_margin(ops, w, X, p):
    return ops.smallest(margins(ops, w, X, p))


@declared("least_value", "min(G(μ1), G(μ2), -G(μ3)): theta at T_theta")
def least_value(ops, w, X, p):
    return ops.smallest([w.G[0, 0], w.G[0, 1], -w.G[0, 2]])


@declared("c_growth", "c / β (Definition F.1 wants it to stay of order 1)")
def c_growth(ops, w, X, p):
    return w.UU[0, 0] / scales_seen(X, p).beta


def of_gradients(name: str, meaning: str, value: Callable) -> None:
    declared(name, meaning)(lambda ops, w, X, p: value(ops, *gradient_sums(ops, w, X, p)))


of_gradients("balance_negative", "(g_2 + g_3 + g_4 - g_1) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
             lambda ops, a, b, c, d: (b + c + d - a) / (a + b + c + d))  # fmt: skip
of_gradients("balance_positive", "(g_1 - g_2) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
             lambda ops, a, b, c, d: (a - b) / (a + b + c + d))  # fmt: skip
of_gradients("gradient_order", "positive while g_4 < g_2, g_3 < g_1 < g_2 + g_3 + g_4 (Definition F.1)",
             lambda ops, a, b, c, d: ops.smallest([b - d, c - d, a - b, a - c, b + c + d - a]))  # fmt: skip
of_gradients("target_imbalance", "|g_2 - g_3| / min(g_2, g_3) (Lemma 4.4)",
             lambda ops, a, b, c, d: ops.largest([b - c, c - b]) / ops.smallest([b, c]))  # fmt: skip


@declared("score_signs", "min(Ṡ_12, Ṡ_21, -Ṡ_31, -Ṡ_32): positive while Theorem 3.2 item 1 holds")
def score_signs(ops, w, X, p):
    S = w.rates.S
    return ops.smallest([S[0, 1], S[1, 0], -S[2, 0], -S[2, 1]])
