"""The LEGO limits derived at run time: stated with sizes as symbols, found by lumping at the size asked for.

isotropic         stage 2: the 2 n_x² entries of Q_43 and Q_44 from Q = 0 fall into α, β, γ, δ
many_variables    stage 1: the n_y² (n_g + n_y) features of one neuron per fibre fall into a, b', c, e
found             stage 2, by the engine alone

The ladder goes through both stages. What stands for width is the number of variables n_x (L2 → L3); the surrogate of L4
is phase I of stage 1, whose error is the probability 1/d that the softmax gives a class at the start (L3 → L4).
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from flowsys.ladder import Rung
from flowsys.model.derivation import derivation
from flowsys.program.arrays import vector_field
from flowsys.runs.asking import AskedField, field
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import lump
from flowsys.system import Setup
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.closed_forms import phase_1_time
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.statement import Structure, stage_1_statement, stage_2_statement


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump, and compare."""
    if variant == "found":
        return derivation(SYSTEM.concrete(SYSTEM.settled(setup, "L3", "found", "stage_2"), "L3", "stage_2"))
    return _derived_attention(setup) if variant == "isotropic" else _derived_layer(setup)


def _derived_attention(setup: Setup) -> Derivation:
    setup = SYSTEM.settled(setup, "L2", "full", "stage_2")
    full, stated = field(SYSTEM, setup, level="L2"), field(SYSTEM, setup, level="L3", variant="isotropic")
    n_x = int(setup["n_x"])
    return _certified(
        stage_2_statement(Structure(setup["q"], setup["activation"])),
        full, full.start, stated,
        f"stage 2, group {setup['group']}, n_x = {n_x}, L = 2",
        ("Q_43_0_0", "Q_43_0_1", "Q_44_0_0", "Q_44_0_1"),
    )  # fmt: skip


def _derived_layer(setup: Setup) -> Derivation:
    group = groups.named(setup["group"])
    n_y = group.n_y
    setup = SYSTEM.setup("stage_1", **dict(setup) | {"width": n_y})
    full = field(SYSTEM, setup, level="L3", variant="many_variables", mode="stage_1")
    stated = field(SYSTEM, setup, level="L3", variant="isotropic", mode="stage_1")
    # one neuron per fibre, with four different feature values
    V_g = np.where(np.moveaxis(group.matrices, 0, -1) > 0, 0.5, 0.1)
    V_y = np.broadcast_to(np.where(np.eye(n_y) > 0, 0.3, 0.2), (n_y, n_y, n_y))
    start = np.concatenate([V_g.ravel(), V_y.ravel(), np.zeros(n_y * n_y)])
    return _certified(
        stage_1_statement(Structure(setup["q"], setup["activation"], setup["clip"])),
        full, start, stated,
        f"stage 1, group {setup['group']}, {n_y} neurons a class, n_x = inf",
        (f"V_g_0_0_{group.fibre(0, 0)[0]}", f"V_g_0_0_{group.fibre(1, 0)[0]}", "V_y_0_0_0", "V_y_0_0_1"),
    )  # fmt: skip


def _certified(statement, full: AskedField, start: np.ndarray, stated: AskedField, size: str, names) -> Derivation:
    """The stated program beside the lumping found; its state stands for the entries of these names."""
    names_of_all, rates = full.names, _compiled(full)
    derived, partition = Stated.assembled(statement), lump(rates, start)
    field, arguments = vector_field(derived.program, "exact", np), stated.problem.stages[0].arguments
    at, rng, agreement = np.array([names_of_all.index(name) for name in names]), np.random.default_rng(0), 0.0
    for _ in range(5):  # at random points of the subspace
        y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
        agreement = float(np.maximum(agreement, apart(field(y[at], arguments), rates(y)[at])))  # NaN stays
    return derived.beside(partition, rates, names_of_all, agreement, size, LATEX)


def _compiled(asked: AskedField) -> Callable[[np.ndarray], np.ndarray]:
    """The field for many single states."""
    rate = jax.jit(asked.jax)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rate(np.asarray(y, dtype=float)))

    return evaluate


# -- the ladder -------------------------------------------------------------------------------------------------------

