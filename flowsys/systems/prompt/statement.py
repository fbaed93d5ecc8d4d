"""The population system, its planar limit and the paper's bound, stated for the derivation engine with M, α as symbols.

On the symmetric subspace the exact population loss is the mean of `model.population_losses` in a, b and H_k'k. A
variable stands for the entries of W it combines: a = A_s - A_d for M entries A_s and M(M-1) entries A_d, and H_k'k =
C_k' + G_k'k for M entries C_k' that all query steps share and one entry G_k'k, so

    da/dt = -∂_a L/(M-1),    db/dt = -∂_b L/(M-1),    dH_k'k/dt = -∂_{H_k'k} L - (1/M) Σ_κ ∂_{H_k'κ} L.

The law of the flow is stated here alone. K fixes the state and so the program. M enters through arithmetic alone where
no two marked labels meet around Z_M (`symmetric.least_unwrapped_M`); below that the marked sets are those of one M.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct, Given
from flowsys.systems.prompt import model
from flowsys.systems.prompt.model import MASSES
from flowsys.systems.prompt.observables import mass_readings, mean, readings
from flowsys.systems.prompt.symmetric import Orbits, SymmetricScores, kinds, orbits_from_zero

M, K, α = symbol("M"), symbol("K"), symbol("alpha")


def read(readings: Mapping[str, Callable], **seen: Any) -> dict[str, sp.Expr]:
    """What is read off symbols."""
    return {name: sp.sympify(of(ops, SimpleNamespace(**seen))) for name, of in readings.items()}


def variables(K: int, prefix: str = "") -> SymmetricScores:
    """a, b and H as symbols; `prefix` d_ for their rates."""
    H = np.array([[symbol(f"{prefix}H_{i}{k}") for k in range(1, K + 1)] for i in range(1, K + 1)], dtype=object)
    return SymmetricScores(symbol(f"{prefix}a"), symbol(f"{prefix}b"), H)


def flow(K: int) -> list[Direct]:
    """How a, b and H move, by the numbers of entries they stand for."""
    y = variables(K)
    return [Direct((y.a, y.b), (M - 1, M - 1)), *(Direct(tuple(row), sp.eye(K) + sp.ones(K, K) / M) for row in y.H)]


def population_statement(K: int, wrapped_M: int | None = None) -> Statement:
    """The symmetric population system of K steps, for every M (or for one small M whose labels wrap around)."""
    y, dy, steps = variables(K), variables(K, "d_"), range(1, K + 1)
    columns = kinds(ops, M if wrapped_M is None else wrapped_M, K, α, wrapped_M)
    parts = [(model.attention(ops, y, kind), kind) for kind in columns]
    losses = {f"loss_{k}": ops.name(f"L_{k}", model.loss(*part)) for k, part in zip(steps, parts)}
    masses = {f"mass_{name}_{k}": mass for k, part in zip(steps, parts)
              for name, mass in zip(MASSES, model.masses(ops, *part))}  # fmt: skip
    of_steps = [*map(symbol, losses)]
    observables = read(
        readings(K),
        scores=y,
        losses=of_steps,
        masses=[[symbol(f"mass_{kind}_{k}") for kind in MASSES] for k in steps],
        entries=orbits_from_zero(y, M),
        gradients=Orbits(*(-rate for rate in orbits_from_zero(dy, M))),
        rate=mean([model.mass_rates(ops, π, dy, kind)[2] for π, kind in parts]),
    )
    return Statement(flow(K), (M, α), mean([*losses.values()]), totals=losses | masses,
                     observables=observables | {"loss": mean(of_steps)})  # fmt: skip


def planar_statement() -> Statement:
    """The M → ∞ system in a and g (`planar`), for every M, K and α: kinds of columns p, q, s, o, and two of labels."""
    a, g, *moving = (symbol(name) for name in ("a", "g", "d_a", "d_g"))
    same_input, same_step = np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0])
    columns = model.Columns(
        lambda y: y[0] * ops.array(same_input) + y[1] * ops.array(same_step),
        ops.array([α, 1 - α, (K - 1) * α, (K - 1) * (1 - α)]), same_input, same_step,
        lambda π: ops.array([π[0], π[2] / (K - 1)]), ops.array([1, 0]), ops.array([1, K - 1]),
    )  # fmt: skip
    π = model.attention(ops, (a, g), columns)
    loss, seen = model.loss(π, columns), read(mass_readings(), masses=[model.masses(ops, π, columns)])
    observables = {"a": a, "g": g, "loss": symbol("total_loss"), "mass_chain_other": π[2],
                   "rate_mass_other_same": model.mass_rates(ops, π, moving, columns)[2]}  # fmt: skip
    return Statement([Direct((a, g), (M - 1, K - 1))], (M, K, α), loss, totals={"total_loss": loss},
                     observables=observables | seen)  # fmt: skip


def surrogate_statement() -> Statement:
    """The paper's own account: a lower bound on p driven by two exponents (Eqs. 156-159, 44), for every M, K and α.

        p = [1 + (K-1) e^-s + (1-α)/α ((K-1) e^-s + e^-u)]^-1,    ds/dt = 2α²/K³ (1-p)²,    du/dt = p (1-p)²/(K M).

    s is the score of the query's step (s_1 = s_2 of Eq. 156), u that of its pattern (s_3). The paper has ≳ in du/dt;
    the constant 1 is a choice made here.
    """
    s, u = symbol("s"), symbol("u")
    other_step, other_pattern, odds = (K - 1) * ops.exp(-s), ops.exp(-u), (1 - α) / α
    p = 1 / (1 + other_step + odds * (other_step + other_pattern))
    masses = [[p, p * other_step, p * odds * other_pattern, p * odds * other_step]]
    rates = {s: 2 * α**2 / K**3 * (1 - p) ** 2, u: p * (1 - p) ** 2 / (K * M)}
    observables = {"s": s, "u": u} | read(mass_readings(), masses=masses)
    return Statement([Given(rates)], (M, K, α), sp.S.Zero, observables=observables)
