"""The parity system's ladder: descent to flow, weights to inner products, width to its limit, limit to surrogate."""

from functools import partial
from typing import Any

import numpy as np

from flowsys.ladder import Rung
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM

TINY: dict[str, Any] = {"n": 5, "k": 3, "m": 8, "epsilon": 20.0}
END = 150.0
READ = ("g", "u", "v", "s_target", "margin", "loss")
WIDTHS = (64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0)
SEEDS = 48
BEFORE_LOCK, AFTER_LOCK = (3.0, 6.0, 9.0), (20.0, 45.0)


def ladder(setup: Setup) -> list[Rung]:
    """L0 → L1 and the closure at a tiny size, the width at n = 12 before and after lock, the surrogate over n."""
    attention = f"mean over {SEEDS} seeds of the attention's deviation at n+3, frozen gates, n = 12, k = 3"
    return [
        Rung("L0", "L1", f"descent to t = {END:g}, n = 5, k = 3, m = 8, largest deviation of an observable",
             descent_error, "learning_rate", (2.0, 1.0, 0.5, 0.25), 1.0, 0.15),
        Rung("L1", "L2", "weights against inner products at t = 150, hypercube embeddings d = 40",
             partial(closure_error, d=40), tolerance=1e-7),
        Rung("L2", "L3", f"{attention}, before lock (τ ≤ 9)", width_error, "m", WIDTHS, -0.5, 0.15),
        # once positions lock, unequal pairs of tokens part (one_hot_pairs): a rate is read, none is claimed
        Rung("L2", "L3", f"{attention}, after lock (τ = 20, 45)", partial(width_error, times=AFTER_LOCK), "m",
             WIDTHS[::2]),
        Rung("L3", "L4", "lock time of the surrogate, relative, i = n+3",
             surrogate_error, "n", (30.0, 100.0, 300.0, 1000.0), -1.0, 0.05),
    ]  # fmt: skip


def _solved(level: str, variant: str, at, **parameters):
    # tsit5 compiles in half the time of the default, and these runs are short
    rtol = parameters.pop("rtol", 1e-8)
    setup = SYSTEM.setup(**parameters)
    return solve(SYSTEM, setup, level=level, variant=variant, at=at, observe=READ, rtol=rtol, solver="tsit5")


def descent_error(learning_rate: float) -> float:
    """|L0 - L1| at t = END, the largest over observables."""
    setup = SYSTEM.setup(**TINY, learning_rate=learning_rate)
    descent = train(SYSTEM, setup, steps=round(END / learning_rate), records=1, observe=READ)
    flow = _solved("L2", "reduced", [END], **TINY)
    return max(abs(float(descent[name][-1]) - float(flow[name][0])) for name in READ)


def closure_error(_, d: float = np.inf) -> float:
    """Weights against what is seen of them over every string: the largest difference of an observable."""
    runs = [
        _solved(level, variant, [END], **TINY, d=d, tokens="all", rtol=1e-10)
        for level, variant in (("L1", "weights"), ("L2", "reduced"))
    ]
    return max(abs(float(runs[0][name][0]) - float(runs[1][name][0])) for name in READ)


def width_error(m: float, times=BEFORE_LOCK) -> float:
    """Mean over seeds of the largest deviation of the attention at n+3 from the limit, at t = τ n√m."""
    given = {"n": 12, "k": 3, "m": m}
    at = [12 * m**0.5 * τ for τ in times]
    exact = _solved("L3", "collapsed", at, **given)["s_target"]
    runs = [_solved("L2", "frozen", at, **given, seed=seed)["s_target"] for seed in range(SEEDS)]
    return float(np.mean([np.abs(run - exact).max() for run in runs]))


def surrogate_error(n: float) -> float:
    """Relative error of the lock time."""
    setup = SYSTEM.setup(n=int(n), k=3, m=100.0)
    exact, rough = (solve(SYSTEM, setup, level=level, at=["lock"], observe=[]).t[0] for level in ("L3", "L4"))
    return abs(rough / exact - 1)
