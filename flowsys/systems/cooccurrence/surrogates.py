"""L4: what is said in closed form, or nearly, about the limit.

bag_of_words   attention and c frozen (lambda, delta → 0): dG/dt = (β + m1 α) r with uniform attention; n = ∞ allowed.
max_margin     the late-time law from t = 0 on: G moves along the max-margin direction Ĝ with γ²·loss, and
               dloss/dt = -(β + m1 α) γ² loss²; loss · clock → γ⁻² and R = R* (see `max_margin`).
paper          Theorem F.8 and Lemma 4.7 with constants 1 from T_1 = C_T_1/β on: dloss/dt = -β loss²,
               dS_21/dt = dS_12/dt = -dS_31/dt = -dS_32/dt = loss·α·s/L; before T_1 nothing moves.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Field, FunctionField, Problem, ProgramField, Stage
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.limits import refuse_data, within_horizon
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.phases import DEFAULT, correct_from_the_start
from flowsys.systems.cooccurrence.sentences import shares_of

_VALUES = ("G_mu1", "G_mu2", "G_mu3", "G_r1", "G_r2", "G_r3", "G_r4")
_TYPES = ("1", "2", "3", "4")


class Separator(NamedTuple):
    """The max-margin direction, γ², β and β + m1 α."""

    direction: Any
    squared_margin: Any
    beta: Any
    speed: Any


class Rates(NamedTuple):
    """The paper's rates; `moves` is 0 in phase 1."""

    beta: Any
    score_rate: Any
    moves: Any


def _margin_rhs(y, a: Separator):
    import jax.numpy as jnp

    loss = y[7]
    rate = a.speed * a.squared_margin * loss
    return jnp.concatenate([rate * a.direction, jnp.stack([-rate * loss, a.beta, a.speed])])


def _margin_observed(y, a: Separator) -> dict[str, Any]:
    import jax.numpy as jnp

    G = y[:7]
    return dict(zip(_VALUES, G)) | {
        "loss": y[7],
        "tau": y[8],
        "clock": y[9],
        "R": -a.direction[2] / a.direction[0] + 0 * y[7],
        "least_value": jnp.minimum(jnp.minimum(G[0], G[1]), -G[2]),
    }


def _paper_rhs(y, a: Rates):
    import jax.numpy as jnp

    loss = y[0]
    return jnp.stack([-a.moves * a.beta * loss**2, a.moves * loss * a.score_rate, a.beta])


def _paper_observed(y, a: Rates) -> dict[str, Any]:
    return {"loss": y[0], "S_21": y[1], "S_12": y[1], "S_31": -y[1], "S_32": -y[1], "tau": y[2]}


_PARTS = {
    "max_margin": (
        (*_VALUES, "loss", "tau", "clock"), _margin_rhs, _margin_observed,
        (*_VALUES, "loss", "tau", "clock", "R", "least_value"),
    ),
    "paper": (
        ("loss", "S_21", "tau"), _paper_rhs, _paper_observed, ("loss", "S_21", "S_12", "S_31", "S_32", "tau"),
    ),
}  # fmt: skip


@lru_cache(maxsize=4)
def _field(variant: str) -> Field:
    if variant == "bag_of_words":
        from flowsys.systems.cooccurrence import reduced

        return ProgramField(Program.parse(reduced.PROGRAM_BAG_OF_WORDS))
    return FunctionField(*_PARTS[variant])


def _arguments(setup: Setup, variant: str, moves: bool = True):
    shares, n = shares_of(setup), setup["n"]
    if variant == "bag_of_words":
        values = {name: setup[name] for name in ("alpha", "beta", "m1", "L")} | {"inverse_n": 1 / n}
        values |= {f"share_{T}": share for T, share in zip(_TYPES, shares)}
        return arguments(_field(variant).program, values)
    beta = np.float64(setup["beta"])
    if variant == "max_margin":
        separator = max_margin(n, setup["L"], shares)
        speed = np.float64(setup["beta"] + setup["m1"] * setup["alpha"])
        return Separator(separator.direction, np.float64(1 / separator.inverse_squared_margin), beta, speed)
    return Rates(beta, np.float64(setup["alpha"] * setup["score_scale"] / setup["L"]), np.float64(moves))


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """A surrogate from the start of the limit: G = 0, loss = log 2."""
    refuse_data(mode, "L4")
    field, declared = _field(variant), SYSTEM.declaration
    stages = (Stage("training", _arguments(setup, variant)),)
    if variant == "paper":
        stages = (
            Stage("phase 1", _arguments(setup, variant, moves=False), until=setup["C_T_1"] / setup["beta"]),
            Stage("phase 2", _arguments(setup, variant)),
        )
    problem = Problem(
        field=field,
        initial=np.array([np.log(2) if name == "loss" else 0.0 for name in field.names]),
        stages=stages,
        events=tuple(e for e in declared.events_at(setup, mode) if e.observable in field.observables),
        marks=declared.marks_at(setup, mode),
        scale=1.0,
        t_max=setup["t_max"],
        default_at=DEFAULT if variant == "bag_of_words" else ("T_star",),
    )
    problem = within_horizon(problem, setup)
    return correct_from_the_start(problem, setup) if variant == "bag_of_words" else problem
