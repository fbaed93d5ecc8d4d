"""Algorithms 1 and 2 on the finite model: which weights each stage trains, on which loss, and until when.

A stage is prepared from the weights that enter it, because self-training labels its data with the previous model.
Gradient descent moves only the weights the stage trains; the others stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.lego import transformer
from flowsys.systems.lego.data import Sentences, Vocabulary, population
from flowsys.systems.lego.feedforward import FeedForward

FEEDFORWARD = ("W_4", "W_5")
ATTENTION = ("Q_43", "Q_44")
CHUNK = 200  # steps compiled together; descent looks between chunks whether it has ended


@dataclass(frozen=True)
class Stage:
    """`prepare(weights)` gives the stage's loss; it ends after n_steps, or once the loss is at most `threshold`."""

    name: str
    trains: tuple[str, ...]
    prepare: Callable
    n_steps: int
    threshold: float = 0.0


def one_step_stage(vocabulary: Vocabulary, feedforward: FeedForward, n_steps: int, heads=FEEDFORWARD) -> Stage:
    """Stage 1 of both algorithms: the feed-forward layer on Loss¹ at Q = 0."""
    sentences = population(vocabulary.group, vocabulary.n_x, 1)
    step = lambda weights, head: transformer.step_loss(weights, vocabulary, sentences, 1, head, feedforward)
    return Stage("stage_1", tuple(heads), lambda _: lambda weights: sum(step(weights, head) for head in heads), n_steps)


def attention_loss(vocabulary: Vocabulary, sentences: Sentences, trained_steps, feedforward: FeedForward):
    """Σ over the trained ℓ of Loss_5^{L,ℓ}, as a function of the weights."""
    return lambda weights: sum(
        transformer.step_loss(weights, vocabulary, sentences, ell, "W_5", feedforward) for ell in trained_steps
    )


def algorithm_1(vocabulary: Vocabulary, feedforward: FeedForward, steps_1: int, steps_2: int) -> list[Stage]:
    """Simply transitive actions: Loss¹ on W, then Loss_5^{2,1} + Loss_5^{2,2} on Q."""
    two_steps = attention_loss(vocabulary, population(vocabulary.group, vocabulary.n_x, 2), (1, 2), feedforward)
    return [
        one_step_stage(vocabulary, feedforward, steps_1),
        Stage("stage_2", ATTENTION, lambda _: two_steps, steps_2),
    ]


def own_labels(weights: dict, vocabulary: Vocabulary, inputs: Sentences, trained_steps, feedforward) -> Sentences:
    """What a round trains on: the greedy model's own answers up to its last step, beyond L = 2 (Definition 5.1)."""
    if inputs.L == 2:
        return inputs
    return transformer.greedy_values(weights, vocabulary, inputs, max(trained_steps), feedforward)


def round_stage(
    vocabulary: Vocabulary, inputs: Sentences, trained_steps, feedforward: FeedForward, n_steps: int, threshold: float,
    *, is_mean: bool = False,
) -> Stage:  # fmt: skip
    """A round of Algorithm 2 at the length of its inputs: the sum, or the mean, of the trained steps' losses on Q."""
    divisor = len(trained_steps) if is_mean else 1

    def prepare(weights):
        labelled = own_labels(weights, vocabulary, inputs, trained_steps, feedforward)
        summed = attention_loss(vocabulary, labelled, trained_steps, feedforward)
        return lambda weights: summed(weights) / divisor

    return Stage(f"L={inputs.L}", ATTENTION, prepare, n_steps, threshold)


def algorithm_2(
    vocabulary: Vocabulary,
    feedforward: FeedForward,
    steps_1: int,
    steps_2: int,
    sentences: dict[int, Sentences],
    threshold: float,
    *,
    all_steps: bool = False,
) -> list[Stage]:
    """Symmetry actions: Loss¹ on W, Loss_5^{2,2} on Q, then self-labelled Loss_5^{L,2} at the lengths of `sentences`.

    `sentences[L]` are the inputs of self-training at length L; their answers are replaced by the greedy model's own.
    `all_steps` trains on the mean over ℓ = 1 … L instead of ℓ = 2.
    """
    every = population(vocabulary.group, vocabulary.n_x, 2)
    stages = [
        one_step_stage(vocabulary, feedforward, steps_1),
        round_stage(vocabulary, every, (2,), feedforward, steps_2, threshold),
    ]
    for L, inputs in sentences.items():
        trained = tuple(range(1, L + 1)) if all_steps else (2,)
        stages.append(round_stage(vocabulary, inputs, trained, feedforward, steps_2, threshold, is_mean=True))
    return stages


def descend(stage: Stage, weights: dict, learning_rate: float) -> tuple[dict, np.ndarray]:
    """Gradient descent through one stage: the weights at its end, and the loss before every step taken."""
    if not learning_rate > 0:
        raise ValueError(f"learning_rate = {learning_rate}, but a positive number is needed.")
    with jax.enable_x64(True):
        loss = stage.prepare(weights)
        fixed = {name: value for name, value in weights.items() if name not in stage.trains}
        value_and_slope = jax.value_and_grad(lambda trained: loss({**fixed, **trained}))

        def step(carry, _):
            trained, is_running = carry
            value, slope = value_and_slope(trained)
            is_running = is_running & (value > stage.threshold)
            rate = jnp.where(is_running, learning_rate, 0.0)
            return (jax.tree.map(lambda w, s: w - rate * s, trained, slope), is_running), (value, is_running)

        run = jax.jit(lambda carry, n: jax.lax.scan(step, carry, length=n), static_argnums=1)
        carry = ({name: jnp.asarray(weights[name]) for name in stage.trains}, jnp.array(True))
        losses, left = [], stage.n_steps
        while left and carry[1]:
            carry, (values, taken) = run(carry, min(CHUNK, left))
            losses.append(np.asarray(values)[np.asarray(taken)])
            left -= min(CHUNK, left)
        return {**fixed, **carry[0]}, np.concatenate(losses)
