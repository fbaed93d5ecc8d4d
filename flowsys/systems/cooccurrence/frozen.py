"""Frozen attention, stated for the derivation engine: the bag of words, with n and L as symbols (n = ∞ allowed).

Direct coordinates G of the 7 word classes, each standing for the words of its class, in the clock ∫(c + m1 α)dt with
c = β:  dG/dt = (β + m1 α) r,  F_T the sum of G over the words of a sentence.
"""

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct
from flowsys.systems.cooccurrence.model import bag_of_words_loss, bag_of_words_outputs
from flowsys.systems.cooccurrence.observed import SPECIAL, TYPES
from flowsys.systems.cooccurrence.sentences import LABELS
from flowsys.systems.cooccurrence.statement import PLAIN, Clocks, L, inverse_n, m1, α, β

NAMES = (*(f"G_mu{x}" for x in SPECIAL), *(f"G_r{T}" for T in TYPES))


def bag_of_words_statement() -> Statement:
    """The flow of the 7 word classes under uniform attention."""
    G, sizes, speed = np.array([symbol(name) for name in NAMES]), PLAIN.sizes, β + m1 * α
    copies = (1, 1, 1, *(R / ε for R, ε in zip(sizes.random_slots, sizes.per_sample)))
    F = bag_of_words_outputs(G, sizes)
    return Statement(
        blocks=[Direct(tuple(G), copies, speed), Clocks({symbol("tau"): β, symbol("clock"): speed})],
        parameters=(α, β, m1, L, inverse_n, *PLAIN.share_of_type),
        loss=bag_of_words_loss(G, sizes, ops),
        totals={f"F_{T}": F[i] for i, T in enumerate(TYPES)},
        observables=_observables(G, sizes),
    )


def _observables(G, sizes) -> dict[str, sp.Expr]:
    rates = np.array([symbol(f"d_{name}") for name in NAMES])
    found = {"tau": symbol("tau"), "clock": symbol("clock")} | dict(zip(NAMES, G))
    found |= {f"d_{name}": rate for name, rate in zip(NAMES, rates)}
    unseen = bag_of_words_outputs(np.concatenate([G[:3], 0 * G[3:]]), sizes)
    margins, test = [], []
    for T, y, share, d_F, F_unseen in zip(TYPES, LABELS, sizes.shares, bag_of_words_outputs(rates, sizes), unseen):
        F = symbol(f"F_{T}")
        found |= {f"F_type{T}": F, f"d_F_type{T}": d_F, f"loss_type{T}": ops.softplus(-y * F)}
        found[f"g_type{T}"] = share * ops.sigmoid(-y * F)
        margins.append(y * F)
        test.append(share * ops.softplus(-y * F_unseen))
    g_1, g_2, g_3, g_4 = g = [found[f"g_type{T}"] for T in TYPES]
    return found | {
        "loss": sp.Add(*[share * found[f"loss_type{T}"] for T, share in zip(TYPES, sizes.shares)]),
        "test_loss": sp.Add(*test),
        "R": -rates[2] / rates[0],
        "overtaking": -rates[2] - ops.largest([rates[0], rates[1]]),
        "least_margin": ops.smallest(margins),
        "least_value": ops.smallest([G[0], G[1], -G[2]]),
        "balance_negative": (g_2 + g_3 + g_4 - g_1) / sp.Add(*g),
        "balance_positive": (g_1 - g_2) / sp.Add(*g),
        "gradient_order": ops.smallest([g_2 - g_4, g_3 - g_4, g_1 - g_2, g_1 - g_3, g_2 + g_3 + g_4 - g_1]),
    }
