"""The score flow written out for one small size: every prompt of every cycle, every frame entry of W.

What the automatic lumping works on: (2M + K)(M + K) coordinates, all of them direct.
"""

from collections.abc import Callable

import jax
import numpy as np
import sympy as sp

from flowsys.symbolic import primitives
from flowsys.symbolic.assemble import symbol
from flowsys.symbolic.found import Enumerated

from . import scores
from .model import score_losses
from .observations import score_names
from .orbits import Orbits
from .prompts import population
from .tasks import all_cycle_tasks


def unlumped_field(M: int, K: int, alpha: float) -> Callable[[np.ndarray], np.ndarray]:
    """The flow of all frame entries over all cycles, as a NumPy function of flat states."""
    prompts = population(all_cycle_tasks(M, K), alpha)
    rhs = jax.jit(scores.field)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rhs(0.0, np.asarray(y, dtype=float).reshape(2 * M + K, M + K), prompts)).ravel()

    return evaluate


def symmetric_of(y: np.ndarray, M: int, K: int) -> np.ndarray:
    """(a, b, H) of a flat state, in the order of the stated program."""
    with jax.enable_x64(True):
        a, b, H = scores.symmetric_part(np.asarray(y, dtype=float).reshape(2 * M + K, M + K), K)
        return np.concatenate([[a, b], np.ravel(H)])


def generic_start(M: int, K: int, seed: int = 0) -> np.ndarray:
    """A start that only relabelling leaves alone: every orbit has a value of its own."""
    draw = np.random.default_rng(seed).uniform(0.1, 1.0, 4 + 3 * K + K**2)
    C, D, E = draw[4 : 4 + 3 * K].reshape(3, K)
    with jax.enable_x64(True):
        mean = Orbits(*draw[:4], C, D, E, draw[4 + 3 * K :].reshape(K, K))
        return np.asarray(scores.scores_from_orbits(mean, M)).ravel()


def enumerated(M: int, K: int) -> Enumerated:
    """Coordinates and the symbolic loss, prompt by prompt, with alpha as a symbol."""
    alpha = symbol("alpha")
    prompts = population(all_cycle_tasks(M, K), 0.75)
    is_matching = prompts.counts > 0.5 / K
    names = score_names(M, K)

    def loss(flat: np.ndarray) -> list[sp.Expr]:
        weights = np.where(is_matching, alpha / K, (1 - alpha) / (K * (M - 1)))
        losses = score_losses(primitives, flat.reshape(2 * M + K, M + K), prompts._replace(counts=weights))
        return [value / len(losses) for value in losses]

    return Enumerated(names, np.arange(len(names)), (), loss)
