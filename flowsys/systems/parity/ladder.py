"""The parity system's ladder: descent to flow, weights to inner products, width to its limit, limit to surrogate."""

from functools import partial
from typing import Any

import numpy as np

from flowsys.ladder import Rung
from flowsys.model.rungs import closure_error, descent_error, surrogate_error
from flowsys.runs.solving import solve
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM

END = 150.0
WIDTHS = (64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0)
SEEDS = 48
BEFORE_LOCK, AFTER_LOCK = (3.0, 6.0, 9.0), (20.0, 45.0)


def ladder(setup: Setup) -> list[Rung]:
    """L0 → L1 and the closure at a tiny size, the width at n = 12 before and after lock, the surrogate over n."""
    tiny, hypercube = SYSTEM.setup(n=5, k=3, m=8), SYSTEM.setup(n=5, k=3, m=8, d=40, tokens="all")
    attention = f"mean over {SEEDS} seeds of the attention's deviation at n+3, frozen gates, n = 12, k = 3"
    return [
        Rung("L0", "L1", f"descent to t = {END:g}, n = 5, k = 3, m = 8, largest deviation of a weight",
             partial(descent_error, SYSTEM, tiny, END), "learning_rate", (2.0, 1.0, 0.5, 0.25), 1.0, 0.15),
        Rung("L1", "L2", f"weights against inner products at t = {END:g}, hypercube embeddings d = 40",
             partial(closure_error, SYSTEM, hypercube, END), tolerance=1e-7),
        Rung("L2", "L3", f"{attention}, before lock (τ ≤ 9)", width_error, "m", WIDTHS, -0.5, 0.15),
        # once positions lock, unequal pairs of tokens part (one_hot_pairs): a rate is read, none is claimed
        Rung("L2", "L3", f"{attention}, after lock (τ = 20, 45)", partial(width_error, times=AFTER_LOCK), "m",
             WIDTHS[::2]),
        Rung("L3", "L4", "lock time of the surrogate, relative, i = n+3",
             lambda n: surrogate_error(SYSTEM, SYSTEM.setup(n=int(n), k=3, m=100.0), "lock"), "n",
             (30.0, 100.0, 300.0, 1000.0), -1.0, 0.05),
    ]  # fmt: skip


def width_error(m: float, times=BEFORE_LOCK) -> float:
    """Mean over seeds of the largest deviation of the attention at n+3 from the limit, at t = τ n√m."""
    at = [12 * m**0.5 * τ for τ in times]
    # tsit5 compiles in half the time of the default, and these runs are short
    how: dict[str, Any] = {"at": at, "observe": ["s_target"], "solver": "tsit5"}
    run = lambda level, variant, seed=0: solve(
        SYSTEM, SYSTEM.setup(n=12, k=3, m=m, seed=seed), level=level, variant=variant, **how
    )["s_target"]
    exact, runs = run("L3", "collapsed"), [run("L2", "frozen", seed) for seed in range(SEEDS)]
    return float(np.mean([np.abs(run - exact).max() for run in runs]))
