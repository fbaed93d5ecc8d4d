"""L3 of both stages: the four-variable flows of the isotropic layer and of attention over it.

Programs for the reference activation with q = 4 are packaged; another structure is derived when it is first needed.
Stage 2 starts from α = β = γ = δ = 0 over the ideal layer (Eqs. 17, 18 with the exact ratio C_α), or over the
layer that stage 1 leaves.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import started_from
from flowsys.program import Program
from flowsys.program.arrays import Arguments, arguments, in_columns
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.lego import SYSTEM, configurations, groups
from flowsys.systems.lego.closed_forms import C_alpha, c_1, clip_level, final_features
from flowsys.systems.lego.configurations import Configurations, program_tables
from flowsys.systems.lego.model import trained_steps
from flowsys.systems.lego.vocabulary import whole_bias

PACKAGED_POWER = 4
LARGEST_EXACT = 2_000


@lru_cache(maxsize=32)
def program(stage: str, q: int, activation: str, clip: str) -> Program:
    """The committed program of a structure, or one derived here."""
    if activation == "azl" and q == PACKAGED_POWER and clip != "hard":
        from flowsys.systems.lego import reduced

        return Program.parse(getattr(reduced, f"{stage}_{clip}".upper()))
    from flowsys.symbolic.assemble import assemble
    from flowsys.systems.lego.statement import Structure, stage_1_statement, stage_2_statement

    state = {"stage_1": stage_1_statement, "stage_2": stage_2_statement}[stage]
    return assemble(state(Structure(q, activation, clip)))


def stage_1_values(setup: Setup) -> dict[str, float]:
    """The numbers a stage-1 program reads."""
    n_g, n_y = groups.sizes(setup["group"])
    return feedforward_values(setup) | {
        "n_g": n_g,
        "n_y": n_y,
        "d": setup["d"],
        "delta_2": setup["delta_2"],
        "log_miss_target": np.log(setup["miss_target"]),
    }


def feedforward_values(setup: Setup) -> dict[str, float]:
    values = {name: setup[name] for name in ("rho", "clip_width", "varpi", "F_0")}
    return values | {"bias": whole_bias(setup), "B": clip_level(setup["C_B"], setup["d"])}


def stage_1_problem(setup: Setup) -> Problem:
    """The isotropic layer from a = c = V_0, b' = e = 0."""
    text = program("stage_1", setup["q"], setup["activation"], setup["clip"])
    n_g, n_y = groups.sizes(setup["group"])

    def conserved(states: np.ndarray) -> np.ndarray:
        return states @ np.array([[n_g / n_y], [n_g * (1 - 1 / n_y)], [-1.0], [1.0 - n_y]])

    return Problem(
        field=ProgramField(text),
        initial=in_columns([setup["V_0"], 0.0, setup["V_0"], 0.0]),
        stages=(Stage("stage_1", arguments(text, stage_1_values(setup))),),
        events=SYSTEM.declaration.events_at(setup, "stage_1"),
        derived={"C_alpha": lambda y: C_alpha(n_g, n_y)},
        conserved=conserved,
        scale=np.minimum(setup["V_0"], 1.0),
        t_max=setup["t_max"],
        default_at=("phase_1", "phase_2_1", "stage_1_end"),
    )


def stage_2_arguments(setup: Setup, text: Program, features, steps: Sequence[Configurations]) -> Arguments:
    """Parameters and tables of the stage-2 program for a layer and the steps to train on."""
    tables, links = program_tables(steps)
    values = feedforward_values(setup) | features._asdict()
    values |= {
        "n_y": groups.sizes(setup["group"])[1],
        "d": setup["d"],
        "L": steps[0].L,
        "inverse_others": 1 / (setup["n_x"] - 1),
        "log_eps_target": np.log(setup["eps_target"]),
        "gap_target": setup["gap_target"],
    }
    return arguments(text, values, tables, links)


