"""What the limit reports, as expressions on its coordinates: values, scores, attention, losses, rates and monitors.

Rates use the program's own derivatives d_<state>, so they are exact. The monitors are those of Definition F.1
and Lemmas 4.3 to 4.5; g_T is the sum of g_i = 1/(1 + exp(y_i F_i)) over the samples of type T, divided by n.
"""

import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import symbol
from flowsys.systems.cooccurrence.model import attention, limit_test_loss
from flowsys.systems.cooccurrence.sentences import LABELS

SPECIAL = ("1", "2", "3")
TYPES = ("1", "2", "3", "4")
TARGETED = ("12", "21", "31", "32")
"""The scores Theorem 3.3 speaks of, key then query."""


def observables(coordinates, F) -> dict[str, sp.Expr]:
    """Everything the limit reports; `F` are the outputs of the four types in the entries."""
    found = {"tau": symbol("tau"), "clock": symbol("clock"), "c": coordinates.c, "d_tau": symbol("beta")}
    found["d_clock"] = coordinates.c + symbol("m1") * symbol("alpha")
    found |= entries(coordinates)
    found |= by_type(coordinates)
    found |= attentions(coordinates)
    found |= rates(coordinates, F)
    found |= monitors(coordinates, found)
    return found


def entries(coordinates) -> dict[str, sp.Expr]:
    """Values of word classes, scores and correlations."""
    found = dict(zip([*(f"G_mu{x}" for x in SPECIAL), *(f"G_r{T}" for T in TYPES)], coordinates.G))
    S = coordinates.S
    for i, p in enumerate(SPECIAL):
        found |= {f"S_{p}{q}": S.special[i, j] for j, q in enumerate(SPECIAL)}
    for i, p in enumerate(SPECIAL):
        for j, T in enumerate(TYPES):
            found |= {f"S_{p}_r{T}": S.special_random[i, j], f"S_r{T}_{p}": S.random_special[j, i]}
    for j, T in enumerate(TYPES):
        found |= {f"S_r{T}_same_word": S.same_word[j], f"S_r{T}_same_sample": S.same_sample[j]}
    for name in ("VV", "KK", "QQ"):
        invariant = coordinates.blocks(name).invariant
        for i, p in enumerate(SPECIAL):
            found |= {f"{name}_{p}{q}": sp.expand(invariant[i, j]) for j, q in enumerate(SPECIAL) if j >= i}
    return found


def by_type(coordinates) -> dict[str, sp.Expr]:
    """Outputs, losses and gradient sums of the four types, the loss and the test loss."""
    found, shares = {}, coordinates.sizes.shares
    for T, y, share in zip(TYPES, LABELS, shares):
        F = symbol(f"F_{T}")
        found |= {
            f"F_type{T}": F,
            f"loss_type{T}": ops.softplus(-y * F),
            f"g_type{T}": share * ops.sigmoid(-y * F),
        }
    found["loss"] = sp.Add(*[share * found[f"loss_type{T}"] for T, share in zip(TYPES, shares)])
    found["test_loss"] = limit_test_loss(coordinates.G, coordinates.S, coordinates.sizes, symbol("score_scale"), ops)
    return found


def attentions(coordinates) -> dict[str, sp.Expr]:
    """p_type1_1_2: in a sentence of type 1, how query μ1 attends to key μ2.

    Query or key r is an irrelevant word; as keys, `self` is the querying word and `r` all others together.
    The deviation L² max |p - 1/L| is over single keys that occur (Definition F.1).
    """
    found, deviations = {}, []
    L = symbol("L")
    p, key_counts = attention(coordinates.S, coordinates.sizes, symbol("score_scale"), ops)
    for T, type_name in enumerate(TYPES):
        for q, query in enumerate((*SPECIAL, "r")):
            if query != "r" and key_counts[T, 3, q] == 0:
                continue
            for k, key in enumerate((*SPECIAL, "self", "r")):
                count = key_counts[T, q, k]
                if count == 0:
                    continue
                weight = p[T, q, k]
                found[f"p_type{type_name}_{query}_{key}"] = weight
                single = weight if count == 1 else weight * ops.is_positive(count) / ops.largest([count, _TINY])
                occurs = 1 if count == 1 else ops.is_positive(count)
                deviations += [single - occurs / L, occurs / L - single]
    found["attention_deviation"] = L**2 * ops.largest(list(dict.fromkeys(deviations)))
    return found


_TINY = sp.Rational(1, 10**9)


def rates(coordinates, F) -> dict[str, sp.Expr]:
    """Time derivatives, and R = -Ġ_3/Ġ_1."""
    G, S = coordinates.G, coordinates.S.special
    values = {f"G_mu{x}": G[i] for i, x in enumerate(SPECIAL)} | {f"G_r{T}": G[3 + i] for i, T in enumerate(TYPES)}
    values |= {f"S_{p}{q}": S[int(p) - 1, int(q) - 1] for p, q in TARGETED}
    values |= {f"F_type{T}": F[i] for i, T in enumerate(TYPES)}
    found = {f"d_{name}": _rate(coordinates, value) for name, value in values.items()}
    found["R"] = -found["d_G_mu3"] / found["d_G_mu1"]
    return found


def _rate(coordinates, value: sp.Expr) -> sp.Expr:
    """d/dt of an expression in entries that are linear in the state."""
    entries = [e for e in coordinates.entries if e in value.free_symbols]
    return sp.Add(*[value.diff(e) * _entry_rate(coordinates.entries[e]) for e in entries])


def _entry_rate(value: sp.Expr) -> sp.Expr:
    state = sorted((x for x in value.free_symbols if str(x).startswith(("S_", "g_"))), key=str)
    return sp.Add(*[value.diff(x) * symbol(f"d_{x}") for x in state])


def monitors(coordinates, found) -> dict[str, sp.Expr]:
    """What the phases and Definition F.1 are about."""
    g = [found[f"g_type{T}"] for T in TYPES]
    g_1, g_2, g_3, g_4 = g
    d_1, d_2, d_3 = (found[f"d_G_mu{x}"] for x in SPECIAL)
    G_1, G_2, G_3 = (found[f"G_mu{x}"] for x in SPECIAL)
    dS = {pair: found[f"d_S_{pair}"] for pair in TARGETED}
    return {
        "overtaking": -d_3 - ops.largest([d_1, d_2]),
        "least_margin": ops.smallest([y * symbol(f"F_{T}") for T, y in zip(TYPES, LABELS)]),
        "least_value": ops.smallest([G_1, G_2, -G_3]),
        "c_growth": coordinates.c / symbol("beta"),
        "balance_negative": (g_2 + g_3 + g_4 - g_1) / sp.Add(*g),
        "balance_positive": (g_1 - g_2) / sp.Add(*g),
        "gradient_order": ops.smallest([g_2 - g_4, g_3 - g_4, g_1 - g_2, g_1 - g_3, g_2 + g_3 + g_4 - g_1]),
        "target_imbalance": ops.largest([g_2 - g_3, g_3 - g_2]) / ops.smallest([g_2, g_3]),
        "score_signs": ops.smallest([dS["12"], dS["21"], -dS["31"], -dS["32"]]),
    }
