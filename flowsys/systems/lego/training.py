"""L0: gradient descent on the weights of the finite model, stage by stage.

    stage_1        W_5 on Loss_5¹, from random weights
    stage_2        Q_43 and Q_44 on Loss_5^{2,1} + Loss_5^{2,2}, over the ideal layer
    algorithm_1    W_5 until t = T_1, then Q over what was learnt
    algorithm_2    Q on Loss_5^{L,2} at L = 2, 4, …, on labels of its own (`self_trained`)

In stage 2 time is τ = t / n_x: the step on Q is learning_rate · n_x.
"""

from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.runs.training import Descent, Training
from flowsys.system import Setup
from flowsys.system.problem import Stage
from flowsys.systems.lego import data, finite_attention, finite_layer, groups, layer_observed, transformer
from flowsys.systems.lego.events import stage_1_events, stage_2_events
from flowsys.systems.lego.layer_observed import Nonlinearity
from flowsys.systems.lego.limits import check_length, trained_steps
from flowsys.systems.lego.self_trained import self_training

SHARED = ("loss", "log_loss", "unsettled")


class Arguments(NamedTuple):
    """Numbers of both stages, and which of them trains (1 or 0)."""

    layer: layer_observed.Numbers
    attention: finite_attention.Numbers
    trains_layer: np.ndarray
    trains_attention: np.ndarray


@lru_cache(maxsize=16)
def descent(mode: str, group_name: str, n_x: int, m: int, kind: Nonlinearity) -> Descent:
    """One step on the weights a stage trains; kinks, if any, as they are."""
    vocabulary = data.Vocabulary(n_x, groups.named(group_name))
    layer = finite_layer.form("weights", group_name, n_x, m, kind)
    two_steps = data.population(vocabulary.group, n_x, 2, variables_read=2) if mode != "stage_1" else None

    def step_losses(weights, numbers: finite_attention.Numbers):
        feedforward = kind.with_numbers(numbers)
        one = lambda ell: transformer.step_loss(weights, vocabulary, two_steps, ell, "W_5", feedforward)
        return numbers.trains * jnp.stack([one(1), one(2)])

    def step(weights, arguments: Arguments, learning_rate):
        moved = dict(weights)
        if mode != "stage_2":
            slope = jax.grad(layer.loss)(weights["W_5"], arguments.layer)
            moved["W_5"] = weights["W_5"] - learning_rate * arguments.trains_layer * slope
        if mode != "stage_1":
            blocks = {name: weights[name] for name in ("Q_43", "Q_44")}
            loss = lambda blocks: step_losses({**weights, **blocks}, arguments.attention).sum()
            slopes, rate = jax.grad(loss)(blocks), n_x * learning_rate * arguments.trains_attention
            moved |= {name: weights[name] - rate * slopes[name] for name in blocks}
        return moved

    def observe(weights, arguments: Arguments):
        found, group = {}, vocabulary.group
        if mode != "stage_2":
            read = layer.read(weights["W_5"], arguments.layer)
            found |= layer_observed.observations(*read, group, arguments.layer)
        if mode != "stage_1":
            losses = step_losses(weights, arguments.attention)
            blocks = jnp.stack([weights["Q_43"], weights["Q_44"]])
            attention = finite_attention.observations(blocks, n_x, losses, arguments.attention)
            both = {name: jnp.where(arguments.trains_attention > 0, attention[name], found.get(name, 0.0))
                    for name in SHARED}  # fmt: skip
            found |= attention | both
        return found

    names = {"stage_1": layer_observed.OBSERVED, "stage_2": finite_attention.MEASURED}
    observables = names.get(mode) or (*(n for n in names["stage_1"] if n not in SHARED), *names["stage_2"])
    return Descent(step, observe, observables)


def weights_of_seed(setup: Setup, mode: str, seed) -> dict:
    """Q = 0; W_5 random, or the ideal layer where only Q is trained."""
    vocabulary = finite_layer.vocabulary_of(setup)
    weights = transformer.weights(jax.random.key(seed), vocabulary, setup["width"], setup["sigma_0"])
    if not trains_layer(setup, mode):
        features = finite_attention.numbers_of(setup, (1, 2)).features
        weights["W_5"] = jnp.asarray(transformer.isotropic_head(vocabulary, *features))
    return {name: weights[name] for name in ("W_5", "Q_43", "Q_44")}


def trains_layer(setup: Setup, mode: str) -> bool:
    """Whether W_5 is learnt, not given."""
    return mode in ("stage_1", "algorithm_1") or (mode == "algorithm_2" and setup["features"] == "trained")


def training(setup: Setup, mode: str, seeds: int | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side)."""
    vocabulary = finite_layer.vocabulary_of(setup)
    if mode == "algorithm_2":
        check_length(setup)
        return self_training(setup, weights_of_seed(setup, mode, setup["seed"]), seeds)
    if setup["L"] != 2:
        raise InputError(f"L = {setup['L']} is not allowed in {mode} by training: all sentences of L = 2 are listed.")
    if mode != "stage_1":
        check_length(setup)
    n_x, group = vocabulary.n_x, vocabulary.group
    m = group.n_y if mode == "stage_2" else setup["width"]
    n_sentences = n_x * (n_x - 1) * group.n_g * group.n_y * (1 if mode == "stage_1" else group.n_g)
    finite_layer.check_work(vocabulary.d * m * n_sentences)
    if seeds is None:
        initial = weights_of_seed(setup, mode, setup["seed"])
    else:
        initial = jax.vmap(partial(weights_of_seed, setup, mode))(setup["seed"] + jnp.arange(seeds))
    numbers = finite_layer.numbers_of(setup)
    attention = finite_attention.numbers_of(setup, trained_steps(setup, mode, 2))
    arguments = lambda layer, scores: Arguments(numbers, attention, np.float64(layer), np.float64(scores))
    stages = {
        "stage_1": (Stage("stage_1", arguments(1, 0)),),
        "stage_2": (Stage("stage_2", arguments(0, 1)),),
        "algorithm_1": (Stage("stage_1", arguments(1, 0), until=setup["T_1"]), Stage("stage_2", arguments(0, 1))),
    }[mode]
    kind = finite_layer.nonlinearity_of(setup, "none" if mode == "stage_2" else None)
    found = descent(mode, setup["group"], n_x, m, kind)
    events = stage_1_events(setup) if mode == "stage_1" else stage_2_events(setup)
    return Training(
        descent=found,
        initial=initial,
        stages=stages,
        events=tuple(e for e in events if e.observable in found.observables),
        marks={"T_1": setup["T_1"]} if mode == "algorithm_1" else {},
        default_steps=2000,
    )
