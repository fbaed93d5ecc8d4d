"""L4: phase I of stage 1, where only the winner moves and only by the power branch.

    dx/dt = k x^(q-1),   x = V_psi + b,   k = (1 + f) / (4 n_g n_y ϱ^(q-1)),

so x reaches ϱ at t_1 = t_* (1 - (x_0/ϱ)^(q-2)), which `closed_forms` gives as a number, with the C_α that a / c tends
to afterwards.
"""

import numpy as np

from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.closed_forms import C_alpha, phase_1_blow_up, phase_1_rate, phase_1_time
from flowsys.systems.lego.vocabulary import whole_bias


def program(q: int) -> Program:
    """dx/dt = k x^(q-1)."""
    return Program.parse(
        f"state x\nparameters rate bias\nonce:\n    d_x = rate*x**{q - 1}\n    observe_V_psi = x - bias\n"
        "derivative x = d_x\nobserve x = x\nobserve V_psi = observe_V_psi\n"
    )


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """Phase I from x_0 = V_0 + b; it ends at ϱ, beyond which it means nothing."""
    if mode != "stage_1":
        raise InputError(f"mode = {mode} is not allowed at L4: the closed form is that of stage_1.")
    sizes, q, rho = groups.sizes(setup["group"]), setup["q"], setup["rho"]
    bias = whole_bias(setup)
    x_0 = setup["V_0"] + bias
    if x_0 >= rho:
        raise InputError(f"V_0 + bias = {x_0:g} is not allowed at L4: phase I needs it below rho = {rho:g}.")
    t_1 = phase_1_time(x_0, *sizes, q, rho)
    t_star = phase_1_blow_up(x_0, *sizes, q, rho)
    text, values = program(q), {"rate": phase_1_rate(*sizes, q, rho), "bias": bias}
    events = [e for e in SYSTEM.declaration.events_at(setup, "stage_1") if e.name == "phase_1"]
    return Problem(
        field=ProgramField(text),
        initial=np.array([x_0]),
        stages=(Stage("phase_1", arguments(text, values)),),
        events=tuple(events),
        derived={"t_1": lambda y: t_1, "t_star": lambda y: t_star, "C_alpha": lambda y: C_alpha(*sizes)},
        scale=x_0,
        t_max=min(setup["t_max"], 1.001 * t_1),
        default_at=("phase_1",),
    )
