"""The infinite-width limit of the mixture model, stated for the derivation engine with K as a symbol.

Permuting groups, and swapping the heads together with the sign of every v_k, map the flow to itself (Lemmas C.2, C.4,
here for all K and L), so w_+ has two entries and every 2K×2K matrix is A ⊗ I + B ⊗ (J - I): a *same* and a *diff*
2×2 matrix in (c, v). It splits into a mean sector A + (K-1)B and a difference sector A - B of multiplicity K - 1, each
a Gram pair [[KK, S], [Sᵀ, QQ]]. With both heads counted, the multiplicities are 2K (w), 2 and 2(K-1).

By the same symmetries the label is +1 and the group is 1. The positive head sees the sample X; the negative head sees
what the positive one would see on X' = X with all v-signs flipped. Sample orbits and distractor queries are tables
(`flowsys.systems.mixture.population`).
"""

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, symbol
from flowsys.symbolic.flow import Direct, Gram, balanced_self_scores, pair
from flowsys.systems.mixture.model import (
    Sequence,
    attention_scores,
    head_output,
    logistic_loss,
    network_output,
)

K, ω, b = symbol("K"), symbol("omega"), symbol("b")
train_neurons, train_attention = symbol("train_neurons"), symbol("train_attention")
PARAMETERS = (K, ω, b, train_neurons, train_attention)

TYPES = ("c", "v")
PAIRS = tuple(x + y for x in TYPES for y in TYPES)
SYMMETRIC_PAIRS = ("cc", "cv", "vv")

# the sides of f: the positive head on X, and on X' with all v-signs flipped (what the negative head sees)
SIDES = {"plus": 1, "minus": -1}
KEYS = ("c", "v", "d")
KINDS = ("consistent", "conflicting")
# a sample counts as classified where y f exceeds this: ties are exactly 0 up to rounding or smoothing
MARGIN = sp.Rational(1, 1000)

# token kinds as the query sees them: the group signal, the classification signal, a distractor's group, other groups
C, V, OWN, OTHER = range(4)


def matrix(name: str, part: str, symmetric: bool = False) -> sp.Matrix:
    """The 2×2 matrix of symbols `name_xy_part`."""

    def entry(i, j):
        i, j = (min(i, j), max(i, j)) if symmetric else (i, j)
        return symbol(f"{name}_{TYPES[i]}{TYPES[j]}_{part}")

    return sp.Matrix(2, 2, entry)


def same_and_diff(name: str, symmetric: bool = False) -> dict[sp.Symbol, sp.Expr]:
    """Entries from sectors: A = M_mean/K + (1 - 1/K) M_difference, B = (M_mean - M_difference)/K."""
    mean, difference = matrix(name, "mean", symmetric), matrix(name, "difference", symmetric)
    entries = {}
    for i in range(2):
        for j in range(i if symmetric else 0, 2):
            xy = TYPES[i] + TYPES[j]
            diff = (mean[i, j] - difference[i, j]) / K
            entries[symbol(f"{name}_{xy}_diff")] = diff
            entries[symbol(f"{name}_{xy}_same")] = diff + difference[i, j]
    return entries


def scores_seen_by_a_sample() -> np.ndarray:
    """S over the token kinds of one sample (key, query)."""
    S = np.zeros((4, 4), dtype=object)
    group = {C: 0, V: 0, OWN: 1, OTHER: 2}
    kind = {C: "c", V: "v", OWN: "v", OTHER: "v"}
    for i in group:
        for j in group:
            S[i, j] = symbol(f"S_{kind[i]}{kind[j]}_{'same' if group[i] == group[j] else 'diff'}")
    return S


def queries_level() -> Level:
    """What one distractor token contributes to H: a query of sign ε whose group occurs own_plus, own_minus times."""
    names = "query_sign own_plus own_minus query_n_plus query_n_minus"
    ε, own_plus, own_minus, n_plus, n_minus = columns = tuple(map(symbol, names.split()))
    outputs = {}
    for side, s in SIDES.items():
        sequence = Sequence(
            keys=np.array([C, V, OWN, OWN, OTHER, OTHER]),
            key_signs=np.array([1, s, s, -s, s, -s], dtype=object),
            key_counts=np.array([1, 1, own_plus, own_minus, n_plus - own_plus, n_minus - own_minus], dtype=object),
            queries=np.array([OWN]),
            query_signs=np.array([s * ε], dtype=object),
        )
        outputs[f"distractor_{side}"] = head_output(ops, neurons(), scores_seen_by_a_sample(), sequence)
        for key, p in zip(KEYS, attention_on_kinds(sequence)[:, 0]):
            outputs[f"distractor_{side}_on_{key}"] = p
    return Level("queries", columns, outputs)


def samples_level() -> Level:
    """f of one sample orbit: the queries c and v of its group, and all its distractors."""
    names = "weight probability is_consistent is_conflicting n_plus n_minus"
    columns = tuple(map(symbol, names.split()))
    linked, preactivations = {}, {}
    for side in SIDES:
        linked[symbol(f"distractors_{side}")] = f"distractor_{side}"
        for key in KEYS:
            linked[symbol(f"distractors_{side}_on_{key}")] = f"distractor_{side}_on_{key}"
        H = head_output(ops, neurons(), scores_seen_by_a_sample(), sample_queries(side))
        preactivations[side] = ops.name(f"preactivation_{side}", H + symbol(f"distractors_{side}") + b)
    output = network_output(ops, preactivations["plus"], preactivations["minus"])
    outputs = {"output": output} | {f"kink_{side}": preactivations[side] for side in SIDES}
    return Level("samples", columns, outputs, linked)


