"""The prompt system's ladder: the engine's rungs at few patterns, and what stands for width here.

That is the size ξ of the random start (L2 → L3) and the length l_tr of the prompts (L0). SGD (Algorithm 1) differs from
the flow by its step, by its short prompts and by its random batches; set against descent on the exact population with
the same step, short prompts shift the mean over seeds like 1/l_tr. With endless prompts batches move a, b, H only
through the spread they cause over patterns, which falls like batch_size^-1/2.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np

from flowsys.ladder import Rung
from flowsys.model.rungs import limit_error, rungs, surrogate_error
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.derive import small

END, RATE, N_SEEDS = 200.0, 2.0, 8
STARTS = (1e-1, 3e-2, 1e-2, 3e-3)
LENGTHS = (20, 40, 80, 160)
BATCHES = (1, 4, 16)  # in units of K M, the least batch


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure, symmetric subspace (with a random start, then exact from W = 0), prompts, surrogate."""
    few = small(setup)
    from_random = lambda xi: limit_error(SYSTEM, few.replace(xi=xi), END, 1, rtol=1e-10)
    sizes = {name: setup[name] for name in ("M", "K", "alpha")} | {"seed": N_SEEDS * setup["seed"]}
    entries = f"every frame entry of W at t = {END:g}, M = {few['M']}, rtol 1e-10, from "
    of_seeds = f"at t = {END:g}, mean of {N_SEEDS} seeds, "
    return [
        *rungs(SYSTEM, small(setup, xi=setup["xi"])),
        Rung("L2", "L3", f"{entries}a random start of size xi", from_random, "xi", STARTS, 1.0, 0.15),
        Rung("L2", "L3 at xi = 0", f"{entries}W = 0", lambda _: from_random(0.0), tolerance=1e-9),
        Rung("L0", "L0 at l_tr = inf", f"a of SGD {of_seeds}prompts of l_tr examples",
             partial(prompt_error, sizes, setup["batch_size"]), "l_tr", LENGTHS, -1.0, 0.1),
        Rung("L0", "symmetric W", f"spread of A_ii over patterns {of_seeds}l_tr = inf",
             partial(spread, sizes), "batch_size", tuple(n * setup["K"] * setup["M"] for n in BATCHES), -0.5, 0.1),
        Rung("L3", "L4", "T_2 of the surrogate, relative", lambda _: surrogate_error(SYSTEM, setup, "T_2")),
    ]  # fmt: skip


@lru_cache(maxsize=32)
def descended(variant: str, seeds: int | None, **parameters: Any) -> dict[str, np.ndarray]:
    """a, and of SGD the attention p and the spread of A_ii over patterns, at t = END of descent from W = 0.

    On M-dimensional patterns, which is cheapest and all the same; one number a seed.
    """
    setup = SYSTEM.setup(**parameters, learning_rate=RATE, xi=0.0, d_X=parameters["M"])
    names = ("a", "mass_same_same", "sd_A_s") if variant == "sgd" else ("a",)
    run = train(SYSTEM, setup, variant=variant, steps=round(END / RATE), records=1, observe=names, seeds=seeds)
    return {name: np.asarray(run[name][-1]) for name in names}


def prompt_error(sizes: dict[str, Any], batch_size: int, l_tr: float) -> float:
    """|mean over seeds of a(SGD) - a(descent on the exact population)|: the bias of finite prompts."""
    of_batches = descended("sgd", N_SEEDS, **sizes, l_tr=l_tr, batch_size=batch_size)
    return abs(float((of_batches["a"] - descended("symmetric", None, **sizes)["a"]).mean()))


def spread(sizes: dict[str, Any], batch_size: float) -> float:
    """Standard deviation of A_ii over patterns, at endless prompts: what random batches do to W."""
    found = descended("sgd", N_SEEDS, **sizes, l_tr=np.inf, batch_size=int(batch_size))
    return float(found["sd_A_s"].mean())
