"""The LEGO limits derived at run time: stated with sizes as symbols, found by the engine at the size asked for.

isotropic         stage 2: the 2 n_x² entries of Q_43 and Q_44 from Q = 0 fall into α, β, γ, δ
many_variables    stage 1: the n_y² (n_g + n_y) features of one neuron per fibre fall into a, b', c, e
found             stage 2, by the engine alone

The ladder goes through both stages. What stands for width is the number of variables n_x (L2 → L3); the surrogate of L4
is phase I of stage 1, whose error is the probability 1/d that the softmax gives a class at the start (L3 → L4).
"""

from collections.abc import Mapping
from functools import partial
from itertools import product
from math import perm
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.ladder import Rung
from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.derivation import derivation
from flowsys.model.rungs import closure_error, descent_error, difference, surrogate_error
from flowsys.program import Program
from flowsys.program.arrays import Arguments
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.system.problem import ProgramField
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.exchangeable import EXCHANGEABLE
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.model import isotropic_features
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.stage_2 import Scores
from flowsys.systems.lego.statement import stage_1_statement, stage_2_statement, structure

ONE_A_FIBRE = Isotropic(0.5, 0.1, 0.3, 0.2)  # four features that differ
MOST_SENTENCES, FEW_VARIABLES = 5000, 5  # of the population beside which a limit is stated


def small(setup: Setup) -> Setup:
    """The setup as stage 2 is found at: where there are too many sentences, those of two steps of C5 or S3."""
    (n_g, n_y), L = groups.sizes(setup["group"]), setup["L"]
    n_x = setup["n_x_finite"] if np.isinf(setup["n_x"]) else setup["n_x"]
    if perm(n_x, L) * n_g**L * n_y > MOST_SENTENCES:
        setup = setup.replace(group="C5" if n_g == n_y else "S3", n_x=FEW_VARIABLES, L=2)
    return SYSTEM.settled(setup, "L3", "found", "stage_2")


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    if variant == "many_variables":
        return _derived_layer(setup)
    if variant == "found":
        return derivation(SYSTEM.concrete(SYSTEM.settled(setup, "L3", "found", "stage_2"), "L3", "stage_2"))
    setup = small(setup)
    concrete = SYSTEM.concrete(setup, "L3", "stage_2")
    return derived_beside(
        concrete, stage_2_statement(structure(setup["q"], setup["activation"])), LATEX,
        f"stage 2, group {setup['group']}, n_x = {setup['n_x']}, L = {setup['L']}",
        lambda: stated_against_found(concrete, *_program(setup, "stage_2")),
    )  # fmt: skip


def _program(setup: Setup, mode: str) -> tuple[Program, Arguments]:
    """The stated program of a stage, and its data."""
    posed = SYSTEM.problem(setup, "L3", "isotropic", mode)
    assert isinstance(posed.field, ProgramField)
    return posed.field.program, posed.stages[0].arguments


def _derived_layer(setup: Setup) -> Derivation:
    group = groups.named(setup["group"])
    setup = SYSTEM.setup("stage_1", **dict(setup) | {"width": group.n_y, "n_x": np.inf})
    model = EXCHANGEABLE.alone("stage_1", blocks=lambda p: _one_neuron_a_fibre(group), observe=None, events=None)
    concrete = model.concrete(setup, "L3", "stage_1")

    def features(seen: Mapping[str, np.ndarray]) -> dict[str, float]:
        V_g, V_y = seen["V_g"][0, 0], seen["V_y"][0, 0]
        inside, outside = group.fibre(0, 0)[0], group.fibre(1, 0)[0]
        return Isotropic(V_g[inside], V_g[outside], V_y[0], V_y[1])._asdict()

    return derived_beside(
        concrete, stage_1_statement(structure(setup["q"], setup["activation"], setup["clip"])), LATEX,
        f"stage 1, group {setup['group']}, {group.n_y} neurons a class, n_x = inf",
        lambda: stated_against_found(concrete, *_program(setup, "stage_1"), (), features),
    )  # fmt: skip


def _one_neuron_a_fibre(group: groups.GroupAction) -> dict[str, fs.Direct]:
    """The weights of `exchangeable` where every fibre has its neuron."""
    started = dict(zip(("V_g", "V_y"), isotropic_features(ONE_A_FIBRE, group)))
    started["chi"] = np.zeros((group.n_y, group.n_y))
    return {name: fs.Direct(*array.shape, start=np.array(array), trains=name != "chi")
            for name, array in started.items()}  # fmt: skip


# -- the ladder -------------------------------------------------------------------------------------------------------

