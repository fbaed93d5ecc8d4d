"""The mixture system's ladder: what is compared with what, and at which rate the theory says it must close."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.ladder import Rung
from flowsys.runs.solving import solve
from flowsys.runs.training import steps_from
from flowsys.system import Setup
from flowsys.systems.mixture.finite import gram_descent, stage_arguments
from flowsys.systems.mixture.network import ReducedLayout

SCORES = tuple(f"S_{xy}_{part}" for xy in ("cc", "cv", "vc", "vv") for part in ("same", "diff"))
AFTER_KINK, END = 5.0, 61.0
WIDTHS = (128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0)
SEEDS = 24


def ladder(setup: Setup) -> list[Rung]:
    """L0 → L1 after the first kink, the closure, the width, and the surrogates of stage 2."""
    return [
        Rung("L0", "L1", f"descent from t = {AFTER_KINK:g} to {END:g}, simultaneous, after the kink",
             partial(descent_error, setup), "learning_rate", (0.4, 0.2, 0.1, 0.05), 1.0, 0.05),
        Rung("L1", "L2", "T_2 and all entries at T_1 and T_2, relative, rtol 1e-10",
             partial(closure_error, setup), tolerance=1e-8),
        Rung("L2", "L3", f"rms over {SEEDS} seeds of the scores' deviation at T_2",
             partial(width_error, setup), "width", WIDTHS, -0.5, 0.1),
        Rung("L3", "L4", "T_2 of the sinh surrogate, relative", partial(surrogate_error, setup)),
    ]  # fmt: skip


def _system():
    from flowsys.systems.mixture import SYSTEM

    return SYSTEM


def _with(setup: Setup, **changes) -> Setup:
    return _system().setup(**(dict(setup) | changes))


def descent_error(setup: Setup, learning_rate: float) -> float:
    """|L0 - L1| at t = END when both start from the flow's state at t = AFTER_KINK."""
    small = _with(setup, width=min(setup["width"], 50), learning_rate=learning_rate)
    flow = solve(_system(), small, level="L2", mode="simultaneous", at=[AFTER_KINK, END], observe=["w_c"], rtol=1e-10)
    layout = ReducedLayout(small["K"])
    with jax.enable_x64(True):
        start = layout.split(jnp.asarray(flow.states[0]))
        arguments = stage_arguments(small)(True, True, False)
        n = round((END - AFTER_KINK) / learning_rate)
        neurons, M = steps_from(gram_descent(small["K"], small["L"]), start, arguments, learning_rate, n)
        return float(jnp.abs(layout.join(neurons, M) - flow.states[1]).max())


def closure_error(setup: Setup, _) -> float:
    """Weights against inner products, through all stages: the largest relative difference."""
    small = _with(setup, width=min(setup["width"], 6))
    run = partial(solve, _system(), small, mode="three_stage", at=["T_1", "T_2"], rtol=1e-10)
    a, b = run(level="L1", observe=("w_c", "w_v", *SCORES)), run(level="L2", observe=("w_c", "w_v", *SCORES))
    differences = [abs(a.t[1] - b.t[1]) / b.t[1]]
    for name in a.series:
        differences.append(float(np.abs(a[name] - b[name]).max() / max(1.0, np.abs(b[name]).max())))
    return max(differences)


def width_error(setup: Setup, width: float) -> float:
    """rms over seeds of the largest deviation of a score from the limit, each at its own T_2."""
    limit = solve(_system(), setup, mode="three_stage", at=["T_2"], observe=SCORES)
    expected = np.array([limit[name][0] for name in SCORES])
    deviations = []
    for seed in range(SEEDS):
        finite = solve(_system(), _with(setup, width=int(width), seed=seed), level="L2", mode="three_stage",
                       at=["T_2"], observe=SCORES)  # fmt: skip
        deviations.append(np.abs(np.array([finite[name][0] for name in SCORES]) - expected).max())
    return float(np.sqrt(np.mean(np.square(deviations))))


def surrogate_error(setup: Setup, _) -> float:
    """Relative error of T_2 - T_1 by the sinh surrogate."""
    exact, rough = (
        solve(_system(), setup, level=level, variant=variant, mode="three_stage", at=["T_2"], observe=[]).t[0]
        for level, variant in (("L3", "22"), ("L4", "sinh"))
    )
    return abs(rough - exact) / (exact - setup["T_1"])
