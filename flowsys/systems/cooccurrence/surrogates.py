"""L4: what is said in closed form, or nearly, about the limit.

bag_of_words   attention and c frozen (lambda, delta → 0): dG/dt = (β + m1 α) r with uniform attention; n = ∞ allowed.
max_margin     the late-time law from t = 0 on: G moves along the max-margin direction Ĝ with γ²·loss, and
               dloss/dt = -(β + m1 α) γ² loss²; loss · clock → γ⁻² and R = R* (see `max_margin`).
paper          Theorem F.8 and Lemma 4.7 with constants 1 from T_1 = C_T_1/β on: dloss/dt = -β loss²,
               dS_21/dt = dS_12/dt = -dS_31/dt = -dS_32/dt = loss·α·s/L; before T_1 nothing moves.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from flowsys.model.stated import stated_problem
from flowsys.program import Program, committed, written
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.phases import correct_from_the_start
from flowsys.systems.cooccurrence.sentences import shares_of

WORDS = ("mu1", "mu2", "mu3", "r1", "r2", "r3", "r4")


@cache
def program(variant: str) -> Program:
    """The flow of a surrogate."""
    if variant == "paper":
        rates = {"S_21": "attends*alpha*score_scale/L*loss", "loss": "-attends*beta*loss**2", "tau": "beta"}
        seen = {x: x for x in rates} | {"S_12": "S_21", "S_31": "-S_21", "S_32": "-S_21"}
        return written(rates, ("alpha", "beta", "score_scale", "L", "attends"), observables=seen)
    if variant == "max_margin":
        rates = {f"G_{x}": f"speed/inverse_squared_margin*loss*direction_{x}" for x in WORDS}
        rates |= {"loss": "-speed/inverse_squared_margin*loss**2", "tau": "beta", "clock": "speed"}
        seen = {x: x for x in rates} | {
            "R": "-direction_mu3/direction_mu1", "least_value": "min(min(G_mu1, G_mu2), -G_mu3)"
        }  # fmt: skip
        numbers = ("beta", "speed", "inverse_squared_margin", *(f"direction_{x}" for x in WORDS))
        return written(rates, numbers, observables=seen)
    return committed("flowsys.systems.cooccurrence", "PROGRAM_BAG_OF_WORDS")


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """A surrogate from the start of the limit: G = 0, loss = log 2."""
    text, shares = program(variant), shares_of(setup)
    values = dict(setup) | {"inverse_n": 1 / setup["n"], "speed": setup["beta"] + setup["m1"] * setup["alpha"]}
    values |= {f"share_{T}": share for T, share in enumerate(shares, 1)}
    if variant == "max_margin":
        separator = max_margin(setup["n"], setup["L"], shares)
        values |= {f"direction_{x}": toward for x, toward in zip(WORDS, separator.direction)}
        values["inverse_squared_margin"] = separator.inverse_squared_margin
    initial = np.array([np.log(2) if name == "loss" else 0.0 for name in text.state])
    moving, rests = (arguments(text, values | {"attends": x}) for x in (1.0, 0.0))
    problem = stated_problem(SYSTEM.declaration, setup, mode, ProgramField(text), initial, lambda stage: moving,
                             scale=1.0)  # fmt: skip
    if variant == "bag_of_words":
        return correct_from_the_start(problem, setup)
    phases = (Stage("phase 1", rests, until=setup["C_T_1"] / setup["beta"]), Stage("phase 2", moving))
    return replace(problem, stages=phases if variant == "paper" else problem.stages, default_at=("T_star",))
