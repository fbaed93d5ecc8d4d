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

import numpy as np

from flowsys.model.stated import stated_problem
from flowsys.program import committed
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Field, FunctionField, Problem, ProgramField, Stage
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.limits import refuse_data
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.phases import correct_from_the_start
from flowsys.systems.cooccurrence.sentences import shares_of

STATE = {
    "max_margin": ("G_mu1", "G_mu2", "G_mu3", "G_r1", "G_r2", "G_r3", "G_r4", "loss", "tau", "clock"),
    "paper": ("S_21", "loss", "tau"),
}


class Rates(NamedTuple):
    """dy/dt = first · loss + second · loss² + constant."""

    first: Any
    second: Any
    constant: Any


def _seen(variant: str, y, a: Rates) -> dict[str, Any]:
    """What a closed law knows of the limit."""
    seen = dict(zip(STATE[variant], y))
    if variant == "paper":
        return seen | {"S_12": y[0], "S_31": -y[0], "S_32": -y[0]}
    import jax.numpy as jnp

    least = jnp.minimum(jnp.minimum(y[0], y[1]), -y[2])
    return seen | {"R": -a.first[2] / a.first[0] + 0 * y[0], "least_value": least}


@lru_cache(maxsize=4)
def _field(variant: str) -> Field:
    if variant == "bag_of_words":
        return ProgramField(committed("flowsys.systems.cooccurrence", "PROGRAM_BAG_OF_WORDS"))
    names, more = STATE[variant], ("S_12", "S_31", "S_32") if variant == "paper" else ("R", "least_value")
    loss = names.index("loss")
    moves = lambda y, a: a.first * y[loss] + a.second * y[loss] ** 2 + a.constant
    return FunctionField(names, moves, lambda y, a: _seen(variant, y, a), (*names, *more))


def _arguments(setup: Setup, variant: str) -> Any:
    shares, n, beta = shares_of(setup), setup["n"], setup["beta"]
    if variant == "bag_of_words":
        values = dict(setup) | {"inverse_n": 1 / n} | {f"share_{T}": share for T, share in enumerate(shares, 1)}
        field = _field(variant)
        assert isinstance(field, ProgramField)
        text = field.program
        return arguments(text, {name: values[name] for name in text.parameters})
    if variant == "paper":
        rate = setup["alpha"] * setup["score_scale"] / setup["L"]
        return Rates(np.array([rate, 0.0, 0.0]), np.array([0.0, -beta, 0.0]), np.array([0.0, 0.0, beta]))
    separator, speed = max_margin(n, setup["L"], shares), beta + setup["m1"] * setup["alpha"]
    pace = speed / separator.inverse_squared_margin
    rest = np.zeros(7)
    return Rates(np.array([*pace * separator.direction, 0, 0, 0]), np.array([*rest, -pace, 0, 0]),
                 np.array([*rest, 0, beta, speed]))  # fmt: skip


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """A surrogate from the start of the limit: G = 0, loss = log 2."""
    refuse_data(mode, "L4")
    field, moving = _field(variant), _arguments(setup, variant)
    initial = np.array([np.log(2) if name == "loss" else 0.0 for name in field.names])
    problem = stated_problem(SYSTEM.declaration, setup, mode, field, initial, lambda stage: moving, scale=1.0)
    if variant == "bag_of_words":
        return correct_from_the_start(problem, setup)
    stages = problem.stages
    if variant == "paper":
        rests = moving._replace(first=0 * moving.first, second=0 * moving.second)
        stages = (Stage("phase 1", rests, until=setup["C_T_1"] / setup["beta"]), Stage("phase 2", moving))
    return replace(problem, stages=stages, default_at=("T_star",))
