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
from flowsys.systems.mixture.model import Sequence, head_output, logistic_loss, network_output

K, ω, b = symbol("K"), symbol("omega"), symbol("b")
train_neurons, train_attention = symbol("train_neurons"), symbol("train_attention")
PARAMETERS = (K, ω, b, train_neurons, train_attention)

TYPES = ("c", "v")
PAIRS = tuple(x + y for x in TYPES for y in TYPES)
SYMMETRIC_PAIRS = ("cc", "cv", "vv")

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
            entries[symbol(f"{name}_{xy}_same")] = symbol(f"{name}_{xy}_diff") + difference[i, j]
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
    for side, s in (("plus", 1), ("minus", -1)):
        sequence = Sequence(
            keys=np.array([C, V, OWN, OWN, OTHER, OTHER]),
            key_signs=np.array([1, s, s, -s, s, -s], dtype=object),
            key_counts=np.array([1, 1, own_plus, own_minus, n_plus - own_plus, n_minus - own_minus], dtype=object),
            queries=np.array([OWN]),
            query_signs=np.array([s * ε], dtype=object),
        )
        outputs[f"distractor_{side}"] = head_output(ops, neurons(), scores_seen_by_a_sample(), sequence)
    return Level("queries", columns, outputs)


def samples_level() -> Level:
    """f of one sample orbit: the queries c and v of its group, and all its distractors."""
    weight, is_consistent, is_conflicting, n_plus, n_minus = columns = tuple(
        map(symbol, "weight is_consistent is_conflicting n_plus n_minus".split())
    )
    linked, preactivations, outputs = {}, {}, {}
    for side, s in (("plus", 1), ("minus", -1)):
        sequence = Sequence(
            keys=np.array([C, V, OTHER, OTHER]),
            key_signs=np.array([1, s, s, -s], dtype=object),
            key_counts=np.array([1, 1, n_plus, n_minus], dtype=object),
            queries=np.array([C, V]),
            query_signs=np.array([1, s], dtype=object),
        )
        from_distractors = symbol(f"distractors_{side}")
        linked[from_distractors] = f"distractor_{side}"
        H = head_output(ops, neurons(), scores_seen_by_a_sample(), sequence) + from_distractors
        preactivations[side] = ops.name(f"preactivation_{side}", H + b)
    outputs["output"] = network_output(ops, preactivations["plus"], preactivations["minus"])
    return Level("samples", columns, outputs, linked)


def neurons() -> np.ndarray:
    return np.array([symbol("w_c"), symbol("w_v"), symbol("w_v"), symbol("w_v")], dtype=object)


def limit_statement(eliminate_self_scores: bool = False) -> Statement:
    """The limit with 22 variables, or 10 once KK and QQ are eliminated by N² = ω⁴I."""
    grams = []
    for part, multiplicity in (("mean", sp.Integer(2)), ("difference", 2 * (K - 1))):
        S = matrix("S", part)
        if eliminate_self_scores:
            KK, QQ = balanced_self_scores(S, ω)
        else:
            KK, QQ = matrix("KK", part, symmetric=True), matrix("QQ", part, symmetric=True)
        grams.append(Gram(pair(KK, S, QQ), multiplicity, train_attention))
    return Statement(
        blocks=[Direct((symbol("w_c"), symbol("w_v")), (2 * K, 2 * K), train_neurons), *grams],
        parameters=PARAMETERS,
        entries=same_and_diff("S"),
        levels=(queries_level(), samples_level()),
        loss=symbol("weight") * logistic_loss(ops, 1, symbol("output")),
    )
