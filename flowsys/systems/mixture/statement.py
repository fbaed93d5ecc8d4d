"""The infinite-width limit of the mixture model, stated for the derivation engine with K as a symbol.

Permuting groups, and swapping the heads together with the sign of every v_k, map the flow to itself (Lemmas C.2, C.4,
here for all K and L), so w_+ has two entries and every 2K×2K matrix is A ⊗ I + B ⊗ (J - I): a *same* and a *diff*
2×2 matrix in (c, v). It splits into a mean sector A + (K-1)B and a difference sector A - B of multiplicity K - 1, each
a Gram pair [[KK, S], [Sᵀ, QQ]]. With both heads counted, the multiplicities are 2K (w), 2 and 2(K-1).

By the same symmetries the label is +1 and the group is 1. The declared model reads a sample's orbit, of whose tokens
four kinds matter. Sample orbits and distractor queries are tables (`flowsys.systems.mixture.population`).
"""

from types import SimpleNamespace

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, symbol
from flowsys.symbolic.flow import Direct, Gram, balanced_self_scores, pair
from flowsys.systems.mixture.model import HEADS, Orbit, Sequence, attention, head_output, network_output, sample_loss
from flowsys.systems.mixture.observables import CLASSES, MEANS

K, ω, b = symbol("K"), symbol("omega"), symbol("b")
train_neurons, train_attention = symbol("train_neurons"), symbol("train_attention")
n_plus, n_minus = symbol("n_plus"), symbol("n_minus")
KEYS = ("c", "v", "d")

# token kinds as a query sees them: the group signal, the classification signal, a distractor's group, other groups
C, V, OWN, OTHER = range(4)


def matrix(name: str, part: str, symmetric: bool = False) -> sp.Matrix:
    """The 2×2 matrix of symbols `name_xy_part`."""
    order = sorted if symmetric else list
    return sp.Matrix(2, 2, lambda i, j: symbol(f"{name}_{''.join(order(('cv'[i], 'cv'[j])))}_{part}"))


def same_and_diff(name: str, symmetric: bool = False) -> dict[sp.Symbol, sp.Expr]:
    """Entries from sectors: A = M_mean/K + (1 - 1/K) M_difference, B = (M_mean - M_difference)/K."""
    of = {part: matrix(name, part, symmetric) for part in ("mean", "difference", "same", "diff")}
    diff = (of["mean"] - of["difference"]) / K
    return dict(zip((*of["diff"], *of["same"]), (*diff, *(diff + of["difference"]))))


def network() -> SimpleNamespace:
    """Both heads on the kinds of tokens; the negative head has its v-signs flipped (Lemma C.4)."""
    kind, group, flip = "cvvv", (0, 0, 1, 2), np.array([1, -1, -1, -1])
    same = lambda i, j: "same" if group[i] == group[j] else "diff"
    w = np.array([symbol(f"w_{x}") for x in kind])
    S = np.array([[symbol(f"S_{kind[i]}{kind[j]}_{same(i, j)}") for j in range(4)] for i in range(4)])
    return SimpleNamespace(w=(w, flip * w), S=(S, np.outer(flip, flip) * S))


def queries_level() -> Level:
    """What one distractor token contributes to H: a query of sign ε whose group occurs own_plus, own_minus times."""
    names = "query_sign own_plus own_minus query_n_plus query_n_minus"
    ε, own_plus, own_minus, n_plus, n_minus = columns = tuple(map(symbol, names.split()))
    sequence = Sequence(
        keys=np.array([C, V, OWN, OWN, OTHER, OTHER]),
        signs=np.array([1, 1, 1, -1, 1, -1]),
        queries=np.array([OWN]),
        query_signs=np.array([ε]),
        counts=np.array([1, 1, own_plus, own_minus, n_plus - own_plus, n_minus - own_minus]),
    )
    w, outputs = network(), {}
    for h, side in enumerate(HEADS):
        outputs[f"distractor_{side}"] = head_output(ops, w.w[h], w.S[h], sequence)
        p = attention(ops, w.S[h], sequence)[:, 0]
        outputs |= {f"distractor_{side}_on_{key}": on for key, on in zip(KEYS, (p[0], p[1], p[2:].sum()))}
    return Level("queries", columns, outputs)


def samples_level() -> tuple[Level, Orbit]:
    """f of one sample orbit, from the queries c and v of its group and all its distractors; the orbit as a sample."""
    sequence = Sequence(
        keys=np.array([C, V, OTHER, OTHER]),
        signs=np.array([1, 1, 1, -1]),
        queries=np.array([C, V]),
        query_signs=np.array([1, 1]),
        counts=np.array([1, 1, n_plus, n_minus]),
    )
    linked: dict = {}
    w, outputs = network(), {}
    for h, side in enumerate(HEADS):
        rest = {symbol(f"distractors_{side}{on}"): f"distractor_{side}{on}" for on in ("", *(f"_on_{x}" for x in KEYS))}
        linked |= rest
        H = head_output(ops, w.w[h], w.S[h], sequence) + next(iter(rest))
        outputs[f"kink_{side}"] = ops.name(f"preactivation_{side}", H + b)
    outputs = {"output": network_output(ops, *outputs.values())} | outputs
    columns = tuple(map(symbol, "weight probability consistent conflicting n_plus n_minus".split()))
    per_query = lambda side, key: symbol(f"distractors_{side}_on_{key}") / (n_plus + n_minus)
    return Level("samples", columns, outputs, linked), Orbit(
        sequence=sequence, y=1, right=1, consistent=symbol("consistent"), conflicting=symbol("conflicting"),
        preactivations=[symbol(f"kink_{side}") for side in HEADS], output=symbol("output"),
        distractors_on=[{key: per_query(side, key) for key in KEYS} for side in HEADS],
    )  # fmt: skip


def limit_statement(eliminate_self_scores: bool = False) -> Statement:
    """The limit with 22 variables, or 10 once KK and QQ are eliminated by N² = ω⁴I."""
    self_scores: dict = {}
    grams = []
    for part, multiplicity in (("mean", sp.Integer(2)), ("difference", 2 * (K - 1))):
        S = matrix("S", part)
        KK, QQ = matrix("KK", part, symmetric=True), matrix("QQ", part, symmetric=True)
        if eliminate_self_scores:
            for symbols, values in zip((KK, QQ), balanced_self_scores(S, ω)):
                self_scores |= {symbols[i, j]: values[i, j] for i, j in ((0, 0), (0, 1), (1, 1))}
        grams.append(Gram(pair(KK, S, QQ), multiplicity, train_attention, eliminated=frozenset(self_scores)))
    level, X = samples_level()
    loss = sample_loss(ops, None, X, None)
    means = {"loss": loss} | {name: mean(ops, network(), X, None) for name, mean in MEANS.items()}
    selfs = same_and_diff("KK", True) | same_and_diff("QQ", True)
    return Statement(
        blocks=[Direct((symbol("w_c"), symbol("w_v")), (2 * K, 2 * K), train_neurons), *grams],
        parameters=(K, ω, b, train_neurons, train_attention),
        entries=self_scores | same_and_diff("S"),
        levels=(queries_level(), level),
        loss=symbol("weight") * loss,
        totals={f"sum_{name}": symbol("probability") * mean for name, mean in means.items()},
        observables={name: selfs.get(symbol(name), symbol(name)) for name in CLASSES}
        | {name: symbol(f"sum_{name}") for name in means},
    )
