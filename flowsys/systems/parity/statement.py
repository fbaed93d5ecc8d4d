"""The infinite-width limit of parity stated for the derivation engine, with n, i and m as symbols.

While gates are frozen and the loss is linear, a position i ≥ n+3 (or the only one, k = 1) is a system of its own in
(g, u, v, w), and positions n+1, n+2 form a block of 16 coordinates. Each is dy/dt = -metric ∂L/∂y with a constant
metric: the entry of a coordinate is 1 over the number of weights it stands for (times 1/(8m) for the neurons' part),
and the common mode of the gate overlaps Γ = (I + 11ᵀ)/(8m) couples the two coordinates on the tokens of S[n+1]. All
start at 0.

With c the number of bits the query token takes (2, or 1 for k = 1), a position sees one target, c sure
keys (end of sequence, own token) and i - 1 - c ordinary ones. Key kinds at n+2 for query bit 0 (query bit 1 is its
mirror image): x_β = (S[n+2], β), z = (S[n+1], 0), o = n-2 ordinary ones, e = end of sequence, f = own token.
"""

import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct
from flowsys.systems.parity.model import loss_of_margin

n, i, m, c = (symbol(name) for name in ("n", "i", "m", "query_bits"))
# which of n+1 and n+2 the block reports under the names of a position: 1 or 0
is_first = symbol("is_first")
HALF = sp.Rational(1, 2)
POSITION_STATE = ("g", "u", "v", "w")
BLOCK_STATE = (
    *("g_1", "u_1", "v_1", "w_1"),
    *("K_x0", "K_x1", "K_z", "K_o", "K_e", "K_f"),
    *("a_x0", "a_x1", "a_z", "a_o", "a_e", "a_f"),
)


def attention_and_entropy(scores, counts) -> tuple[list[sp.Expr], sp.Expr]:
    """Class totals of a softmax and its entropy H = log Σ n e^s - Σ p s, finite at any scores."""
    p = ops.softmax(ops.stack(scores), ops.array(counts))
    entropy = ops.log_sum_exp(ops.stack(scores), ops.array(counts)) - sum(x * s for x, s in zip(p, scores))
    return list(p), ops.largest([entropy, 0])


def position_statement(loss: str = "linear") -> Statement:
    """One decoupled position, (g, u, v, w) -> ℓ(s g), the margin without the common mode, whose mean is 0.

    `loss` is linear or hinge. Copies: both bits of a token, c bits of the query.
    """
    g, u, v, w = y = [symbol(name) for name in POSITION_STATE]
    n_ordinary = i - 1 - c
    (s, s_ordinary, s_sure), entropy = attention_and_entropy([u, v, w], [1, n_ordinary, c])
    summand = loss_of_margin(ops, s * g, loss)
    return Statement(
        blocks=[Direct(tuple(y), (8 * m * c**2, 2 * c, 2 * c * n_ordinary, c * c))],
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
    return Statement(
        blocks=[Direct((g, u), (8 * m * c**2, 2 * c))],
        parameters=(i, m, c),
        loss=-s * g,
        observables={
            **{"g": g, "u": u, "v": sp.S.Zero, "w": sp.S.Zero},
            **{"s_target": s, "one_hot_error": s_other, "margin": s * g},
            **{"entropy": entropy / sp.log(i), "accuracy": ops.is_positive(s * g), "loss": -s * g},
        },
    )


def block_metric() -> sp.Matrix:
    """The metric of `BLOCK_STATE`."""
    unit = 1 / (16 * m)  # two weights per coordinate, each with 1/(8m)
    diagonal = {
        **{"g_1": 2 * unit, "u_1": HALF, "v_1": 1 / (2 * (n - 1)), "w_1": 1},
        **{"K_x0": unit, "K_x1": unit, "K_z": 2 * unit, "K_o": unit / (2 * (n - 2)), "K_e": unit, "K_f": 2 * unit},
        **{"a_x0": HALF, "a_x1": HALF, "a_z": HALF, "a_o": 1 / (4 * (n - 2)), "a_e": HALF, "a_f": HALF},
    }
    metric = sp.diag(*(diagonal[name] for name in BLOCK_STATE))
    # common mode: g_1 and K_z both live on token (S[n+1], 0), where K of n+1 is -g_1
    first, second = BLOCK_STATE.index("g_1"), BLOCK_STATE.index("K_z")
    metric[first, second] = metric[second, first] = -unit
    return metric


def block_statement() -> Statement:
    """Positions n+1 and n+2, coupled by the common mode of the gate overlaps; linear loss.

    Both positions are observed by name, and under a position's own names the one that `is_first` chooses.
    """
    y = [symbol(name) for name in BLOCK_STATE]
    g_1, u_1, v_1, w_1, K_x0, K_x1, K_z, K_o, K_e, K_f, a_x0, a_x1, a_z, a_o, a_e, a_f = y
    p_1, entropy_1 = attention_and_entropy([u_1, v_1, w_1], [1, n - 1, 1])
    counts = [1, 1, n - 2, 1, 1]
    at_second = []  # margin, attention and entropy at n+2 for bit 0 and 1 of S[n+2]
    for sign, K_x, a_x in ((-1, K_x0, a_x0), (1, K_x1, a_x1)):
        scores = [a_x, a_z, a_o, a_e, a_f]
        output = ops.attend(ops.stack([K_x, K_z, K_o, K_e, K_f]), ops.stack(scores), ops.array(counts))
        at_second.append((sign * output, *attention_and_entropy(scores, counts)))
    (zero, p_0, entropy_0), (one, p_2, entropy_2) = at_second
    first, normalised = p_1[0] * g_1, entropy_1 / sp.log(n + 1)
    of_position = {  # at n+1, at n+2
        "g": (g_1, HALF * (K_x1 - K_x0)),
        "u": (u_1, HALF * (a_x0 + a_x1)),
        "v": (v_1, a_o),
        "w": (w_1, a_e),
        "s_target": (p_1[0], HALF * (p_0[0] + p_2[0])),
        "one_hot_error": (p_1[1] + p_1[2], HALF * sum([*p_0[1:], *p_2[1:]])),
        "margin": (first, HALF * (zero + one)),
        "accuracy": (ops.is_positive(first), HALF * (ops.is_positive(zero) + ops.is_positive(one))),
    }
    entropies = [ops.smallest([normalised, e / sp.log(n + 2)]) for e in (entropy_0, entropy_2)]
    return Statement(
        blocks=[Direct(tuple(y), block_metric())],
        parameters=(n, m, is_first),
        loss=-first - (zero + one) / 2,
        observables={
            **{name: is_first * here + (1 - is_first) * there for name, (here, there) in of_position.items()},
            "entropy": HALF * (entropies[0] + entropies[1]),
            "loss": -first - HALF * (zero + one),
            **dict(zip(BLOCK_STATE, y)),
            "s_1": p_1[0],
            **{"s_x0": p_0[0], "s_x1": p_2[0], "s_z0": p_0[1], "s_z1": p_2[1]},
            "s_2_min": ops.smallest([p_0[0], p_2[0]]),
            **{"margin_n1": first, "margin_n2_0": zero, "margin_n2_1": one},
            "margin_min": ops.smallest([first, zero, one]),
        },
    )
