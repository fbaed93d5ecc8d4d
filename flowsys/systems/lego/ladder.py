"""The LEGO system's ladder, for both stages: what is compared with what, and at which rate it must close.

What stands for width here is the number of variables n_x (L2 → L3). The surrogate of L4 is phase I of stage 1, whose
error is the probability 1/d that the softmax gives a class at the start (L3 → L4).
"""

from functools import lru_cache, partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.closed_forms import phase_1_time

RANDOM = {"group": "C3", "width": 2, "n_x": 3, "bias": 0.3, "rho": 0.5, "sigma_0": 0.15, "clip": "none"}
MANY = {"group": "C3", "width": 4, "bias": 0.02, "rho": 0.5, "sigma_0": 0.02, "d": 1000.0, "clip": "none"}
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
             layer_closure_error, tolerance=1e-6),
        Rung("L2", f"L3, stage 2 at n_x = {N_X}", f"Q against four scores, τ = {ATTENTION_END:g}, rtol 1e-9",
             attention_closure_error, tolerance=1e-6),
        Rung("L2", "L3, stage 1", f"V(g), V(y) of 12 random neurons at t = {LAYER_LATE:g}, exchangeable to n_x = inf",
             variables_error, "n_x", VARIABLES, -1.0, 0.1),
        Rung("L2", f"L3, stage 1 at n_x = {OTHER_BASIN:g}", "the same, where the flow goes to another basin",
             lambda _: variables_error(OTHER_BASIN)),
        Rung("L2", "L3, stage 2", "alpha where the loss is 1e-4, four scores to two",
             partial(scores_error, setup), "n_x", FEW_VARIABLES, -1.0, 0.1),
        Rung("L3", "L4, stage 1", "time of phase I, relative, b = V_0 = 0.01", partial(surrogate_error, setup), "d",
             SIZES, -1.0, 0.05),
    ]  # fmt: skip


@lru_cache(maxsize=8)
def _layer(level: str) -> np.ndarray:
    run = solve(SYSTEM, SYSTEM.setup("stage_1", **RANDOM), level=level, mode="stage_1", at=[LAYER_END],
                observe=FEATURES, rtol=1e-9, solver="tsit5")  # fmt: skip
    return np.array([run[name][0] for name in FEATURES])


def layer_descent_error(learning_rate: float) -> float:
    """|L0 - L1| of features and loss from the same random weights; the flow on inner products stands for L1's."""
    setup = SYSTEM.setup("stage_1", **RANDOM, learning_rate=learning_rate)
    trained = train(SYSTEM, setup, mode="stage_1", at=[LAYER_END], observe=FEATURES, records=1)
    return float(np.abs(np.array([trained[name][-1] for name in FEATURES]) - _layer("L2")).max())


def layer_closure_error(_) -> float:
    """|L1 - L2| of features and loss."""
    return float(np.abs(_layer("L1") - _layer("L2")).max())


@lru_cache(maxsize=8)
def _attention(level: str, time: float) -> np.ndarray:
    n_g, n_y = groups.sizes("C3")
    setup = SYSTEM.setup(group="C3", n_x=N_X, d=N_X + n_g + n_y + 1)
    run = solve(SYSTEM, setup, level=level, at=[time], observe=SCORES, rtol=1e-9)
    return np.array([run[name][0] for name in SCORES])


def attention_descent_error(learning_rate: float) -> float:
    """|L0 - L1| of the scores; four scores stand for the flow of Q, which they follow exactly."""
    setup = SYSTEM.setup(group="C3", n_x=N_X, learning_rate=learning_rate)
    trained = train(SYSTEM, setup, at=[ATTENTION_EARLY], observe=SCORES, records=1)
    return float(np.abs(np.array([trained[name][-1] for name in SCORES]) - _attention("L3", ATTENTION_EARLY)).max())


def attention_closure_error(_) -> float:
    """|L2 - L3| of the scores at the same n_x."""
    return float(np.abs(_attention("L2", ATTENTION_END) - _attention("L3", ATTENTION_END)).max())


@lru_cache(maxsize=8)
def _neurons(n_x: float) -> np.ndarray:
    level, variant = ("L3", "many_variables") if np.isinf(n_x) else ("L2", "exchangeable")
    setup = SYSTEM.setup("stage_1", **MANY, n_x=n_x)
    run = solve(SYSTEM, setup, level=level, variant=variant, mode="stage_1", at=[LAYER_LATE], observe=("loss",))
    n_g, n_y = groups.sizes(MANY["group"])
    return run.states[-1][: n_y * MANY["width"] * (n_g + n_y)]  # V(g) and V(y), without χ


def variables_error(n_x: float) -> float:
    """The largest |V(n_x) - V(∞)|."""
    return float(np.abs(_neurons(n_x) - _neurons(np.inf)).max())


@lru_cache(maxsize=16)
def _alpha(items: tuple) -> float:
    run = solve(SYSTEM, SYSTEM.setup(**dict(items)), at=["loss_threshold"], observe=("alpha",), rtol=1e-9)
    return float(run["alpha"][0])


def scores_error(setup: Setup, n_x: float) -> float:
    """|α(n_x) - α(∞)| where the loss reaches loss_target."""
    finite, limit = (_alpha(tuple((dict(setup) | {"n_x": n}).items())) for n in (n_x, np.inf))
    return abs(finite - limit)


def surrogate_error(setup: Setup, d: float) -> float:
    """Relative error of the time of phase I by its closed form."""
    changed = SYSTEM.setup("stage_1", group=setup["group"], q=setup["q"], rho=setup["rho"], d=d, bias=0.01, V_0=0.01)
    exact = solve(SYSTEM, changed, mode="stage_1", at=["phase_1"], observe=("x",), rtol=1e-11).t[0]
    closed = phase_1_time(0.02, *groups.sizes(changed["group"]), changed["q"], changed["rho"])
    return float(abs(exact / closed - 1))
