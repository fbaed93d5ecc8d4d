"""The parity limit, derived: a position in (g, u, v, w), the block of n+1 and n+2, and the surrogate.

Each step stands beside the equation it must agree with; `agrees` raises with the difference if it does not. The
equations to agree with are those of the reduced system in own parts D, K = D + 1·Σ_query D, written out by hand.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp

from flowsys.runs.solving import solve
from flowsys.symbolic.assemble import Statement, assemble, symbol
from flowsys.symbolic.primitives import AttentionMean, Softmax
from flowsys.symbolic.render import flow_equations, latex, module_text
from flowsys.systems.parity import SYSTEM
from flowsys.systems.parity.notation import LATEX
from flowsys.systems.parity.statement import (
    BLOCK_STATE,
    block_statement,
    c,
    i,
    m,
    n,
    position_statement,
    surrogate_statement,
)

g, u, v, w = (symbol(name) for name in "guvw")
KEYS = ("x", "z", "o", "e", "f")


def explicit(expression: sp.Expr) -> sp.Expr:
    """Every softmax written as n e^s / Σ n e^s, every mean over keys as a sum."""

    def written(*args):
        weight = Softmax(*args)
        terms = [count * sp.exp(score) for score, count in zip(*weight.group)]
        return terms[int(args[0])] / sp.Add(*terms)

    def summed(*args):
        mean = AttentionMean(*args)
        return sp.Add(*[written(*mean.weight(j).args) * args[j] for j in range(mean.size)])

    return expression.replace(AttentionMean, summed).replace(Softmax, written)


def agrees(ours: Mapping, theirs: Mapping, what: str) -> None:
    """Raise unless both sides are equal at random points, to 25 digits."""
    rng = np.random.default_rng(0)
    for name in theirs:
        difference = explicit(sp.sympify(ours[name]) - theirs[name])
        for _ in range(3):
            point = {x: sp.Rational(int(rng.integers(1, 1000)), 300) for x in sorted(difference.free_symbols, key=str)}
            point |= {x: sp.Integer(7 + int(rng.integers(20))) for x in (n, i) if x in point}
            value = abs(sp.N(difference.subs(point), 40))
            if value > 1e-25:
                raise ValueError(f"{what}: d{name}/dt differs by {value} at {point}: {difference}")


def flow(statement: Statement) -> dict[sp.Symbol, sp.Expr]:
    """dy/dt = -P ∂L/∂y."""
    gradient = lambda x: sp.diff(statement.loss, x)
    return {x: rate for block in statement.blocks for x, rate in block.derivatives(gradient).items()}


def stated_position() -> dict[sp.Symbol, sp.Expr]:
    """A position i ≥ n+3 by hand: one target, N_o = i-3 ordinary and N_w = 2 sure keys."""
    total = sp.exp(u) + (i - 3) * sp.exp(v) + 2 * sp.exp(w)
    s, s_v, s_w = (sp.exp(x) / total for x in (u, v, w))
    return {g: s / (32 * m), u: s * (1 - s) * g / 4, v: -s * s_v * g / 4, w: -s * s_w * g / 2}


def stated_only_position() -> dict[sp.Symbol, sp.Expr]:
    """Position n+1 of k = 1 by hand: N_o = n-1 = i-2, N_w = 1."""
    total = sp.exp(u) + (i - 2) * sp.exp(v) + sp.exp(w)
    s, s_v, s_w = (sp.exp(x) / total for x in (u, v, w))
    return {g: s / (8 * m), u: s * (1 - s) * g / 2, v: -s * s_v * g / 2, w: -s * s_w * g}


def stated_block() -> tuple[dict[str, sp.Expr], dict[sp.Symbol, sp.Expr]]:
    """The block by hand in own parts D: {coordinate: dy/dt}, and the coordinates of the statement in terms of D."""
    D = {name: symbol(f"D_{name}") for name in ("1", "x0", "x1", "z", "o", "e", "f")}
    u_1, v_1, w_1 = (symbol(name) for name in ("u_1", "v_1", "w_1"))
    a = {name: symbol(f"a_{name}") for name in ("x0", "x1", "z", "o", "e", "f")}
    n_o = n - 2
    total = sp.exp(u_1) + (n - 1) * sp.exp(v_1) + sp.exp(w_1)
    s, s_v, s_w = (sp.exp(x) / total for x in (u_1, v_1, w_1))
    g_1 = 2 * D["1"] - D["z"]
    K = {"z": 2 * D["z"] - D["1"], "o": D["o"], "e": D["e"], "f": 2 * D["f"]}
    P, T, values = [], [], []
    for β in (0, 1):
        values.append({"x": D[f"x{β}"], **K})
        terms = {key: sp.exp(a[key if key != "x" else f"x{β}"]) * (n_o if key == "o" else 1) for key in KEYS}
        P.append({key: term / sp.Add(*terms.values()) for key, term in terms.items()})
        T.append(sp.Add(*[P[β][key] * values[β][key] for key in KEYS]))
    pull = lambda β, key: P[β][key] * (values[β][key] - T[β])
    shift = lambda key: P[0][key] - P[1][key]
    dD = {"1": s / (16 * m), "x0": -P[0]["x"] / (32 * m), "x1": P[1]["x"] / (32 * m)}
    dD |= {key: -shift(key) / (32 * m) for key in "zef"} | {"o": -shift("o") / (64 * m * n_o)}
    rates = {"g_1": 2 * dD["1"] - dD["z"], "u_1": s * (1 - s) * g_1 / 2, "v_1": -s * s_v * g_1 / 2}
    rates |= {"w_1": -s * s_w * g_1, "K_z": 2 * dD["z"] - dD["1"], "K_f": 2 * dD["f"]}
    rates |= {f"K_{key}": dD[key] for key in ("x0", "x1", "o", "e")}
    rates |= {"a_x0": -pull(0, "x") / 4, "a_x1": pull(1, "x") / 4}
    rates |= {f"a_{key}": -(pull(0, key) - pull(1, key)) / 4 for key in "zef"}
    rates |= {"a_o": -(pull(0, "o") - pull(1, "o")) / (8 * n_o)}
    entries = {"g_1": g_1, "K_x0": D["x0"], "K_x1": D["x1"]} | {f"K_{key}": value for key, value in K.items()}
    return rates, {symbol(name): value for name, value in entries.items()}


def check_positions() -> None:
    ours = flow(position_statement())
    for bits, theirs in ((2, stated_position()), (1, stated_only_position())):
        agrees({x: rate.subs(c, bits) for x, rate in ours.items()}, theirs, f"a position with {bits} query bits")


def check_block() -> None:
    theirs, entries = stated_block()
    ours = {str(x): rate.subs(entries) for x, rate in flow(block_statement()).items()}
    assert tuple(ours) == BLOCK_STATE
    agrees(ours, theirs, "the block of n+1 and n+2")


def check_invariants() -> None:
    """u + N_o v + N_w w/2 has rate 0 everywhere; e^(-w) - 2e^(-v) + 1 where it is 0."""
    rates = {x: explicit(rate.subs(c, 2)) for x, rate in flow(position_statement()).items()}
    linear = rates[u] + (i - 3) * rates[v] + rates[w]
    exponential = -sp.exp(-w) * rates[w] + 2 * sp.exp(-v) * rates[v]
    on_orbit = exponential.subs(w, -sp.log(2 * sp.exp(-v) - 1))
    for value in (linear, on_orbit):
        point = {g: sp.Rational(3, 7), u: sp.Rational(8, 5), v: -sp.Rational(1, 9), w: -sp.Rational(2, 9), i: 12, m: 5}
        if abs(sp.N(value.subs(point), 40)) > 1e-25:
            raise ValueError(f"an invariant changes at the rate {value}")


def artefacts() -> dict[str, str]:
    check_positions()
    check_block()
    check_invariants()
    programs = {
        "PROGRAM_POSITION": assemble(position_statement()),
        "PROGRAM_POSITION_HINGE": assemble(position_statement("hinge")),
        "PROGRAM_BLOCK": assemble(block_statement()),
        "PROGRAM_SURROGATE": assemble(surrogate_statement()),
    }
    equations = flow_equations(position_statement(), LATEX) | flow_equations(block_statement(), LATEX)
    text = module_text(
        "parity",
        "The parity limit's programs: one position, the block of positions n+1 and n+2, and the surrogate.",
        programs,
        equations,
    )
    return {"flowsys/systems/parity/reduced.py": text, "derivations/parity.md": page()}


def named_weights(expression: sp.Expr) -> sp.Expr:
    """Softmax weights as symbols, s … at a position and P^β_key at n+2, and outputs at n+2 as T^β."""

    def name(*args):
        weight = Softmax(*args)
        score = str(weight.group[0][int(args[0])])
        if score[0] in "uvw":
            return sp.Symbol({"u": "s", "v": "s_{o}", "w": "s_{w}"}[score[0]] + ("^{(1)}" if "_1" in score else ""))
        return sp.Symbol(f"P^{{{bit(args)}}}_{{{score.removeprefix('a_')[0]}}}")

    def bit(args):
        return 0 if symbol("a_x0") in args else 1

    return expression.replace(AttentionMean, lambda *args: sp.Symbol(f"T^{{{bit(args)}}}")).replace(Softmax, name)


def equations_of(statement: Statement) -> list[str]:
    names = {symbol(k): name for k, name in LATEX.items()}
    return [
        rf"\dot {{{latex(x, names)}}} &= {latex(named_weights(rate), names)}" for x, rate in flow(statement).items()
    ]


def lock_on_table() -> list[str]:
    """t_lock/(n√m) and 4mg² of the flow, beside the measured values of the specification."""
    known = {
        10: ("20.10", "6.05", "3.11"),
        30: ("16.49", "5.49", "4.29"),
        100: ("14.97", "5.19", "5.56"),
        1000: ("14.27", "5.036", "7.90"),
        10000: ("14.190", "5.016", "10.209"),
    }
    rows = ["| n | i = n+3 | stated | k = 1 | stated | 4mg² at lock | stated |", "|---|---|---|---|---|---|---|"]
    for size, (later, first, signal) in known.items():
        third, only = (solve(SYSTEM, SYSTEM.setup(n=size, k=k, m=1.0), at=["lock"], rtol=1e-10) for k in (3, 1))
        ours = third.t[0] / size, only.t[0] / size, 4 * third["g"][0] ** 2
        rows.append(f"| {size} | {ours[0]:.3f} | {later} | {ours[1]:.3f} | {first} | {ours[2]:.3f} | {signal} |")
    return rows


def lumping_table() -> list[str]:
    rows = ["| n | k | coordinates (D, a) | classes found | 4, or 16 + 4(k-2) |", "|---|---|---|---|---|"]
    for k in (1, 2, 3):
        found = SYSTEM.derive(SYSTEM.setup(n=5, k=k, m=3.0), "limit")
        rows.append(f"| 5 | {k} | {found.n_coordinates} | {found.n_classes} | {4 if k == 1 else 16 + 4 * (k - 2)} |")
    return rows


def page() -> str:
    """The same steps for a reader."""
    align = lambda statement: ["$$\\begin{aligned}", " \\\\\n".join(equations_of(statement)), "\\end{aligned}$$"]
    lines = [
        "# Parity with a chain of thought: the infinite-width limit",
        "",
        "Generated by `python -m derivations parity`. Linear loss (the hinge before any margin reaches 1), frozen",
        "gates, orthonormal tokens; all coordinates start at 0; t is gradient-flow time.",
        "",
        "## A position of its own: i ≥ n+3 (c = 2), or the only one of k = 1 (c = 1)",
        "",
        "One target with score u, i-1-c ordinary keys with score v, c sure keys with score w; s, s_o, s_w are the",
        "attention on each class together, and the loss is -s·g.",
        "",
        *align(position_statement()),
        "",
        "Agrees with the equations stated for N_o = i-3, N_w = 2 and for N_o = n-1, N_w = 1. Along the flow",
        "u + N_o v + N_w w/2 = 0 and e^(-w) = 2e^(-v) - 1 (checked), so a position is a quadrature:",
        "",
        *lock_on_table(),
        "",
        "Times in units of n√m; the limits are 8√π = 14.180 and 2√(2π) = 5.013, and 4mg² → log n + 1.",
        "",
        "## The block of n+1 and n+2",
        "",
        "Keys at n+2 for query bit 0: x = (S[n+2], β), z = (S[n+1], 0), n-2 ordinary o, end e, own token f; P^β is the",
        "attention by class, T^β the output. g_1 and K_z share the token (S[n+1], 0), and the common mode of the gates",
        "couples them.",
        "",
        *align(block_statement()),
        "",
        "Agrees with the equations stated in own parts D, with g_1 = 2D_1 - D_z, K_z = 2D_z - D_1, K_f = 2D_f.",
        "",
        "## Found by lumping",
        "",
        "All strings and tokens written out, K = D + 1·ΣD, from 0:",
        "",
        *lumping_table(),
    ]
    return "\n".join(lines) + "\n"
