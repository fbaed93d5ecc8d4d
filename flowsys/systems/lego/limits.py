"""L3 of both stages, the four-variable flows of the isotropic layer and of attention over it; L4 of phase I.

Programs for the reference activation with q = 4 are packaged; another structure is derived when it is first needed.
In phase I of stage 1 only the winner moves, and only by the power branch, dx/dt = k x^(q-1) with x = V_psi + b.
Stage 2 starts from α = β = γ = δ = 0 over the ideal layer (Eqs. 17, 18 with the exact ratio C_α), or over the
layer that stage 1 leaves (Algorithm 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import program_problem, started_from
from flowsys.program import Program, committed
from flowsys.program.arrays import in_columns
from flowsys.runs.solving import solve
from flowsys.system import Setup, late
from flowsys.system.problem import Problem
from flowsys.systems.lego import SYSTEM, closed_forms, groups
from flowsys.systems.lego.configurations import Configurations, expectation, program_tables
from flowsys.systems.lego.feedforward import feedforward, whole_bias
from flowsys.systems.lego.isotropic import Isotropic, Layer, conserved
from flowsys.systems.lego.model import divisor, trained_steps
from flowsys.systems.lego.stage_2 import AT_REST, Scores
from flowsys.systems.lego.vocabulary import DEAR

PACKAGED_POWER = 4
RTOL = 1e-9  # of stages before the one that is shown
STAGE_1_STEPS = 20_000
MEASURED = "flowsys.systems.lego.lengths:measured"
TRAPPED = 1e-6  # F_c - F_w below this: an additive layer, exactly so but for rounding


@lru_cache(maxsize=32)
def program(stage: str, q: int, activation: str, clip: str) -> Program:
    """The committed program of a structure, or one derived here."""
    if activation == "azl" and q == PACKAGED_POWER and clip != "hard":
        return committed("flowsys.systems.lego", f"{stage}_{clip}".upper())
    from flowsys.symbolic.assemble import assemble
    from flowsys.systems.lego.statement import stage_1_statement, stage_2_statement, structure

    state = {"stage_1": stage_1_statement, "stage_2": stage_2_statement}[stage]
    return assemble(state(structure(q, activation, clip)))


def stage_1_problem(setup: Setup) -> Problem:
    """The isotropic layer from a = c = V_0, b' = e = 0."""
    text = program("stage_1", setup["q"], setup["activation"], setup["clip"])
    n_g, n_y = groups.sizes(setup["group"])
    values = {**setup, **feedforward(np, setup, setup["clip"]).numbers, "n_g": n_g, "n_y": n_y}
    values["log_miss_target"] = np.log(setup["miss_target"])
    return program_problem(
        SYSTEM.declaration, setup, "stage_1", text, in_columns([setup["V_0"], 0.0, setup["V_0"], 0.0]), values,
        default_at=("phase_1", "phase_2_1", "stage_1_end"),
        derived={"C_alpha": lambda y: closed_forms.C_alpha(n_g, n_y)},
        conserved=lambda states: conserved(Isotropic(*states.T), n_g, n_y)[:, None],
        scale=np.minimum(setup["V_0"], 1.0),
    )  # fmt: skip


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """Phase I from x_0 = V_0 + b; it ends at ϱ, beyond which it means nothing."""
    sizes, q, rho, bias = groups.sizes(setup["group"]), setup["q"], setup["rho"], whole_bias(np, setup)
    x_0 = setup["V_0"] + bias
    if x_0 >= rho:
        raise InputError(f"V_0 + bias = {x_0:g} is not allowed at L4: phase I needs it below rho = {rho:g}.")
    t_1, t_star = closed_forms.phase_1_time(x_0, *sizes, q, rho), closed_forms.phase_1_blow_up(x_0, *sizes, q, rho)
    text = Program.parse(
        f"state x\nparameters rate bias\nonce:\n    d_x = rate*x**{q - 1}\n    observe_V_psi = x - bias\n"
        "derivative x = d_x\nobserve x = x\nobserve V_psi = observe_V_psi\n"
    )
    values = {"rate": closed_forms.phase_1_rate(*sizes, q, rho), "bias": bias}
    derived = {"t_1": lambda y: t_1, "t_star": lambda y: t_star, "C_alpha": lambda y: closed_forms.C_alpha(*sizes)}
    problem = program_problem(SYSTEM.declaration, setup, mode, text, np.array([x_0]), values, derived=derived,
                              default_at=("phase_1",), scale=x_0)  # fmt: skip
    ends = tuple(event for event in problem.events if event.name == "phase_1")
    return replace(problem, events=ends, t_max=min(setup["t_max"], 1.001 * t_1))


