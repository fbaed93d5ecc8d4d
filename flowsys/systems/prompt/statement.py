"""The population system and its planar limit, stated for the derivation engine with M and α as symbols.

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
from flowsys.symbolic.flow import Direct
from flowsys.systems.prompt import model, planar
from flowsys.systems.prompt.model import MASSES, Columns
from flowsys.systems.prompt.observables import Seen, mean, readings, step_readings
from flowsys.systems.prompt.symmetric import SymmetricScores, entry_gradients, kinds, orbits_from_zero

M, K, α = symbol("M"), symbol("K"), symbol("alpha")


def variables(K: int, prefix: str = "") -> SymmetricScores:
    """a, b and H as symbols, or their gradients with `prefix`."""
    H = np.array([[symbol(f"{prefix}H_{i}{k}") for k in range(1, K + 1)] for i in range(1, K + 1)], dtype=object)
    return SymmetricScores(symbol(f"{prefix}a"), symbol(f"{prefix}b"), H)


def flow(K: int) -> list[Direct]:
    """How a, b and H move, by the numbers of entries they stand for."""
    y = variables(K)
    return [Direct((y.a, y.b), (M - 1, M - 1)), *(Direct(tuple(row), sp.eye(K) + sp.ones(K, K) / M) for row in y.H)]


def rates(K: int) -> SymmetricScores:
    """d(a, b, H)/dt in the gradients as symbols."""
    found: dict[sp.Symbol, sp.Expr] = {}
    for block in flow(K):
        found |= block.derivatives(lambda x: symbol(f"gradient_{x}"))
    y = variables(K)
    return SymmetricScores(found[y.a], found[y.b], np.array([[found[x] for x in row] for row in y.H], dtype=object))


def population_statement(K: int, wrapped_M: int | None = None) -> Statement:
    """The symmetric population system of K steps, for every M (or for one small M whose labels wrap around)."""
    y = variables(K)
    columns = kinds(ops, M if wrapped_M is None else wrapped_M, K, α, wrapped_M)
    losses = model.population_losses(ops, *y, columns)
    masses = model.total_masses(ops, model.kind_attention(ops, *y, columns), columns)
    totals = {f"loss_{k}": loss for k, loss in enumerate(losses, start=1)}
    for row, at_step in enumerate(masses, start=1):
        totals |= {f"mass_{kind}_{row}": mass for kind, mass in zip(MASSES, at_step)}
    return Statement(
        blocks=flow(K),
        parameters=(M, α),
        loss=sum(losses) / K,
        totals=totals,
        observables=population_observables(K, columns),
    )


def population_observables(K: int, columns: list[Columns]) -> dict[str, sp.Expr]:
    """Everything the population system reports, by the paper's names spelt in ASCII."""
    y = variables(K)
    losses = [symbol(f"loss_{k}") for k in range(1, K + 1)]
    seen = Seen(
        scores=lambda: y,
        losses=lambda: losses,
        masses=lambda: [[symbol(f"mass_{kind}_{k}") for kind in MASSES] for k in range(1, K + 1)],
        entries=lambda: orbits_from_zero(y, M),
        gradients=lambda: entry_gradients(variables(K, "gradient_"), M),
        rate=lambda: mean([moved[2] for moved in mass_rates(y, rates(K), columns)]),
    )
    found = {name: sp.sympify(read(ops, seen)) for name, (_, read) in readings(K).items()}
    return found | {"loss": mean(losses)}


def mass_rates(y: SymmetricScores, dy: SymmetricScores, columns: list[Columns]) -> list:
    """d/dt of the four masses at every query step: attention moves with dπ = π (ds - Σ π ds)."""
    moving = enumerate(zip(model.kind_attention(ops, *y, columns), model.kind_scores(ops, *dy, columns)), start=1)
    rates = [π * (ds - ops.name(f"score_rate_{k}", (π * ds).sum())) for k, (π, ds) in moving]
    return model.total_masses(ops, rates, columns)


def planar_statement() -> Statement:
    """The M → ∞ system in a and g, for every M, K and α."""
    a, g = symbol("a"), symbol("g")
    p, q, s, o = planar.masses(ops, a, g, K, α)
    da, dg = -symbol("gradient_a") / (M - 1), -symbol("gradient_g") / (K - 1)
    four = [p, sp.S.Zero, q, s + o]
    observables = {"a": a, "g": g, "loss": symbol("total_loss"), "mass_chain_other": s}
    observables |= {f"mass_{kind}": mass for kind, mass in zip(MASSES, four)}
    observables |= {name: read(ops, [four]) for name, (_, read) in step_readings().items()}
    observables["rate_mass_other_same"] = q * (dg - p * (da + dg) - q * dg)
    loss = planar.loss(ops, a, g, K, α)
    return Statement(
        blocks=[Direct((a, g), (M - 1, K - 1))],
        parameters=(M, K, α),
        loss=loss,
        totals={"total_loss": loss},
        observables=observables,
    )
