"""The kinds of word and of sentence of the limit (Assumption 2.3), with n and L as symbols.

All irrelevant words of a type are alike. The vocabulary has 12 kinds: μ1, μ2, μ3; r_1 … r_4, an irrelevant word of each
type; r'_1 … r'_4, another one of the same sentence; and a word never trained on, whose value and scores are 0. One
sentence stands for each type, read as the declared model reads its sentences.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import symbol
from flowsys.systems.cooccurrence.model import Kinds, Table, sentence_outputs
from flowsys.systems.cooccurrence.observables import OBSERVE, attention
from flowsys.systems.cooccurrence.sentences import INCIDENCE, LABELS, SPECIAL_WORDS

α, β, m1, s, L, inverse_n = map(symbol, ("alpha", "beta", "m1", "score_scale", "L", "inverse_n"))
TYPES = ("1", "2", "3", "4")
KINDS, UNSEEN = 12, 11
P = SimpleNamespace(alpha=α, beta=β, score_scale=s, L=L)
_TINY = sp.Rational(1, 10**9)


class Sizes(NamedTuple):
    """Of the four types, shares, random slots R_T and 1/n_T; n enters through 1/n, so that n = ∞ is a number too."""

    shares: np.ndarray
    random_slots: np.ndarray
    per_sample: np.ndarray


def sizes_of(shares: tuple[sp.Symbol, ...]) -> Sizes:
    slots = ops.array([L - len(words) for words in SPECIAL_WORDS])
    return Sizes(np.array(shares), slots, np.array([inverse_n / share for share in shares]))


def kinds_table(slots, unseen: bool = False) -> Table:
    """Queries μ1, μ2, μ3, r; keys μ1, μ2, μ3, the query itself if it is r, and the other irrelevant words."""
    word, other = (np.full(4, UNSEEN),) * 2 if unseen else (3 + np.arange(4), 7 + np.arange(4))
    words = np.tile(np.arange(3), (4, 1))
    of_query = lambda T, itself: [*INCIDENCE[T], itself, slots[T] - itself]
    counts = ops.array([[of_query(T, 0)] * 3 + [of_query(T, 1)] for T in range(4)])
    irrelevant = ops.array([[0, 0, 0, slots[T]] for T in range(4)])
    return Table(
        np.column_stack([words, word, other]), np.column_stack([words, word]), counts,
        ops.array([[*INCIDENCE[T], slots[T]] for T in range(4)]), np.array([[0, 0, 0, 1, 1]]), irrelevant,
        np.eye(4, 5, dtype=int) * np.array([0, 0, 0, 1, 0]),
    )  # fmt: skip


def declared(w, sizes: Sizes) -> dict[str, Any]:
    """What a statement has of the declared model: the loss under Assumption 2.3, F of the types, what is observed.

    A mean over samples is one over types. F of the types is computed once, and known to what is observed.
    """
    table, unseen = (kinds_table(sizes.random_slots, unseen) for unseen in (False, True))
    F = np.array([symbol(f"F_{T}") for T in TYPES])
    samples = Kinds(table=table._replace(outputs=F), y=np.array(LABELS), kind=np.eye(4, dtype=int),
                    of_type=np.diag([1 / share for share in sizes.shares]), output_norm=m1, weight=sizes.shares,
                    unseen=(unseen, np.array(LABELS), sizes.shares))  # fmt: skip
    observed: dict[str, sp.Expr] = {"tau": symbol("tau"), "clock": symbol("clock")}
    for name, function in OBSERVE.items():
        value = attention_deviation(w, samples) if name == "attention_deviation" else function(ops, w, samples, P)
        observed[name] = (sizes.shares * value).sum() if getattr(value, "shape", ()) else value
    outputs = sentence_outputs(ops, w, table, P)
    loss = lambda F: sp.Add(*(sizes.shares * ops.softplus(-np.array(LABELS) * F)))
    return {
        "loss": loss(outputs),
        "totals": dict(zip(map(str, F), outputs)),
        "observables": observed | {"loss": loss(F)},
    }


def attention_deviation(w, X) -> sp.Expr:
    """L² max |p - 1/L| over single keys that occur: a kind may stand for none of them where L is a number."""
    table, apart = X.table, []
    for of_type, counts, queries in zip(attention(ops, w, X, P), table.key_counts, table.query_counts):
        for weights, of_query, n_queries in zip(of_type, counts, queries):
            for weight, count in zip(weights, of_query):
                if n_queries != 0 and count != 0:
                    occurs = 1 if count == 1 else ops.is_positive(count)
                    single = weight if count == 1 else weight * occurs / ops.largest([count, _TINY])
                    apart += [single - occurs / L, occurs / L - single]
    return L**2 * ops.largest(list(dict.fromkeys(apart)))


def weights(G: np.ndarray, S: np.ndarray, rate, **more: Any) -> SimpleNamespace:
    """What the declared functions see of the network: `rate` gives dG/dt and dS/dt entry by entry."""
    of = np.vectorize(rate, otypes=[object])
    return SimpleNamespace(G=G[None, :], S=S, rates=SimpleNamespace(G=of(G)[None, :], S=of(S)), **more)