RANDOM: dict[str, Any] = {"group": "C3", "width": 2, "n_x": 3, "bias": 0.3, "rho": 0.5, "sigma_0": 0.15, "clip": "none"}
MANY: dict[str, Any] = {"group": "C3", "width": 4, "bias": 0.02, "rho": 0.5, "sigma_0": 0.02, "d": 1e3, "clip": "none"}
FEATURES = ("a", "b_prime", "c", "e", "loss")
SCORES = ("alpha", "beta", "gamma", "delta")
LAYER_END, LAYER_LATE, ATTENTION_EARLY, ATTENTION_END = 40.0, 3e4, 5.0, 30.0
N_X = 6
STEPS = (0.4, 0.2, 0.1, 0.05)
# alpha starts at a speed of 5, so that only small steps are in the linear range
SMALL_STEPS = (0.05, 0.025, 0.0125, 0.00625)
VARIABLES = (1000.0, 3200.0, 10_000.0, 32_000.0)
# with so few variables the trained variable slots act like a bias, and the flow ends elsewhere
OTHER_BASIN = 320.0
FEW_VARIABLES = (10.0, 20.0, 40.0, 80.0, 160.0)
SIZES = (1e2, 1e3, 1e4, 1e6)


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure and limit of stage 1 and of stage 2, and the closed form of phase I."""
    return [
        Rung("L0", "L1, stage 1", f"features and loss at t = {LAYER_END:g}, C3, n_x = 3, m = 2",
             layer_descent_error, "learning_rate", STEPS, 1.0, 0.1),
        Rung("L0", "L1, stage 2", f"scores at τ = {ATTENTION_EARLY:g}, C3, n_x = {N_X}", attention_descent_error,
             "learning_rate", SMALL_STEPS, 1.0, 0.1),
        Rung("L1", "L2, stage 1", f"features and loss at t = {LAYER_END:g}, C3, n_x = 3, m = 2, rtol 1e-9",
             lambda _: apart(_layer("L1"), _layer("L2")), tolerance=1e-6),
        Rung("L2", f"L3, stage 2 at n_x = {N_X}", f"Q against four scores, τ = {ATTENTION_END:g}, rtol 1e-9",
             lambda _: apart(_attention("L2", ATTENTION_END), _attention("L3", ATTENTION_END)), tolerance=1e-6),
        Rung("L2", "L3, stage 1", f"V(g), V(y) of 12 random neurons at t = {LAYER_LATE:g}, exchangeable to n_x = inf",
             variables_error, "n_x", VARIABLES, -1.0, 0.1),
        Rung("L2", f"L3, stage 1 at n_x = {OTHER_BASIN:g}", "the same, where the flow goes to another basin",
             lambda _: variables_error(OTHER_BASIN)),
        Rung("L2", "L3, stage 2", "alpha where the loss is 1e-4, four scores to two",
             partial(scores_error, setup), "n_x", FEW_VARIABLES, -1.0, 0.1),
        Rung("L3", "L4, stage 1", "time of phase I, relative, b = V_0 = 0.01", partial(surrogate_error, setup), "d",
             SIZES, -1.0, 0.05),
    ]  # fmt: skip


def apart(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.abs(left - right).max())


@lru_cache(maxsize=8)
def _layer(level: str) -> np.ndarray:
    """Features and loss late in stage 1."""
    run = solve(SYSTEM, SYSTEM.setup("stage_1", **RANDOM), level=level, mode="stage_1", at=[LAYER_END],
                observe=FEATURES, rtol=1e-9, solver="tsit5")  # fmt: skip
    return np.array([run[name][0] for name in FEATURES])


def layer_descent_error(learning_rate: float) -> float:
    """|L0 - L1| of features and loss from the same random weights; the flow on inner products stands for L1's."""
    setup = SYSTEM.setup("stage_1", **RANDOM, learning_rate=learning_rate)
    trained = train(SYSTEM, setup, mode="stage_1", at=[LAYER_END], observe=FEATURES, records=1)
    return apart(np.array([trained[name][-1] for name in FEATURES]), _layer("L2"))


@lru_cache(maxsize=8)
def _attention(level: str, time: float) -> np.ndarray:
    """The scores at a time of stage 2."""
    setup = SYSTEM.setup(group="C3", n_x=N_X, d=N_X + sum(groups.sizes("C3")) + 1)
    run = solve(SYSTEM, setup, level=level, at=[time], observe=SCORES, rtol=1e-9)
    return np.array([run[name][0] for name in SCORES])


def attention_descent_error(learning_rate: float) -> float:
    """|L0 - L1| of the scores; four scores stand for the flow of Q, which they follow exactly."""
    setup = SYSTEM.setup(group="C3", n_x=N_X, learning_rate=learning_rate)
    trained = train(SYSTEM, setup, at=[ATTENTION_EARLY], observe=SCORES, records=1)
    return apart(np.array([trained[name][-1] for name in SCORES]), _attention("L3", ATTENTION_EARLY))


def variables_error(n_x: float) -> float:
    """The largest |V(n_x) - V(∞)|."""
    return apart(_neurons(n_x), _neurons(np.inf))


@lru_cache(maxsize=8)
def _neurons(n_x: float) -> np.ndarray:
    """V(g) and V(y), without χ."""
    level, variant = ("L3", "many_variables") if np.isinf(n_x) else ("L2", "exchangeable")
    setup = SYSTEM.setup("stage_1", **MANY, n_x=n_x)
    run = solve(SYSTEM, setup, level=level, variant=variant, mode="stage_1", at=[LAYER_LATE], observe=("loss",))
    n_g, n_y = groups.sizes(MANY["group"])
    return run.states[-1][: n_y * MANY["width"] * (n_g + n_y)]


def scores_error(setup: Setup, n_x: float) -> float:
    """|α(n_x) - α(∞)| where the loss reaches loss_target."""
    of = lambda n: solve(SYSTEM, SYSTEM.setup(**dict(setup) | {"n_x": n}), at=["loss_threshold"], observe=("alpha",),
                         rtol=1e-9)["alpha"]  # fmt: skip
    return apart(of(n_x), of(np.inf))


def surrogate_error(setup: Setup, d: float) -> float:
    """Relative error of the time of phase I by its closed form."""
    changed = SYSTEM.setup("stage_1", group=setup["group"], q=setup["q"], rho=setup["rho"], d=d, bias=0.01, V_0=0.01)
    exact = solve(SYSTEM, changed, mode="stage_1", at=["phase_1"], observe=("x",), rtol=1e-11).t[0]
    closed = phase_1_time(0.02, *groups.sizes(changed["group"]), changed["q"], changed["rho"])
    return float(abs(exact / closed - 1))