def sample_queries(side: str) -> Sequence:
    """The queries c and v of a sample's own group, and all its keys, as the positive head sees X or X'."""
    s, n_plus, n_minus = SIDES[side], symbol("n_plus"), symbol("n_minus")
    return Sequence(
        keys=np.array([C, V, OTHER, OTHER]),
        key_signs=np.array([1, s, s, -s], dtype=object),
        key_counts=np.array([1, 1, n_plus, n_minus], dtype=object),
        queries=np.array([C, V]),
        query_signs=np.array([1, s], dtype=object),
    )


def neurons() -> np.ndarray:
    return np.array([symbol("w_c"), symbol("w_v"), symbol("w_v"), symbol("w_v")], dtype=object)


def attention_on_kinds(sequence: Sequence) -> np.ndarray:
    """Attention of every query on the keys c, v and all distractors together: (keys, queries)."""
    p = ops.softmax(attention_scores(scores_seen_by_a_sample(), sequence), sequence.key_counts[:, None], axis=0)
    return np.array([p[0], p[1], p[2:].sum(axis=0)])


def observed_over_samples() -> dict[str, sp.Expr]:
    """Summands over sample orbits of what is averaged over all, the consistent or the conflicting samples."""
    probability, f = symbol("probability"), symbol("output")
    loss = logistic_loss(ops, 1, f)
    totals = {"sum_loss": probability * loss, "sum_accuracy": probability * ops.is_positive(f - MARGIN)}
    for kind in KINDS:
        share = probability * symbol(f"is_{kind}")
        totals |= {f"mass_{kind}": share, f"sum_loss_{kind}": share * loss, f"sum_f_{kind}": share * f}
        for side in SIDES:
            totals[f"sum_preactivation_{side}_{kind}"] = share * symbol(f"kink_{side}")
    share = probability * symbol("is_conflicting")
    for side in SIDES:
        attention = attention_on_kinds(sample_queries(side))
        for column, query in enumerate(("c", "v")):
            for row, key in enumerate(KEYS):
                totals[f"sum_p_{side}_{query}_{key}"] = share * attention[row, column]
        for key in KEYS:
            per_token = symbol(f"distractors_{side}_on_{key}") / (symbol("n_plus") + symbol("n_minus"))
            totals[f"sum_p_{side}_d_{key}"] = share * per_token
    return totals


def observables() -> dict[str, sp.Expr]:
    """Everything the limit reports, by the names of the paper spelt in ASCII."""
    found: dict[str, sp.Expr] = {"w_c": symbol("w_c"), "w_v": symbol("w_v")}
    for name, symmetric in (("S", False), ("KK", True), ("QQ", True)):
        entries = same_and_diff(name, symmetric)
        for part in ("same", "diff"):
            for xy in SYMMETRIC_PAIRS if symmetric else PAIRS:
                value = symbol(f"{name}_{xy}_{part}")
                found[str(value)] = value if name == "S" else entries[value]
    found |= {"loss": symbol("sum_loss"), "accuracy": symbol("sum_accuracy")}
    for kind in KINDS:
        averaged = [f"loss_{kind}", f"f_{kind}", *(f"preactivation_{side}_{kind}" for side in SIDES)]
        found |= {name: symbol(f"sum_{name}") / symbol(f"mass_{kind}") for name in averaged}
    for side in SIDES:
        for query in KEYS:
            for key in KEYS:
                name = f"p_{side}_{query}_{key}"
                found[name] = symbol(f"sum_{name}") / symbol("mass_conflicting")
    return found


def limit_statement(eliminate_self_scores: bool = False) -> Statement:
    """The limit with 22 variables, or 10 once KK and QQ are eliminated by N² = ω⁴I."""
    grams, self_scores = [], {}
    for part, multiplicity in (("mean", sp.Integer(2)), ("difference", 2 * (K - 1))):
        S = matrix("S", part)
        KK, QQ = matrix("KK", part, symmetric=True), matrix("QQ", part, symmetric=True)
        if eliminate_self_scores:
            for symbols, values in zip((KK, QQ), balanced_self_scores(S, ω)):
                self_scores |= {symbols[i, j]: values[i, j] for i, j in ((0, 0), (0, 1), (1, 1))}
        grams.append(Gram(pair(KK, S, QQ), multiplicity, train_attention, eliminated=frozenset(self_scores)))
    return Statement(
        blocks=[Direct((symbol("w_c"), symbol("w_v")), (2 * K, 2 * K), train_neurons), *grams],
        parameters=PARAMETERS,
        entries=self_scores | same_and_diff("S"),
        levels=(queries_level(), samples_level()),
        loss=symbol("weight") * logistic_loss(ops, 1, symbol("output")),
        totals=observed_over_samples(),
        observables=observables(),
    )
