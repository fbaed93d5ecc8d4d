"""What a stage-2 run is measured by after the fact: how fast it moves, attention at another length, accuracy.

Rates are the program's own field; attention at (L_test, ell_test) is a closed form in the scores; accuracy and
solvable length are Monte-Carlo.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import Arguments, vector_field
from flowsys.system import Setup
from flowsys.systems.lego import groups
from flowsys.systems.lego.closed_forms import clip_level
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.vocabulary import whole_bias


def layer_nonlinearity(setup: Setup, clip: str) -> FeedForward:
    """The feed-forward numbers of a setup."""
    return FeedForward(
        whole_bias(setup), setup["rho"], setup["q"], setup["activation"], setup["varpi"], clip,
        clip_level(setup["C_B"], setup["d"]), setup["clip_width"], setup["F_0"],
    )  # fmt: skip


def score_rates(text: Program, numbers: Arguments) -> dict[str, Callable[[np.ndarray], float]]:
    """dα/dτ and dγ/dτ as functions of (α, β, γ, δ)."""
    velocity = vector_field(text, "exact", np)
    rate = lambda y, score: float(velocity(y, numbers)[text.state.index(score)])
    return {f"{score}_rate": partial(rate, score=score) for score in ("alpha", "gamma")}


def tested_attention(setup: Setup) -> dict[str, Callable[[np.ndarray], float]]:
    """ε^{L,ℓ} and Δ^{L,ℓ} at L = L_test, ℓ = ell_test, as functions of (α, β, γ, δ)."""

    def at_test(y: np.ndarray, measure: str) -> float:
        import jax

        from flowsys.model import ops
        from flowsys.systems.lego import stage_2

        with jax.enable_x64(True):
            scores = stage_2.Scores(*map(float, y))
            return float(getattr(stage_2, measure)(ops, scores, float(setup["L_test"]), float(setup["ell_test"])))

    return {"eps_test": partial(at_test, measure="eps_attention"), "gap_test": partial(at_test, measure="gap")}


def accuracies(setup: Setup, features, clip: str) -> dict[str, Callable[[np.ndarray], float]]:
    """p(right value) at ell_test, Acc at L_test in three readings, and L_star, as functions of (α, β, γ, δ)."""

    def of_model(measure: str, y: np.ndarray, L: int, **options):
        from flowsys.systems.lego import lengths
        from flowsys.systems.lego.stage_2 import Scores

        return getattr(lengths, measure)(
            Scores(*map(float, y)), features, groups.named(setup["group"]), L, setup["d"],
            layer_nonlinearity(setup, clip), size=setup["n_sequences"], seed=setup["seed"], **options,
        )  # fmt: skip

    def accuracy(y: np.ndarray, L: int, reading: str) -> float:
        return of_model("accuracy", y, L, reading=reading, n_steps=setup["n_steps"])

    def p_test(y: np.ndarray) -> float:
        return of_model("step_accuracies", y, setup["L_test"], at=[setup["ell_test"]])["sampled"][0]

    def longest(y: np.ndarray) -> float:
        from flowsys.systems.lego.lengths import L_star

        most = min(setup["L_max"], setup["n_x"] - 1)  # a chain of length L names L + 1 variables
        return L_star(lambda L: accuracy(y, L, "sampled"), setup["accuracy_target"], most)

    return {
        "p_test": p_test,
        "accuracy": partial(accuracy, L=setup["L_test"], reading="sampled"),
        "inaccuracy": partial(accuracy, L=setup["L_test"], reading="missed"),
        "accuracy_greedy": partial(accuracy, L=setup["L_test"], reading="greedy"),
        "accuracy_rollout": partial(accuracy, L=setup["L_test"], reading="rollout"),
        "L_star": longest,
    }
