"""The infinite-width limit of parity stated for the derivation engine, with n, i and m as symbols.

While gates are frozen and the loss is linear, a position i ≥ n+3 (or the only one, k = 1) is a system of its own in
(g, u, v, w), and positions n+1, n+2 form a block of 16 coordinates; `limit` has their losses and what each coordinate
stands for. With c the number of bits the query token takes (2, or 1 for k = 1), a position sees one target, c sure
keys (end of sequence, own token) and i - 1 - c ordinary ones.
"""

import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct
from flowsys.systems.parity.limit import (
    BLOCK_STATE,
    POSITION_STATE,
    block_loss,
    block_margins,
    block_metric,
    position_copies,
    position_loss,
)

n, i, m, c = (symbol(name) for name in ("n", "i", "m", "query_bits"))
# which of n+1 and n+2 the block reports under the names of a position: 1 or 0
is_first = symbol("is_first")


def attention_and_entropy(scores, counts) -> tuple[list[sp.Expr], sp.Expr]:
    """Class totals of a softmax and its entropy H = log Σ n e^s - Σ p s, finite at any scores."""
    p = ops.softmax(ops.stack(scores), ops.array(counts))
    entropy = ops.log_sum_exp(ops.stack(scores), ops.array(counts)) - sum(x * s for x, s in zip(p, scores))
    return list(p), ops.largest([entropy, 0])


def position_statement(loss: str = "linear") -> Statement:
    """One decoupled position; `loss` is linear or hinge."""
    y = [symbol(name) for name in POSITION_STATE]
    g, u, v, w = y
    n_ordinary = i - 1 - c
    (s, s_ordinary, s_sure), entropy = attention_and_entropy([u, v, w], [1, n_ordinary, c])
    summand = position_loss(y, n_ordinary, c, loss, ops)
    return Statement(
        blocks=[Direct(tuple(y), position_copies(m, n_ordinary, c, c))],
        parameters=(i, m, c),
        loss=summand,
        totals={"total_loss": summand},
        observables={
            **dict(zip(POSITION_STATE, y)),
            **{"s_target": s, "s_ordinary": s_ordinary, "s_sure": s_sure, "one_hot_error": s_ordinary + s_sure},
            **{"margin": s * g, "entropy": entropy / sp.log(i), "accuracy": ops.is_positive(s * g)},
            "loss": symbol("total_loss"),
        },
    )


def surrogate_statement() -> Statement:
    """The position with the scores of all other keys held at 0: 4mg² = u + (e^u - 1)/(i-1) for c = 2."""
    g, u = symbol("g"), symbol("u")
    (s_other, s), entropy = attention_and_entropy([sp.S.Zero, u], [i - 1, 1])
    copies = position_copies(m, i - 1 - c, c, c)
    return Statement(
        blocks=[Direct((g, u), copies[:2])],
        parameters=(i, m, c),
        loss=-s * g,
        observables={
            **{"g": g, "u": u, "v": sp.S.Zero, "w": sp.S.Zero},
            **{"s_target": s, "one_hot_error": s_other, "margin": s * g},
            **{"entropy": entropy / sp.log(i), "accuracy": ops.is_positive(s * g), "loss": -s * g},
        },
    )


def block_statement() -> Statement:
    """Positions n+1 and n+2, coupled by the common mode of the gate overlaps; linear loss."""
    y = [symbol(name) for name in BLOCK_STATE]
    metric = sp.zeros(len(y))
    for place, value in block_metric(m, n).items():
        metric[place] = sp.sympify(value)
    return Statement(
        blocks=[Direct(tuple(y), metric)],
        parameters=(n, m, is_first),
        loss=block_loss(y, n, ops),
        observables=block_observables(y),
    )


def block_observables(y) -> dict[str, sp.Expr]:
    """Both positions by name, and under a position's own names the one that `is_first` chooses."""
    g_1, u_1, v_1, w_1, K_x0, K_x1, *_ = y
    a_x0, a_x1, a_z, a_o, a_e, a_f = y[-6:]
    first, zero, one = block_margins(y, n, ops)
    p_1, entropy_1 = attention_and_entropy([u_1, v_1, w_1], [1, n - 1, 1])
    seen = [attention_and_entropy([a_x, a_z, a_o, a_e, a_f], [1, 1, n - 2, 1, 1]) for a_x in (a_x0, a_x1)]
    (p_0, entropy_0), (p_2, entropy_2) = seen
    half = sp.Rational(1, 2)
    at_first = {
        **{"g": g_1, "u": u_1, "v": v_1, "w": w_1, "s_target": p_1[0], "one_hot_error": p_1[1] + p_1[2]},
        **{"margin": first, "accuracy": ops.is_positive(first)},
    }
    at_second = {
        **{"g": half * (K_x1 - K_x0), "u": half * (a_x0 + a_x1), "v": a_o, "w": a_e},
        **{"s_target": half * (p_0[0] + p_2[0]), "one_hot_error": half * sum([*p_0[1:], *p_2[1:]])},
        **{"margin": half * (zero + one), "accuracy": half * (ops.is_positive(zero) + ops.is_positive(one))},
    }
    chosen = {name: is_first * at_first[name] + (1 - is_first) * at_second[name] for name in at_first}
    normalised = entropy_1 / sp.log(n + 1)
    entropies = [ops.smallest([normalised, e / sp.log(n + 2)]) for e in (entropy_0, entropy_2)]
    return {
        **chosen,
        "entropy": half * (entropies[0] + entropies[1]),
        "loss": -first - half * (zero + one),
        **dict(zip(BLOCK_STATE, y)),
        "s_1": p_1[0],
        **{"s_x0": p_0[0], "s_x1": p_2[0], "s_z0": p_0[1], "s_z1": p_2[1]},
        "s_2_min": ops.smallest([p_0[0], p_2[0]]),
        **{"margin_n1": first, "margin_n2_0": zero, "margin_n2_1": one},
        "margin_min": ops.smallest([first, zero, one]),
    }
