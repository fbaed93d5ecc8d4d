"""Finite width: gradient flow on the weights (L1) and on their inner products (L2), and gradient descent (L0).

The reduced flow closes exactly at every width (Appendix B.2), and so does gradient descent: one step of rate η on the
weights is M ← (I - ηΓ) M (I - ηΓ). All read one loss, `flowsys.systems.mixture.model`.
"""

from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from flowsys.model.conserved import pair_invariants
from flowsys.model.gram import gram_flow, gram_step, pair_rate
from flowsys.runs.training import Descent, Training
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem
from flowsys.systems.mixture.margin import max_margin
from flowsys.systems.mixture.network import (
    FiniteArguments,
    ReducedLayout,
    Weights,
    attention_features,
    gram_matrices,
    initial_weights,
    loss,
    observations,
    preactivations,
)
from flowsys.systems.mixture.population import Samples, all_samples
from flowsys.systems.mixture.stages import default_at, events_of, marks_of, stages_of
from flowsys.systems.mixture.vocabulary import OBSERVABLES

MEASURED = tuple(name for name in OBSERVABLES if name != "max_margin")
"""What is observed in JAX; the margin, a quadratic program, is added where states or weights are recorded."""


def margin_of(samples: Samples, K: int, neurons, M, b: float) -> float:
    """The max margin of the attention features; NaN where weights are no numbers any more."""
    features = np.asarray(attention_features(samples, neurons, M[:, : 2 * K, 2 * K :], b))
    return max_margin(features) if np.isfinite(features).all() else np.nan


@lru_cache(maxsize=16)
def reduced_field(K: int, L: int, kinks: str = "frozen") -> FunctionField:
    """L2: the inner products move by themselves."""
    samples, layout = all_samples(K, L), ReducedLayout(K)

    def rhs(y, arguments):
        neurons, M = layout.split(y)
        gradient = jax.grad(partial(loss, samples), argnums=(0, 1))
        d_neurons, G = gradient(neurons, M[:, : 2 * K, 2 * K :], arguments, kinks)
        dM = arguments.train_attention * gram_flow(M, pair_rate(G))
        return layout.join(-arguments.train_neurons * d_neurons, dM)

    return _field(K, L, layout.names, rhs, layout.split, kinks, partial(reduced_field, K, L, "smooth"))


@lru_cache(maxsize=16)
def weights_field(K: int, L: int, width: int, kinks: str = "frozen") -> FunctionField:
    """L1: gradient flow of every weight, by autodiff."""
    samples, unravel = all_samples(K, L), weights_unraveller(K, width)

    def of_weights(weights, arguments):
        scores = jnp.swapaxes(weights.keys, -1, -2) @ weights.queries
        return loss(samples, weights.neurons, scores, arguments, kinks)

    def rhs(y, arguments):
        gradient = jax.grad(of_weights)(unravel(y), arguments)
        rates = Weights(
            -arguments.train_neurons * gradient.neurons,
            -arguments.train_attention * gradient.keys,
            -arguments.train_attention * gradient.queries,
        )
        return ravel_pytree(rates)[0]

    names = tuple(f"weight_{i}" for i in range(4 * K + 8 * K * width))
    return _field(K, L, names, rhs, weights_split(K, width), kinks, partial(weights_field, K, L, width, "smooth"))


@lru_cache(maxsize=64)
def weights_unraveller(K: int, width: int):
    shape = Weights(np.zeros((2, 2 * K)), np.zeros((2, width, 2 * K)), np.zeros((2, width, 2 * K)))
    return ravel_pytree(shape)[1]


def weights_split(K: int, width: int):
    """Flat weights -> (neurons, M), what the reduced level carries."""
    unravel = weights_unraveller(K, width)

    def split(y):
        weights = unravel(y)
        return weights.neurons, gram_matrices(weights)

    return split


def _field(K: int, L: int, names, rhs, split, kinks: str, smooth) -> FunctionField:
    samples = all_samples(K, L)

    def observed(y, arguments):
        return observations(samples, K, *split(y), arguments, kinks)

    def switching(y, arguments):
        neurons, M = split(y)
        return preactivations(samples, neurons, M[:, : 2 * K, 2 * K :], arguments.b).reshape(-1)

    if kinks == "smooth":
        return FunctionField(names, rhs, observed, MEASURED)
    return FunctionField(names, rhs, observed, MEASURED, switching, smooth)


def stage_arguments(setup: Setup):
    """A stage's data from (trains neurons, trains attention, hard samples only)."""
    samples = all_samples(setup["K"], setup["L"])

    def arguments(trains_neurons: bool, trains_attention: bool, hard_only: bool) -> FiniteArguments:
        weight = np.where(samples.is_hard, samples.weight, 0.0) if hard_only else samples.weight
        return FiniteArguments(
            weight / weight.sum(),
            np.float64(setup["b"]),
            np.float64(trains_neurons),
            np.float64(trains_attention),
            np.ones(2 * len(weight)),
            np.float64(0.0),
        )

    return arguments


