"""The prompt system's ladder: the engine's rungs at few patterns, and what stands for width here.

That is the size ξ of the random start (L2 → L3) and the length l_tr of the prompts (L0). SGD (Algorithm 1) differs from
the flow by its step, by its short prompts and by its random batches; set against descent on the exact population with
the same step, short prompts shift the mean over seeds like 1/l_tr. With endless prompts batches move a, b, H only
through the spread they cause over patterns, to second order; the spread itself falls like batch_size^-1/2.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.stats import t as student

from flowsys.ladder import Rung
from flowsys.model.rungs import rungs
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.derive import small
from flowsys.systems.prompt.limits import population_program

END, RATE, N_SEEDS = 200.0, 2.0, 8
STARTS = (1e-1, 3e-2, 1e-2, 3e-3)
LENGTHS = (20, 40, 80, 160)
BATCHES = (1, 4, 16)  # in units of K M, the least batch


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure, symmetric subspace (exact from W = 0, then with a random start), prompts, surrogate."""
    few, n = small(setup, xi=setup["xi"]), 2 + setup["K"] ** 2
    return [
        *rungs(SYSTEM, few),
        Rung("L2", "L3", f"a, b, H at t = {END:g} from a random start of size xi, M = {few['M']}",
             partial(start_error, few), "xi", STARTS, 1.0, 0.15),
        Rung("L2", "L3 at xi = 0", f"every frame entry of W at t = {END:g} from W = 0, M = {few['M']}, rtol 1e-10",
             partial(symmetry_error, few), tolerance=1e-9),
        Rung("L0", "L0 at l_tr = inf", f"a of SGD at t = {END:g}, mean of {N_SEEDS} seeds, prompts of l_tr examples",
             partial(prompt_error, setup), "l_tr", LENGTHS, -1.0, 0.1),
        Rung("L0", "symmetric W", f"spread of A_ii over patterns at t = {END:g}, l_tr = inf, mean of {N_SEEDS} seeds",
             partial(spread, setup), "batch_size", tuple(n * setup["K"] * setup["M"] for n in BATCHES), -0.5, 0.1),
        Rung("L0", "full batches", f"a, b, H at t = {END:g}, l_tr = inf, in standard errors over {N_SEEDS} seeds, "
             f"largest of {n} (99 % of Student's t)", partial(excess_over_noise, setup),
             tolerance=most_standard_errors(n)),
        Rung("L3", "L4", "largest deficit of the surrogate's p over t = 1 to 1e7", partial(surrogate_error, setup)),
    ]  # fmt: skip


def variables(setup: Setup) -> tuple[str, ...]:
    """The names of a, b, H."""
    return population_program(setup["K"]).state


def _flow(setup: Setup, level: str, variant: str | None = None, **changes: float):
    observe = variables(setup)
    return solve(SYSTEM, setup.replace(**changes), level=level, variant=variant, at=[END], observe=observe, rtol=1e-10)


def start_error(setup: Setup, xi: float) -> float:
    """|L2 - L3| of a, b, H: how much of a random start is remembered."""
    finite, limit = _flow(setup, "L2", xi=xi), _flow(setup, "L3")
    return max(abs(finite[name][0] - limit[name][0]) for name in variables(setup))


def symmetry_error(setup: Setup, _) -> float:
    """|L2 - L3| from W = 0, largest over all frame entries."""
    finite, limit = _flow(setup, "L2", xi=0.0).blocks(END)["W"], _flow(setup, "L3", "found").blocks(END)["W"]
    return float(np.abs(finite - limit).max())


@lru_cache(maxsize=32)
def descended(variant: str, seeds: int | None, **parameters: Any) -> dict[str, np.ndarray]:
    """a, b, H, and of SGD the attention p and the spread of A_ii over patterns, at t = END of descent from W = 0.

    On M-dimensional patterns, which is cheapest and all the same; one number a seed.
    """
    setup = SYSTEM.setup(**parameters, learning_rate=RATE, xi=0.0, d_X=parameters["M"])
    names = variables(setup) + (("mass_same_same", "sd_A_s") if variant == "sgd" else ())
    run = train(SYSTEM, setup, variant=variant, steps=round(END / RATE), records=1, observe=names, seeds=seeds)
    return {name: np.asarray(run[name][-1]) for name in names}


def _sizes(setup: Setup) -> dict[str, Any]:
    """What descent from W = 0 depends on besides its batches; another `seed` means N_SEEDS other seeds."""
    return {**{name: setup[name] for name in ("M", "K", "alpha")}, "seed": N_SEEDS * setup["seed"]}


def bias(setup: Setup, name: str, l_tr: float) -> tuple[float, float]:
    """Mean over seeds of SGD minus descent on the exact population, and its standard error."""
    of_batches = descended("sgd", N_SEEDS, **_sizes(setup), l_tr=l_tr, batch_size=setup["batch_size"])
    deviation = of_batches[name] - descended("symmetric", None, **_sizes(setup))[name]
    return float(deviation.mean()), float(deviation.std(ddof=1) / np.sqrt(N_SEEDS))


def most_standard_errors(n: int) -> float:
    """What the largest of n deviations exceeds in 1 % of all cases, were they independent and of mean 0."""
    return round(float(student.ppf(1 - 0.005 / n, N_SEEDS - 1)), 1)


def prompt_error(setup: Setup, l_tr: float) -> float:
    """|mean over seeds of a(SGD) - a(full batches)|: the bias of finite prompts."""
    return abs(bias(setup, "a", l_tr)[0])


def spread(setup: Setup, batch_size: float) -> float:
    """Standard deviation of A_ii over patterns, at endless prompts: what random batches do to W."""
    found = descended("sgd", N_SEEDS, **_sizes(setup), l_tr=np.inf, batch_size=int(batch_size))
    return float(found["sd_A_s"].mean())


def excess_over_noise(setup: Setup, _) -> float:
    """|mean over seeds - full batches| in standard errors, largest of a, b, H, at endless prompts."""
    found = [bias(setup, name, np.inf) for name in variables(setup)]
    return max(abs(mean) / error for mean, error in found)


def surrogate_error(setup: Setup, _) -> float:
    """sup_t p(L3) - p(L4): the surrogate is a lower bound."""
    times = [float(t) for t in np.geomspace(1, 1e7, 57)]
    exact, paper = (solve(SYSTEM, setup, level=level, at=times, observe=("p_min",)) for level in ("L3", "L4"))
    return float((exact["p_min"] - paper["p_min"]).max())
