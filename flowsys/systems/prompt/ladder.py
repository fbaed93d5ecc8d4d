"""The prompt system's ladder: what is compared with what, and at which rate the theory says it must close.

What stands for width here is the size ξ of the random start (L2 → L3) and the length l_tr of the prompts (L0).
Finite levels run at M = 5, where all 24 cycles are written out; SGD runs at the sizes asked for.

SGD has rungs of its own (`seeded`): short prompts shift the mean over seeds like 1/l_tr; with endless prompts the
spread of W over patterns falls like batch_size^-1/2, and the mean of a, b, H may not stick out of the noise over seeds.
"""

from functools import lru_cache, partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.prompt import scores, seeded, transformer
from flowsys.systems.prompt.finite import initial_weights
from flowsys.systems.prompt.orbits import SymmetricScores, orbits_from_zero
from flowsys.systems.prompt.seeded import END, N_SEEDS, variables

SMALL = {"M": 5, "d_X": 5, "n_tasks": float("inf"), "M_test": 5, "batch_size": None}
RATES = (20.0, 10.0, 5.0, 2.5)
STARTS = (1e-1, 3e-2, 1e-2, 3e-3)
LENGTHS = (20, 40, 80, 160)
BATCHES = (1, 4, 16)  # in units of K M, the least batch


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure, symmetric subspace (exact from W = 0, then with a random start), prompts, surrogate."""
    return [
        Rung("L0", "L1", f"full-batch descent on W at t = {END:g}, M = 5", partial(descent_error, setup),
             "learning_rate", RATES, 1.0, 0.1),
        Rung("L1", "L2", f"every frame entry of W at t = {END:g} from the same random W, M = 5, rtol 1e-10",
             partial(closure_error, setup), tolerance=1e-9),
        Rung("L2", "L3", f"a, b, H at t = {END:g} from a random start of size xi, M = 5", partial(start_error, setup),
             "xi", STARTS, 1.0, 0.15),
        Rung("L2", "L3 at xi = 0", f"every frame entry of W at t = {END:g} from W = 0, M = 5, rtol 1e-10",
             partial(symmetry_error, setup), tolerance=1e-9),
        Rung("L0", "L0 at l_tr = inf", f"a of SGD at t = {END:g}, mean of {N_SEEDS} seeds, prompts of l_tr examples",
             partial(prompt_error, setup), "l_tr", LENGTHS, -1.0, 0.1),
        Rung("L0", "symmetric W", f"spread of A_ii over patterns at t = {END:g}, l_tr = inf, mean of {N_SEEDS} seeds",
             partial(spread, setup), "batch_size", tuple(n * setup["K"] * setup["M"] for n in BATCHES), -0.5, 0.1),
        Rung("L0", "full batches", f"a, b, H at t = {END:g}, l_tr = inf, in standard errors over {N_SEEDS} seeds, "
             f"largest of {2 + setup['K'] ** 2} (99 % of Student's t)", partial(excess_over_noise, setup),
             tolerance=seeded.most_standard_errors(2 + setup["K"] ** 2)),
        Rung("L3", "L4", "largest deficit of the surrogate's p over t = 1 to 1e7", partial(surrogate_error, setup)),
    ]  # fmt: skip


def _system():
    from flowsys.systems.prompt import SYSTEM

    return SYSTEM


def _with(setup: Setup, **changes) -> Setup:
    return _system().setup(**(dict(setup) | changes))


def _flow(level: str, setup: Setup, xi: float) -> tuple[np.ndarray, np.ndarray]:
    """(a, b, H) and all frame entries of W at t = END, at M = 5."""
    return _small_flow(level, xi, setup["K"], setup["alpha"])


@lru_cache(maxsize=16)
def _small_flow(level: str, xi: float, K: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    import jax

    setup = _system().setup(**SMALL, K=K, alpha=alpha, xi=xi)
    M, D = setup["M"], 2 * setup["d_X"] + K
    run = solve(_system(), setup, level=level, at=[END], observe=variables(K), rtol=1e-10)
    found, y = np.array([run[name][0] for name in variables(K)]), run.states[0]
    with jax.enable_x64(True):
        if level == "L1":
            entries = transformer.scores_of(y.reshape(D, D), initial_weights(setup, setup["seed"])[1])
        elif level == "L2":
            entries = y.reshape(2 * M + K, M + K)
        else:
            symmetric = SymmetricScores(y[0], y[1], y[2:].reshape(K, K))
            entries = scores.scores_from_orbits(orbits_from_zero(symmetric, M), M)
    return found, np.asarray(entries)


def descent_error(setup: Setup, learning_rate: float) -> float:
    """|L0 - L1| of a, b, H from the same random weights."""
    K = setup["K"]
    small = _with(setup, **SMALL, learning_rate=learning_rate)
    trained = train(_system(), small, variant="full_batch", steps=round(END / learning_rate), records=1,
                    observe=variables(K))  # fmt: skip
    found = np.array([trained[name][-1] for name in variables(K)])
    return float(np.abs(found - _flow("L1", setup, setup["xi"])[0]).max())


def closure_error(setup: Setup, _) -> float:
    """|L1 - L2|, largest over all frame entries."""
    on_weights, on_scores = (_flow(level, setup, setup["xi"])[1] for level in ("L1", "L2"))
    return float(np.abs(on_weights - on_scores).max())


def symmetry_error(setup: Setup, _) -> float:
    """|L2 - L3| from W = 0, largest over all frame entries."""
    return float(np.abs(_flow("L2", setup, 0.0)[1] - _flow("L3", setup, 0.0)[1]).max())


def start_error(setup: Setup, xi: float) -> float:
    """|L2 - L3| of a, b, H: how much of a random start is remembered."""
    return float(np.abs(_flow("L2", setup, xi)[0] - _flow("L3", setup, 0.0)[0]).max())


def prompt_error(setup: Setup, l_tr: float) -> float:
    """|mean over seeds of a(SGD) - a(full batches)|: the bias of finite prompts."""
    return abs(seeded.bias(seeded.sizes_of(setup), "a", l_tr, setup["batch_size"])[0])


def spread(setup: Setup, batch_size: float) -> float:
    """Standard deviation of A_ii over patterns, at endless prompts: what random batches do to W."""
    return float(seeded.sgd(seeded.sizes_of(setup), np.inf, int(batch_size))["sd_A_s"].mean())


def excess_over_noise(setup: Setup, _) -> float:
    """|mean over seeds - full batches| in standard errors, largest of a, b, H, at endless prompts."""
    found = [seeded.bias(seeded.sizes_of(setup), x, np.inf, setup["batch_size"]) for x in variables(setup["K"])]
    return max(abs(mean) / error for mean, error in found)


def surrogate_error(setup: Setup, _) -> float:
    """sup_t p(L3) - p(L4): the surrogate is a lower bound."""
    times = [float(t) for t in np.geomspace(1, 1e7, 57)]
    exact, paper = (solve(_system(), setup, level=level, at=times, observe=("p_min",)) for level in ("L3", "L4"))
    return float((exact["p_min"] - paper["p_min"]).max())