RANDOM: dict[str, Any] = {"group": "C3", "width": 2, "n_x": 3, "bias": 0.3, "rho": 0.5, "sigma_0": 0.15, "clip": "none"}
MANY: dict[str, Any] = {"group": "C3", "width": 4, "bias": 0.02, "rho": 0.5, "sigma_0": 0.02, "d": 1e3, "clip": "none"}
LAYER_END, LAYER_LATE, ATTENTION_EARLY, ATTENTION_END = 40.0, 3e4, 5.0, 30.0
FEATURES = [f"V_{slot}_{j}_{r}_{token}" for slot, j, r, token in product("gy", range(3), range(4), range(3))]  # of MANY
N_X = 6
STEPS = (0.4, 0.2, 0.1, 0.05)
# alpha starts at a speed of 5, so that only small steps are in the linear range
SMALL_STEPS = (0.05, 0.025, 0.0125, 0.00625)
VARIABLES = (1000.0, 3200.0, 10_000.0, 32_000.0)
# with so few variables the trained variable slots act like a bias, and the flow ends elsewhere
OTHER_BASIN = 320.0
MORE_VARIABLES = (10.0, 20.0, 40.0, 80.0, 160.0)
SIZES = (1e2, 1e3, 1e4, 1e6)


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure and limit of stage 1 and of stage 2, and the closed form of phase I."""
    layer, attention = SYSTEM.setup("stage_1", **RANDOM), SYSTEM.setup(group="C3", n_x=N_X)
    counted = attention.replace(d=N_X + sum(groups.sizes("C3")) + 1)
    with_variables = lambda n_x: {"setup": SYSTEM.setup(**dict(setup) | {"n_x": n_x})}
    random = lambda n_x: {"setup": SYSTEM.setup("stage_1", **MANY, n_x=n_x), "mode": "stage_1"}
    of_neurons = lambda n_x: difference(
        SYSTEM, FEATURES, {"level": "L2", "variant": "exchangeable", **random(n_x)},
        {"level": "L3", "variant": "many_variables", **random(np.inf)}, at=[LAYER_LATE],
    )  # fmt: skip
    kept = {name: setup[name] for name in ("group", "q", "rho")}
    early = lambda d: SYSTEM.setup("stage_1", **kept, d=d, bias=0.01, V_0=0.01)
    return [
        Rung("L0", "L1, stage 1", f"all weights at t = {LAYER_END:g}, C3, n_x = 3, m = 2",
             partial(descent_error, SYSTEM, layer, LAYER_END), "learning_rate", STEPS, 1.0, 0.1),
        Rung("L0", "L1, stage 2", f"all of Q at τ = {ATTENTION_EARLY:g}, C3, n_x = {N_X}",
             partial(descent_error, SYSTEM, attention, ATTENTION_EARLY), "learning_rate", SMALL_STEPS, 1.0, 0.1),
        Rung("L1", "L2, stage 1", f"what the loss sees at t = {LAYER_END:g}, relative, C3, n_x = 3, m = 2, rtol 1e-10",
             partial(closure_error, SYSTEM, layer, LAYER_END), tolerance=1e-6),
        Rung("L2", f"L3, stage 2 at n_x = {N_X}", f"Q against four scores, τ = {ATTENTION_END:g}, rtol 1e-9",
             lambda _: difference(SYSTEM, Scores._fields, {"level": "L2"}, {"level": "L3"}, setup=counted,
                                  at=[ATTENTION_END], rtol=1e-9), tolerance=1e-6),
        Rung("L2", "L3, stage 1", f"V(g), V(y) of 12 random neurons at t = {LAYER_LATE:g}, exchangeable to n_x = inf",
             of_neurons, "n_x", VARIABLES, -1.0, 0.1),
        Rung("L2", f"L3, stage 1 at n_x = {OTHER_BASIN:g}", "the same, where the flow goes to another basin",
             lambda _: of_neurons(OTHER_BASIN)),
        Rung("L2", "L3, stage 2", "alpha where the loss is 1e-4, four scores to two",
             lambda n_x: difference(SYSTEM, ("alpha",), with_variables(n_x), with_variables(np.inf),
                                    at=["loss_threshold"], rtol=1e-9), "n_x", MORE_VARIABLES, -1.0, 0.1),
        Rung("L3", "L4, stage 1", "time of phase I, relative, b = V_0 = 0.01",
             lambda d: surrogate_error(SYSTEM, early(d), "phase_1", mode="stage_1", rtol=1e-11), "d", SIZES, -1.0,
             0.05),
    ]  # fmt: skip