def weights_of_seed(setup: Setup, mode: str, seed) -> Weights:
    """The random initial weights; neurons start at 0 unless they stay frozen."""
    scale = setup["sigma_w"] if mode == "attention_only" else 0.0
    return initial_weights(jax.random.key(seed), setup["K"], setup["width"], setup["omega"], scale)


def finite_problem(setup: Setup, level: str, mode: str) -> Problem:
    """Gradient flow at finite width from the random weights of `seed`, on the weights (L1) or reduced (L2)."""
    K, L, width = setup["K"], setup["L"], setup["width"]
    samples = all_samples(K, L)
    with jax.enable_x64(True):
        weights = weights_of_seed(setup, mode, setup["seed"])
        if level == "L1":
            initial, field, split = ravel_pytree(weights)[0], weights_field(K, L, width), weights_split(K, width)
        else:
            layout = ReducedLayout(K)
            initial = layout.join(weights.neurons, gram_matrices(weights))
            field, split = reduced_field(K, L), layout.split

    def margin(y: np.ndarray) -> float:
        neurons, M = split(jnp.asarray(y))
        return margin_of(samples, K, neurons, M, setup["b"])

    def spectra(states: np.ndarray) -> np.ndarray:
        M = np.array([np.asarray(split(jnp.asarray(y))[1]) for y in states])
        return pair_invariants(M, 2 * K).reshape(len(states), -1)

    return Problem(
        field=field,
        initial=np.asarray(initial),
        stages=stages_of(mode, setup, stage_arguments(setup)),
        events=events_of(setup),
        marks=marks_of(setup),
        derived={"max_margin": margin},
        conserved=spectra,
        scale=setup["omega"] ** 2,
        t_max=setup["t_max"],
        default_at=default_at(mode, setup),
    )


@lru_cache(maxsize=16)
def weights_descent(K: int, L: int) -> Descent:
    """Gradient descent on the weights, by autodiff; the ReLU as it is."""
    samples = all_samples(K, L)

    def of_weights(weights, arguments):
        scores = jnp.swapaxes(weights.keys, -1, -2) @ weights.queries
        return loss(samples, weights.neurons, scores, arguments, "exact")

    def step(weights, arguments, learning_rate):
        gradient = jax.grad(of_weights)(weights, arguments)
        η_neurons, η_attention = learning_rate * arguments.train_neurons, learning_rate * arguments.train_attention
        return Weights(
            weights.neurons - η_neurons * gradient.neurons,
            weights.keys - η_attention * gradient.keys,
            weights.queries - η_attention * gradient.queries,
        )

    def observe(weights, arguments):
        return observations(samples, K, weights.neurons, gram_matrices(weights), arguments, "exact")

    def margin(weights, arguments):
        return margin_of(samples, K, weights.neurons, gram_matrices(weights), arguments.b)

    return Descent(step, observe, MEASURED, {"max_margin": margin})


@lru_cache(maxsize=16)
def gram_descent(K: int, L: int) -> Descent:
    """The same descent on inner products: exact, at a cost that does not depend on the width."""
    samples = all_samples(K, L)

    def step(state, arguments, learning_rate):
        neurons, M = state
        gradient = jax.grad(partial(loss, samples), argnums=(0, 1))
        d_neurons, G = gradient(neurons, M[:, : 2 * K, 2 * K :], arguments, "exact")
        η_attention = learning_rate * arguments.train_attention
        return neurons - learning_rate * arguments.train_neurons * d_neurons, gram_step(M, pair_rate(G), η_attention)

    def observe(state, arguments):
        return observations(samples, K, *state, arguments, "exact")

    def margin(state, arguments):
        return margin_of(samples, K, *state, arguments.b)

    return Descent(step, observe, MEASURED, {"max_margin": margin})


def training(setup: Setup, variant: str, mode: str, seeds: int | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side)."""
    K, L = setup["K"], setup["L"]
    if seeds is None:
        initial: Any = weights_of_seed(setup, mode, setup["seed"])
    else:
        initial = jax.vmap(partial(weights_of_seed, setup, mode))(setup["seed"] + jnp.arange(seeds))
    if variant == "gram":
        initial = (initial.neurons, gram_matrices(initial))
    return Training(
        descent=gram_descent(K, L) if variant == "gram" else weights_descent(K, L),
        initial=initial,
        stages=stages_of(mode, setup, stage_arguments(setup)),
        events=events_of(setup),
        marks=marks_of(setup),
        default_steps=1500 * K,
    )
