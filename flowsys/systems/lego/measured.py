"""Accuracy and solvable length as observables of a stage-2 run: Monte-Carlo, evaluated after the fact."""

from collections.abc import Callable
from functools import partial

import numpy as np

from flowsys.system import Setup
from flowsys.systems.lego import groups
from flowsys.systems.lego.closed_forms import clip_level
from flowsys.systems.lego.feedforward import FeedForward


def layer_nonlinearity(setup: Setup, clip: str) -> FeedForward:
    """The feed-forward numbers of a setup."""
    return FeedForward(
        setup["bias"], setup["rho"], setup["q"], setup["activation"], setup["varpi"], clip,
        clip_level(setup["C_B"], setup["d"]), setup["clip_width"],
    )  # fmt: skip


def accuracies(setup: Setup, features, clip: str) -> dict[str, Callable[[np.ndarray], float]]:
    """Acc at L_test in three readings, and L_star, as functions of (α, β, γ, δ)."""

    def accuracy(y: np.ndarray, L: int, reading: str) -> float:
        from flowsys.systems.lego import lengths
        from flowsys.systems.lego.stage_2 import Scores

        return lengths.accuracy(
            Scores(*map(float, y)), features, groups.named(setup["group"]), L, setup["d"],
            layer_nonlinearity(setup, clip), reading=reading, n_steps=setup["n_steps"], size=setup["n_sequences"],
            seed=setup["seed"],
        )  # fmt: skip

    def longest(y: np.ndarray) -> float:
        from flowsys.systems.lego.lengths import L_star

        return L_star(lambda L: accuracy(y, L, "sampled"), setup["accuracy_target"], setup["L_max"])

    return {
        "accuracy": partial(accuracy, L=setup["L_test"], reading="sampled"),
        "accuracy_greedy": partial(accuracy, L=setup["L_test"], reading="greedy"),
        "accuracy_rollout": partial(accuracy, L=setup["L_test"], reading="rollout"),
        "L_star": longest,
    }
