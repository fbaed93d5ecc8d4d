"""L0 of Algorithm 2: gradient descent on Q in rounds of doubled length, each on labels that its predecessor wrote.

As in the limit (`rounds`) the last round is the one shown, and it starts at the time that the earlier ones took. A
round at L = 2 reads every sentence; longer ones read a fixed sample. The layer is the ideal one (features = ideal), or
what gradient descent on Loss_5¹ makes of random weights until t = T_1 (features = trained).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.runs.training import Descent, Training
from flowsys.system import Setup
from flowsys.system.problem import Stage
from flowsys.systems.lego import algorithms, data, finite_attention, finite_layer, stage_2
from flowsys.systems.lego.data import Sentences, Vocabulary
from flowsys.systems.lego.events import stage_2_events
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.limits import trained_steps

OBSERVED = (
    "alpha", "beta", "gamma", "delta", "alpha_minus_gamma", "eps_attention", "gap", "log_eps", "eps_22", "gap_22",
    "loss", "log_loss", "spread", "label_accuracy",
)  # fmt: skip
MOST_STEPS = 100_000  # of an earlier round


class SelfTraining(NamedTuple):
    """What the rounds share: the model, which steps ℓ of which lengths they train on, and the step on Q."""

    vocabulary: Vocabulary
    feedforward: FeedForward
    setup: Setup

    @property
    def rate(self) -> float:
        """The step on Q, in the time τ = t / n_x."""
        return self.setup["learning_rate"] * self.vocabulary.n_x

    def inputs(self, L: int) -> Sentences:
        group, n_x = self.vocabulary.group, self.vocabulary.n_x
        if L == 2:
            return data.population(group, n_x, 2, variables_read=3)
        rng = np.random.default_rng((self.setup["seed"], L))
        return data.sample(rng, group, n_x, L, self.setup["n_samples"])

    def round(self, L: int) -> algorithms.Stage:
        steps, is_mean = trained_steps(self.setup, "algorithm_2", L), self.setup["trained_steps"] == "all"
        return algorithms.round_stage(
            self.vocabulary, self.inputs(L), steps, self.feedforward, MOST_STEPS, self.setup["loss_target"],
            is_mean=is_mean,
        )  # fmt: skip

    def label_accuracy(self, weights: dict, L: int) -> float:
        """The share of right labels among those that the weights write for the round at length L."""
        true, steps = self.inputs(L), trained_steps(self.setup, "algorithm_2", L)
        labelled = algorithms.own_labels(weights, self.vocabulary, true, steps, self.feedforward)
        return float((labelled.values == true.values)[:, 1 : max(steps) + 1].mean())

    def through(self, weights: dict, L: int) -> tuple[dict, int]:
        """The weights where the round at length L has brought its loss to loss_target, and the steps it took."""
        end, losses = algorithms.descend(self.round(L), weights, self.rate)
        if len(losses) == MOST_STEPS:
            floor, right = self.vocabulary.d ** (1 - self.setup["C_B"]), self.label_accuracy(weights, L)
            raise InputError(
                f"loss_target = {self.setup['loss_target']:g} is not reached by the round at L = {L} of algorithm_2 in "
                f"{MOST_STEPS} steps ({100 * right:.1f} % of its self-labels are right; the clip leaves a loss of "
                f"about d^(1 - C_B) = {floor:.2g})."
            )
        return end, len(losses)

    def step(self, loss: Callable, weights: dict, rate) -> dict:
        blocks = {name: weights[name] for name in algorithms.ATTENTION}
        slopes = jax.grad(lambda blocks: loss({**weights, **blocks}))(blocks)
        return weights | {name: blocks[name] - rate * slopes[name] for name in blocks}

    def observe(self, loss: Callable, right: float, L: int, weights: dict) -> dict:
        blocks = jnp.stack([weights[name] for name in algorithms.ATTENTION])
        scores, spread = finite_attention.scores_of(blocks, self.vocabulary.n_x)
        eps, value = stage_2.eps_attention(ops, scores, L, 2), loss(weights)
        return scores._asdict() | {
            "alpha_minus_gamma": scores.alpha - scores.gamma,
            "eps_attention": eps, "gap": stage_2.gap(ops, scores, L, 2), "log_eps": jnp.log(eps),
            "eps_22": stage_2.eps_attention(ops, scores, 2, 2), "gap_22": stage_2.gap(ops, scores, 2, 2),
            "loss": value, "log_loss": jnp.log(value), "spread": spread, "label_accuracy": jnp.asarray(right),
        }  # fmt: skip


def self_training(setup: Setup, initial: dict, seeds: int | None) -> Training:
    """The last round of Algorithm 2, from the weights that stage 1 and the earlier rounds leave."""
    L = setup["L"]
    if seeds is not None:
        raise InputError(f"seeds = {seeds} is not allowed in algorithm_2: every seed labels its own sentences.")
    if L & (L - 1):
        raise InputError(f"L = {L} is not allowed in algorithm_2: it must be a power of 2.")
    vocabulary, is_trained = finite_layer.vocabulary_of(setup), setup["features"] == "trained"
    kind = finite_layer.nonlinearity_of(setup, None if is_trained else "none")
    rounds = SelfTraining(vocabulary, kind.with_numbers(finite_attention.numbers_of(setup, (1, 2))), setup)
    weights, time = initial, 0.0
    if is_trained:
        steps = round(setup["T_1"] / setup["learning_rate"])
        layer = algorithms.one_step_stage(vocabulary, rounds.feedforward, steps, heads=("W_5",))
        weights, _ = algorithms.descend(layer, weights, setup["learning_rate"])
    for k in range(1, L.bit_length() - 1):
        weights, steps = rounds.through(weights, 2**k)
        time += steps * setup["learning_rate"]
    loss, right = rounds.round(L).prepare(weights), rounds.label_accuracy(weights, L)
    descent = Descent(
        lambda weights, _, learning_rate: rounds.step(loss, weights, learning_rate * vocabulary.n_x),
        lambda weights, _: rounds.observe(loss, right, L, weights),
        OBSERVED,
    )
    return Training(
        descent=descent,
        initial=weights,
        stages=(Stage(f"L={L}", ()),),
        events=tuple(event for event in stage_2_events(setup) if event.observable in OBSERVED),
        default_steps=2000,
        start=time,
    )