def stage_2_problem(
    setup: Setup,
    features,
    clip: str,
    steps: Sequence[Configurations],
    initial: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    start: float = 0.0,
) -> Problem:
    """Attention over a fixed layer, on the given configurations."""
    from flowsys.systems.lego.measured import accuracies, score_rates, tested_attention

    text = program("stage_2", setup["q"], setup["activation"], clip)
    numbers = stage_2_arguments(setup, text, features, steps)
    measured = score_rates(text, numbers) | tested_attention(setup) | accuracies(setup, features, clip)
    return Problem(
        field=ProgramField(text),
        initial=np.array(initial, dtype=float),
        stages=(Stage("stage_2", numbers),),
        events=SYSTEM.declaration.events_at(setup, "stage_2"),
        marks={"look": setup["t_look"]} if start == 0 or setup["t_look"] > start else {},
        derived={"c_1": lambda y: c_1(setup["C_B"])} | measured,
        t_max=setup["t_max"],
        start=start,
        default_at=("stage_2_1", "stage_2_2", "loss_threshold"),
    )


def ideal_features(setup: Setup):
    """a, b', c, e at the end of stage 1 (Eqs. 17, 18)."""
    return final_features(*groups.sizes(setup["group"]), clip_level(setup["C_B"], setup["d"]))


def true_steps(setup: Setup, mode: str) -> list[Configurations]:
    """Configurations of the trained steps with true labels: exact where that is feasible, else a fixed sample."""
    group, L = groups.named(setup["group"]), setup["L"]
    steps = trained_steps(setup["trained_steps"], mode, L)
    configurations.check_sample(group, sum(not is_exact(group, L, ell) for ell in steps), setup["n_samples"])
    tables = [expectation(group, L, ell, setup["n_samples"], setup["seed"]) for ell in steps]
    divisor = len(steps) if setup["trained_steps"] == "all" else 1
    return [table._replace(weight=table.weight / divisor) for table in tables]


def expectation(group, L: int, ell: int, n_samples: int, seed: int) -> Configurations:
    """The exact distribution of step ℓ if it has few enough configurations, else a fixed sample."""
    if is_exact(group, L, ell):
        return configurations.exact(group, L, ell)
    return configurations.sampled(group, L, ell, n_samples, seed)


def is_exact(group, L: int, ell: int) -> bool:
    """Whether step ℓ has few enough configurations to list them all."""
    return ell <= 2 and configurations.n_multisets(group, L) <= LARGEST_EXACT


def limit_problem(setup: Setup, mode: str, start: Mapping[str, Any] | None = None) -> Problem:
    """The reduced flow of a mode, from the paper's start or from given features (stage 1) or scores."""
    check_length(setup)
    check_test(setup)
    if mode == "algorithm_2":
        from flowsys.systems.lego.rounds import last_round

        return last_round(setup, start)
    if mode == "stage_1":
        problem = stage_1_problem(setup)
    elif mode == "algorithm_1" or setup["features"] == "trained":
        from flowsys.systems.lego.rounds import trained_features

        problem = stage_2_problem(setup, trained_features(setup), setup["clip"], true_steps(setup, mode))
    else:
        problem = stage_2_problem(setup, ideal_features(setup), "none", true_steps(setup, mode))
    return started_from(problem, start, f"L3 (isotropic) in mode {mode}")


def check_length(setup: Setup) -> None:
    """A chain of length L needs L + 1 distinct variables."""
    if setup["L"] + 1 > setup["n_x"]:
        raise InputError(
            f"L = {setup['L']} is not allowed: a chain needs L + 1 distinct variables, but n_x = {setup['n_x']:g}."
        )


def check_test(setup: Setup) -> None:
    """A test needs its variables, too, and the step that is looked at must be one of its steps."""
    L_test, ell_test = setup["L_test"], setup["ell_test"]
    if L_test + 1 > setup["n_x"]:
        raise InputError(
            f"L_test = {L_test} is not allowed: a chain needs L + 1 distinct variables, but n_x = {setup['n_x']:g}."
        )
    if ell_test > L_test:
        raise InputError(f"ell_test = {ell_test} is not allowed: it must be at most L_test = {L_test}.")