def stage_2_problem(
    setup: Setup, layer: Layer, steps: Sequence[Configurations], initial: Scores = AT_REST, start: float = 0.0
) -> Problem:
    """Attention over a fixed layer, on the configurations of the steps to train on; of all steps the mean counts."""
    data = program_tables([step._replace(weight=step.weight / divisor(setup, steps)) for step in steps])
    text = program("stage_2", setup["q"], setup["activation"], layer.feedforward.clip)
    values = {**setup, **layer.feedforward.numbers, **layer.features._asdict(), "n_y": layer.group.n_y, "L": steps[0].L}
    values |= {"inverse_others": 1 / (setup["n_x"] - 1), "log_eps_target": np.log(setup["eps_target"])}
    derived: dict[str, Any] = {"c_1": lambda y: closed_forms.c_1(setup["C_B"])}
    derived |= {name: partial(late(MEASURED), setup, layer, name) for name in DEAR}
    return program_problem(
        SYSTEM.declaration, setup, "stage_2", text, np.array(initial, dtype=float), values, *data, derived=derived,
        default_at=("stage_2_1", "stage_2_2", "loss_threshold"), start=start,
    )  # fmt: skip


def limit_problem(setup: Setup, mode: str, start: Mapping[str, Any] | None = None) -> Problem:
    """The reduced flow of a mode, from the paper's start or from given features (stage 1) or scores."""
    if mode == "algorithm_2":
        from flowsys.systems.lego.rounds import last_round

        return last_round(setup, start)
    if mode == "stage_1":
        problem = stage_1_problem(setup)
    else:
        layer, L = layer_of(setup, mode), setup["L"]
        steps = trained_steps(setup, mode, L)
        problem = stage_2_problem(setup, layer, expectation(layer.group, L, steps, setup["n_samples"], setup["seed"]))
    return started_from(problem, start, f"L3 (isotropic) in mode {mode}")


# -- the layer that attention is trained over -------------------------------------------------------------------------


def ideal_layer(setup: Setup) -> Layer:
    """The layer at the end of stage 1 (Eqs. 17, 18), whose logits need no clip."""
    features = closed_forms.final_features(
        *groups.sizes(setup["group"]), closed_forms.clip_level(setup["C_B"], setup["d"])
    )
    return Layer(groups.named(setup["group"]), features, setup["d"], feedforward(np, setup, "none"))


@lru_cache(maxsize=64)
def _trained_layer(items: tuple) -> Layer:
    setup = Setup("lego", dict(items))
    run = solve(SYSTEM, setup, mode="stage_1", at=["stage_1_end"], observe=("F_gap",), rtol=RTOL,
                max_steps=STAGE_1_STEPS)  # fmt: skip
    if not run.labels:
        raise InputError(f"an earlier stage does not reach stage_1_end: {run.outcome.sentence}")
    if abs(run["F_gap"][0]) < TRAPPED:
        raise InputError(
            f"bias = {setup['bias']:g} and V_0 = {setup['V_0']:g} leave stage 1 in the additive trap: its layer gives "
            "right and wrong values the same logit (F_c = F_w), so that attention has nothing to read; choose a "
            "smaller bias or a larger V_0."
        )
    clipped = feedforward(np, setup, setup["clip"])
    return ideal_layer(setup)._replace(features=Isotropic(*map(float, run.states[-1])), feedforward=clipped)


def layer_of(setup: Setup, mode: str = "algorithm_2") -> Layer:
    """The layer that attention is trained over: what stage 1 leaves (always so in Algorithm 1), or the ideal one."""
    is_trained = mode == "algorithm_1" or setup["features"] == "trained"
    return _trained_layer(tuple(setup.items())) if is_trained else ideal_layer(setup)
