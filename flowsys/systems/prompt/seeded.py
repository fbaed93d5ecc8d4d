"""SGD (Algorithm 1) on several seeds, against descent on the exact population with the same step.

SGD differs from the flow by its step, by its short prompts and by its random batches. Setting it against full-batch
descent with the same step leaves the last two: the mean over seeds shows the bias of short prompts, and with endless
prompts the spread over seeds is the noise of batches. Training starts at W = 0.

On the symmetric subspace every task has the same gradient of a, b, H, so batches move these only through the spread
they cause over patterns, to second order; the entries of W themselves feel them to first order.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import t as student

from flowsys.runs.training import train
from flowsys.system import Setup

N_SEEDS = 8
RATE = 2.0
END = 200.0

Sizes = tuple[tuple[str, Any], ...]


def sizes_of(setup: Setup) -> Sizes:
    """What SGD from W = 0 depends on besides its batches; another `seed` means N_SEEDS other seeds."""
    return (*((name, setup[name]) for name in ("M", "K", "alpha")), ("seed", N_SEEDS * setup["seed"]))


def variables(K: int) -> tuple[str, ...]:
    """The names of a, b, H."""
    return ("a", "b", *(f"H_{i}{k}" for i in range(1, K + 1) for k in range(1, K + 1)))


def _trained(sizes: Sizes, variant: str, names: tuple[str, ...], seeds: int | None, **more: Any) -> np.ndarray:
    from flowsys.systems.prompt import SYSTEM

    setup = SYSTEM.setup(**dict(sizes), learning_rate=RATE, xi=0.0, **more)
    steps = round(END / RATE)
    run = train(SYSTEM, setup, variant=variant, steps=steps, records=1, observe=names, seeds=seeds)
    return np.array([run[name][-1] for name in names])


@lru_cache(maxsize=32)
def sgd(sizes: Sizes, l_tr: float, batch_size: int) -> dict[str, np.ndarray]:
    """a, b, H, the attention p and the spread of A_ii over patterns at t = END, each (N_SEEDS,)."""
    names = (*variables(dict(sizes)["K"]), "mass_same_same", "sd_A_s")
    found = _trained(sizes, "sgd_scores", names, N_SEEDS, l_tr=l_tr, batch_size=batch_size)
    return dict(zip(names, found))


@lru_cache(maxsize=32)
def full_batches(sizes: Sizes) -> dict[str, float]:
    """a, b, H of descent on the exact population at t = END."""
    names = variables(dict(sizes)["K"])
    return dict(zip(names, _trained(sizes, "symmetric", names, None).tolist()))


def bias(sizes: Sizes, name: str, l_tr: float, batch_size: int) -> tuple[float, float]:
    """Mean over seeds of SGD minus full batches, and its standard error."""
    deviation = sgd(sizes, l_tr, batch_size)[name] - full_batches(sizes)[name]
    return float(deviation.mean()), float(deviation.std(ddof=1) / np.sqrt(N_SEEDS))


def most_standard_errors(n: int) -> float:
    """What the largest of n deviations exceeds in 1 % of all cases, were they independent and of mean 0."""
    return round(float(student.ppf(1 - 0.005 / n, N_SEEDS - 1)), 1)
