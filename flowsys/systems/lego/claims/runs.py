"""What the claims measure: runs of both stages and layers of random neurons.

Stage 2, unless a claim says otherwise: ideal layer, d = 10³, C_B = 3, ϱ = 0.3, q = 4, b = 0.1, n_x = ∞, times in τ.
A claim on attention that names no level in a run is measured where `flowsys.claims.conditions` says; at L2 and L0 the
vocabulary is that of n_x_finite variables.
Stage 1: the isotropic layer (L3), or random neurons with n_x = ∞ (L3, many_variables), times in t.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flowsys import claims
from flowsys.claims.conditions import chosen_level, chosen_parameters, remembered
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.lego import SYSTEM, groups, stage_1
from flowsys.systems.lego.finite_layer import initial_state

ATTENTION = ("alpha", "gamma", "alpha_minus_gamma", "eps_attention", "gap", "loss")
LAYER = ("a", "b_prime", "c", "e", "V_psi", "confounder_ae", "confounder_bc", "a_over_c", "F_c", "F_w", "F_gap", "loss")
FLOW = "ideal layer, d = 1e3, C_B = 3, n_x = inf"


LAYER_SHAPE = "rho q bias"
"""Parameters that a claim on the flow over the ideal layer leaves free."""

claim = partial(claims.claim, regime=FLOW)


@remembered(1024)
def run(*at: str | float, mode: str = "stage_2", observe: tuple[str, ...] | None = None, level: str | None = None,
        variant: str | None = None, rtol: float = 1e-8, solver: str = "auto",
        **parameters: Any) -> Trajectory:  # fmt: skip
    """A solved trajectory, found again when asked for twice."""
    observe = observe if observe is not None else LAYER if mode == "stage_1" else ATTENTION
    setup = SYSTEM.setup(mode, **chosen_parameters(parameters))
    return solve(SYSTEM, setup, level=chosen_level(level, "L3"), variant=variant, mode=mode, at=at, observe=observe,
                 rtol=rtol, solver=solver)  # fmt: skip


def vocabulary_size(mode: str = "stage_2", **parameters: Any) -> float:
    """d of a run: what is set, or at a finite level what is counted."""
    level = chosen_level(None, "L3")
    setup = SYSTEM.setup(mode, **chosen_parameters(parameters))
    return SYSTEM.settled(setup, level, SYSTEM.variant(level, None), mode)["d"]


def values(at: str | float, **options: Any) -> dict[str, float]:
    """The observables at one event or time, and its t; all nan if it is never reached."""
    found = run(at, **options)
    row = found.at(at) if isinstance(at, str) else found.rows[-1]
    if not row["reached"]:
        return dict.fromkeys((*found.series, "t"), float("nan"))
    return {**row["values"], "t": row["t"]}


layer = partial(run, mode="stage_1")
layer_values = partial(values, mode="stage_1")


class Neurons(NamedTuple):
    """A layer of random neurons at the end of a run: features of the classes in Y, and those it began with."""

    V_g: np.ndarray
    V_y: np.ndarray
    start: stage_1.Exchangeable
    loss: float


def random_layer(group: str, d: float, seed: int, activation: str = "azl") -> dict[str, Any]:
    """Parameters of m = 4 n_y random neurons a class at σ_0 = d^(-1/2), b = σ_0 log d, without a clip."""
    return {"group": group, "d": d, "bias": float(d**-0.5 * np.log(d)), "width": 4 * groups.sizes(group)[1],
            "seed": seed, "clip": "none", "activation": activation}  # fmt: skip


random_run = partial(layer, variant="many_variables", observe=("loss",), rtol=1e-7)


def neurons(group: str, d: float, seed: int, activation: str = "azl") -> Neurons:
    """A random layer with n_x = ∞ at t = 10 d or 1e11."""
    n_g, n_y = groups.sizes(group)
    choices = random_layer(group, d, seed, activation)
    m = choices["width"]
    found = random_run(min(10.0 * d, 1e11), solver="tsit5", **choices)
    V_g, V_y, _ = np.split(found.states[-1], [n_y * m * n_g, n_y * m * (n_g + n_y)])
    start = initial_state(SYSTEM.setup("stage_1", **choices), "many_variables")
    return Neurons(V_g.reshape(n_y, m, n_g), V_y.reshape(n_y, m, n_y), start, float(found["loss"][-1]))


def by_name(found: dict[Any, float], form: str = ".4g") -> str:
    """Numbers with what they belong to, as text."""
    return ", ".join(f"{name} {value:{form}}" for name, value in found.items())
