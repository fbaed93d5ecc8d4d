"""L3 of both stages, the four-variable flows of the isotropic layer and of attention over it; L4 of phase I.

Programs for the reference activation with q = 4 are packaged; another structure is derived when it is first needed.
In phase I of stage 1 only the winner moves, and only by the power branch, dx/dt = k x^(q-1) with x = V_psi + b.
Stage 2 starts from α = β = γ = δ = 0 over the ideal layer (Eqs. 17, 18 with the exact ratio C_α), or over the
layer that stage 1 leaves.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import started_from
from flowsys.program import Program
from flowsys.program.arrays import Arguments, arguments, in_columns, vector_field
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.lego import SYSTEM, configurations, groups
from flowsys.systems.lego.closed_forms import (
    C_alpha,
    c_1,
    clip_level,
    final_features,
    phase_1_blow_up,
    phase_1_rate,
    phase_1_time,
)
from flowsys.systems.lego.configurations import Configurations, program_tables
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.isotropic import Isotropic, Layer, conserved
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


def feedforward(setup: Setup, clip: str) -> FeedForward:
    """The layer's nonlinearity in numbers."""
    given = {name: setup[name] for name in ("rho", "q", "activation", "varpi", "clip_width", "F_0")}
    return FeedForward(whole_bias(setup), clip=clip, B=clip_level(setup["C_B"], setup["d"]), **given)


def ideal_layer(setup: Setup) -> Layer:
    """The layer at the end of stage 1 (Eqs. 17, 18), whose logits need no clip."""
    features = final_features(*groups.sizes(setup["group"]), clip_level(setup["C_B"], setup["d"]))
    return Layer(groups.named(setup["group"]), features, setup["d"], feedforward(setup, "none"))


def stage_1_problem(setup: Setup) -> Problem:
    """The isotropic layer from a = c = V_0, b' = e = 0."""
    text = program("stage_1", setup["q"], setup["activation"], setup["clip"])
    n_g, n_y = groups.sizes(setup["group"])
    values = feedforward(setup, setup["clip"]).numbers | {"n_g": n_g, "n_y": n_y, "d": setup["d"]}
    values |= {"delta_2": setup["delta_2"], "log_miss_target": np.log(setup["miss_target"])}
    return Problem(
        field=ProgramField(text),
        initial=in_columns([setup["V_0"], 0.0, setup["V_0"], 0.0]),
        stages=(Stage("stage_1", arguments(text, values)),),
        events=SYSTEM.declaration.events_at(setup, "stage_1"),
        derived={"C_alpha": lambda y: C_alpha(n_g, n_y)},
        conserved=lambda states: conserved(Isotropic(*states.T), n_g, n_y)[:, None],
        scale=np.minimum(setup["V_0"], 1.0),
        t_max=setup["t_max"],
        default_at=("phase_1", "phase_2_1", "stage_1_end"),
    )


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """Phase I from x_0 = V_0 + b; it ends at ϱ, beyond which it means nothing."""
    if mode != "stage_1":
        raise InputError(f"mode = {mode} is not allowed at L4: the closed form is that of stage_1.")
    sizes, q, rho, bias = groups.sizes(setup["group"]), setup["q"], setup["rho"], whole_bias(setup)
    x_0 = setup["V_0"] + bias
    if x_0 >= rho:
        raise InputError(f"V_0 + bias = {x_0:g} is not allowed at L4: phase I needs it below rho = {rho:g}.")
    t_1, t_star = phase_1_time(x_0, *sizes, q, rho), phase_1_blow_up(x_0, *sizes, q, rho)
    text = Program.parse(
        f"state x\nparameters rate bias\nonce:\n    d_x = rate*x**{q - 1}\n    observe_V_psi = x - bias\n"
        "derivative x = d_x\nobserve x = x\nobserve V_psi = observe_V_psi\n"
    )
    return Problem(
        field=ProgramField(text),
        initial=np.array([x_0]),
        stages=(Stage("phase_1", arguments(text, {"rate": phase_1_rate(*sizes, q, rho), "bias": bias})),),
        events=tuple(e for e in SYSTEM.declaration.events_at(setup, "stage_1") if e.name == "phase_1"),
        derived={"t_1": lambda y: t_1, "t_star": lambda y: t_star, "C_alpha": lambda y: C_alpha(*sizes)},
        scale=x_0,
        t_max=min(setup["t_max"], 1.001 * t_1),
        default_at=("phase_1",),
    )


def stage_2_problem(
    setup: Setup,
    layer: Layer,
    steps: Sequence[Configurations],
    initial: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    start: float = 0.0,
) -> Problem:
    """Attention over a fixed layer, on the configurations of the steps to train on."""
    from flowsys.systems.lego.lengths import measured

    text = program("stage_2", setup["q"], setup["activation"], layer.feedforward.clip)
    tables, links = program_tables(steps)
    values = layer.feedforward.numbers | layer.features._asdict()
    values |= {
        "n_y": layer.group.n_y,
        "d": setup["d"],
        "L": steps[0].L,
        "inverse_others": 1 / (setup["n_x"] - 1),
        "log_eps_target": np.log(setup["eps_target"]),
        "gap_target": setup["gap_target"],
    }
    numbers = arguments(text, values, tables, links)
    return Problem(
        field=ProgramField(text),
        initial=np.array(initial, dtype=float),
        stages=(Stage("stage_2", numbers),),
        events=SYSTEM.declaration.events_at(setup, "stage_2"),
        marks={"look": setup["t_look"]} if start == 0 or setup["t_look"] > start else {},
        derived={"c_1": lambda y: c_1(setup["C_B"])} | _score_rates(text, numbers) | measured(setup, layer),
        t_max=setup["t_max"],
        start=start,
        default_at=("stage_2_1", "stage_2_2", "loss_threshold"),
    )


def _score_rates(text: Program, numbers: Arguments) -> dict[str, Callable[[np.ndarray], float]]:
    """dα/dτ and dγ/dτ as functions of (α, β, γ, δ): the program's own field."""
    velocity = vector_field(text, "exact", np)
    rate = lambda y, score: float(velocity(y, numbers)[text.state.index(score)])
    return {f"{score}_rate": partial(rate, score=score) for score in ("alpha", "gamma")}


def true_steps(setup: Setup, mode: str) -> list[Configurations]:
    """Configurations of the trained steps with true labels: exact where that is feasible, else a fixed sample."""
    group, L = groups.named(setup["group"]), setup["L"]
    steps = trained_steps(setup["trained_steps"], mode, L)
    configurations.check_sample(group, sum(not is_exact(group, L, ell) for ell in steps), setup["n_samples"])
    return weighted(setup, [expectation(group, L, ell, setup["n_samples"], setup["seed"]) for ell in steps])


def weighted(setup: Setup, tables: Sequence[Configurations]) -> list[Configurations]:
    """Steps whose losses are summed; of all steps the mean is trained."""
    divisor = len(tables) if setup["trained_steps"] == "all" else 1
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
    else:
        from flowsys.systems.lego.rounds import layer_of

        problem = stage_2_problem(setup, layer_of(setup, mode), true_steps(setup, mode))
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
