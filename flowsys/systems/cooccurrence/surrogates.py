"""L4: what is said in closed form, or nearly, about the limit.

bag_of_words   attention and c frozen (lambda, delta → 0): dG/dt = (β + m1 α) r with uniform attention; n = ∞ allowed.
max_margin     the late-time law from t = 0 on: G moves along the max-margin direction Ĝ with γ²·loss, and
               dloss/dt = -(β + m1 α) γ² loss²; loss · clock → γ⁻² and R = R* (see `max_margin`).
paper          Theorem F.8 and Lemma 4.7 with constants 1 from T_1 = C_T_1/β on: dloss/dt = -β loss²,
               dS_21/dt = dS_12/dt = -dS_31/dt = -dS_32/dt = loss·α·s/L; before T_1 nothing moves.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from flowsys.model.stated import stated_problem
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Field, FunctionField, Problem, ProgramField, Stage
from flowsys.systems.cooccurrence import SYSTEM, reduced
from flowsys.systems.cooccurrence.limits import refuse_data, within_horizon
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.phases import DEFAULT, correct_from_the_start
from flowsys.systems.cooccurrence.sentences import shares_of

VALUES = ("G_mu1", "G_mu2", "G_mu3", "G_r1", "G_r2", "G_r3", "G_r4")
LATE = (*VALUES, "loss", "tau", "clock")


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
    rate = a.speed * a.squared_margin * y[7]
    return jnp.concatenate([rate * a.direction, jnp.stack([-rate * y[7], a.beta, a.speed])])


def _margin_observed(y, a: Separator) -> dict[str, Any]:
    ratio, least = -a.direction[2] / a.direction[0], jnp.minimum(jnp.minimum(y[0], y[1]), -y[2])
    return dict(zip(LATE, y)) | {"R": ratio + 0 * y[7], "least_value": least}


def _paper_rhs(y, a: Rates):
    return jnp.stack([-a.moves * a.beta * y[0] ** 2, a.moves * y[0] * a.score_rate, a.beta])


def _paper_observed(y, a: Rates) -> dict[str, Any]:
    return {"loss": y[0], "S_21": y[1], "S_12": y[1], "S_31": -y[1], "S_32": -y[1], "tau": y[2]}


@lru_cache(maxsize=4)
def _field(variant: str) -> Field:
    if variant == "bag_of_words":
        return ProgramField(Program.parse(reduced.PROGRAM_BAG_OF_WORDS))
    if variant == "max_margin":
        return FunctionField(LATE, _margin_rhs, _margin_observed, (*LATE, "R", "least_value"))
    seen = ("loss", "S_21", "S_12", "S_31", "S_32", "tau")
    return FunctionField(("loss", "S_21", "tau"), _paper_rhs, _paper_observed, seen)


def _arguments(setup: Setup, variant: str, moves: bool = True):
    shares, n = shares_of(setup), setup["n"]
    if variant == "bag_of_words":
        values = {name: setup[name] for name in ("alpha", "beta", "m1", "L")} | {"inverse_n": 1 / n}
        values |= {f"share_{T}": share for T, share in enumerate(shares, 1)}
        return arguments(_field(variant).program, values)
    beta = np.float64(setup["beta"])
    if variant == "max_margin":
        separator, speed = max_margin(n, setup["L"], shares), np.float64(setup["beta"] + setup["m1"] * setup["alpha"])
        return Separator(separator.direction, np.float64(1 / separator.inverse_squared_margin), beta, speed)
    return Rates(beta, np.float64(setup["alpha"] * setup["score_scale"] / setup["L"]), np.float64(moves))


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """A surrogate from the start of the limit: G = 0, loss = log 2."""
    refuse_data(mode, "L4")
    field, moving = _field(variant), _arguments(setup, variant)
    initial = np.array([np.log(2) if name == "loss" else 0.0 for name in field.names])
    problem = stated_problem(SYSTEM.declaration, setup, mode, field, initial, lambda stage: moving, scale=1.0)
    problem = within_horizon(problem, setup)
    if variant == "bag_of_words":
        return correct_from_the_start(replace(problem, default_at=DEFAULT), setup)
    stages = problem.stages
    if variant == "paper":
        rests = Stage("phase 1", _arguments(setup, variant, moves=False), until=setup["C_T_1"] / setup["beta"])
        stages = (rests, Stage("phase 2", moving))
    return replace(problem, stages=stages, default_at=("T_star",))
