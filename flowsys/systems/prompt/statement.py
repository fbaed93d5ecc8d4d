"""The population system, its planar limit and the paper's bound, stated for the derivation engine with M, α as symbols.

On the symmetric subspace the exact population loss is the mean of `model.population_losses` in a, b and H_k'k. A
variable stands for the entries of W it combines: a = A_s - A_d for M entries A_s and M(M-1) entries A_d, and H_k'k =
C_k' + G_k'k for M entries C_k' that all query steps share and one entry G_k'k, so

    da/dt = -∂_a L/(M-1),    db/dt = -∂_b L/(M-1),    dH_k'k/dt = -∂_{H_k'k} L - (1/M) Σ_κ ∂_{H_k'κ} L.

The law of the flow is stated here alone. K fixes the state and so the program. M enters through arithmetic alone where
no two marked labels meet around Z_M (`symmetric.least_unwrapped_M`); below that the marked sets are those of one M.
"""

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct, Given
from flowsys.systems.prompt import model
from flowsys.systems.prompt.model import MASSES
from flowsys.systems.prompt.observables import Seen, mass_readings, mean, readings
from flowsys.systems.prompt.symmetric import Orbits, SymmetricScores, kinds, orbits_from_zero

M, K, α = symbol("M"), symbol("K"), symbol("alpha")


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
    losses, attention = model.population_losses(ops, *y, columns), model.kind_attention(ops, *y, columns)
    totals = {f"loss_{k}": loss for k, loss in enumerate(losses, start=1)}
    for k, masses in enumerate(model.total_masses(ops, attention, columns), start=1):
        totals |= {f"mass_{kind}_{k}": mass for kind, mass in zip(MASSES, masses)}

    def mass_rates() -> list:
        """d/dt of the four masses at every query step: attention moves with dπ = π (ds - Σ π ds)."""
        moving = enumerate(zip(attention, model.kind_scores(ops, *dy, columns)), start=1)
        rates = [π * (ds - ops.name(f"score_rate_{k}", (π * ds).sum())) for k, (π, ds) in moving]
        return model.total_masses(ops, rates, columns)

    seen = Seen(
        scores=lambda: y,
        losses=lambda: [symbol(f"loss_{k}") for k in steps],
        masses=lambda: [[symbol(f"mass_{kind}_{k}") for kind in MASSES] for k in steps],
        entries=lambda: orbits_from_zero(y, M),
        gradients=lambda: Orbits(*(-rate for rate in orbits_from_zero(dy, M))),
        rate=lambda: mean([moved[2] for moved in mass_rates()]),
    )
    observables = {name: sp.sympify(read(ops, seen)) for name, read in readings(K).items()}
    return Statement(flow(K), (M, α), sum(losses) / K, totals=totals,
                     observables=observables | {"loss": mean(seen.losses())})  # fmt: skip


def planar_statement() -> Statement:
    """The M → ∞ system in a and g (`planar`), for every M, K and α."""
    a, g, da, dg = (symbol(name) for name in ("a", "g", "d_a", "d_g"))
    counts = ops.array([α, 1 - α, (K - 1) * α, (K - 1) * (1 - α)])
    p, q, s, o = ops.softmax(ops.array([a + g, g, 0 * a, 0 * g]), counts)
    loss = ((1 - p) * (1 - p) + s * s / (K - 1)) / 2
    observables = {"a": a, "g": g, "loss": symbol("total_loss"), "mass_chain_other": s}
    observables |= {name: read(ops, [[p, sp.S.Zero, q, s + o]]) for name, read in mass_readings().items()}
    observables["rate_mass_other_same"] = q * (dg - p * (da + dg) - q * dg)
    return Statement([Direct((a, g), (M - 1, K - 1))], (M, K, α), loss, totals={"total_loss": loss},
                     observables=observables)  # fmt: skip


def surrogate_statement() -> Statement:
    """The paper's own account: a lower bound on p driven by two exponents (Eqs. 156-159, 44), for every M, K and α.

        p = [1 + (K-1) e^-s + (1-α)/α ((K-1) e^-s + e^-u)]^-1,    ds/dt = 2α²/K³ (1-p)²,    du/dt = p (1-p)²/(K M).

    s is the score of the query's step (s_1 = s_2 of Eq. 156), u that of its pattern (s_3). The paper has ≳ in du/dt;
    the constant 1 is a choice made here.
    """
    s, u = symbol("s"), symbol("u")
    other_step, other_pattern, odds = (K - 1) * ops.exp(-s), ops.exp(-u), (1 - α) / α
    p = 1 / (1 + other_step + odds * (other_step + other_pattern))
    masses = [p, p * other_step, p * odds * other_pattern, p * odds * other_step]
    observables = {"s": s, "u": u} | {name: read(ops, [masses]) for name, read in mass_readings().items()}
    rates = {s: 2 * α**2 / K**3 * (1 - p) ** 2, u: p * (1 - p) ** 2 / (K * M)}
    return Statement([Given(rates)], (M, K, α), sp.S.Zero, observables=observables)
