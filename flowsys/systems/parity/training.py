"""Gradient descent of the finite-width model (L0): on the weights, or exactly on what the loss sees of them.

In the modes of gradient flow every step has the learning rate of the setup. In mode three_step there are three steps
with rates eta_0, eta_1, eta_2, on the population or on fresh batches (Assumption 2's algorithm), and observables are
read on the population or on fresh sequences.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.runs.training import Descent, Training
from flowsys.system import Setup
from flowsys.system.problem import Stage
from flowsys.systems.parity.data import ascending, sample_bits, table_of_bits
from flowsys.systems.parity.fields import Structure, observe, velocity
from flowsys.systems.parity.gated import GatedArguments
from flowsys.systems.parity.infinite import events_of
from flowsys.systems.parity.levels import Model, model_of
from flowsys.systems.parity.steps import STEPS, rates_of

TEST_SEQUENCES = 1024
# numbers in the largest intermediate array of one gradient: rows × neurons
LARGEST_GRADIENT = 5e7


class State(NamedTuple):
    """What trains, and what was drawn with it and stays: initial signs and embeddings."""

    trained: Any
    signs: Any
    embeddings: Any


class StepArguments(NamedTuple):
    """Data of the gradient, data of the observables, and the rate of this step (0: the learning rate)."""

    gradient: GatedArguments
    reading: GatedArguments
    rate: Any


@lru_cache(maxsize=32)
def descent(structure: Structure) -> Descent:
    """One gradient step, kinks as they are."""

    def own(state: State, arguments: GatedArguments) -> GatedArguments:
        return arguments._replace(signs=state.signs, embeddings=state.embeddings)

    def step(state: State, arguments: StepArguments, learning_rate):
        rate = jnp.where(arguments.rate > 0, arguments.rate, learning_rate)
        moves = velocity(structure, state.trained, own(state, arguments.gradient))
        return state._replace(trained=jax.tree.map(lambda x, dx: x + rate * dx, state.trained, moves))

    def observed(state: State, arguments: StepArguments):
        return observe(structure, state.trained, own(state, arguments.reading))

    return Descent(step, observed, structure.observables)


def training(setup: Setup, variant: str, mode: str, seeds: int | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side)."""
    check_batch(setup, variant, mode, seeds)
    models = [
        model_of(replace(setup, values=dict(setup) | {"seed": setup["seed"] + s}), "L0", variant, mode, kinks="exact")
        for s in range(seeds or 1)
    ]
    states = [State(model.initial, jnp.asarray(model.arguments.signs), model.arguments.embeddings) for model in models]
    initial = states[0] if seeds is None else jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    η = setup["learning_rate"]
    return Training(
        descent=descent(models[0].structure),
        initial=initial,
        stages=three_steps(setup, models[0], η) if mode == "three_step" else (flow_stage(models[0]),),
        events=events_of(setup, has_gates=True),
        marks={name: (1 + j) * η for j, name in enumerate(STEPS)} if mode == "three_step" else {},
        default_steps=3 if mode == "three_step" else max(1, round(20 * setup["n"] * setup["m"] ** 0.5 / η)),
    )


def check_batch(setup: Setup, variant: str, mode: str, seeds: int | None) -> None:
    """Refuse batches where there are none, or too large for memory."""
    batch = setup["batch"]
    if not np.isfinite(batch):
        return
    if mode != "three_step" or variant != "enumerated":
        raise InputError(
            f"batch = {batch} is not allowed here: batches are for mode = three_step, variant = enumerated."
        )
    if seeds is not None:
        raise InputError(f"seeds = {seeds} is not allowed with batch = {batch}: the seeds would share their batches.")
    if batch * setup["k"] * 2 * setup["width"] > LARGEST_GRADIENT:
        raise InputError(
            f"batch = {batch} is not allowed with width = {setup['width']}: batch · k · 2 width must not exceed "
            f"{LARGEST_GRADIENT:g}; flowsys.systems.parity.sgd.batch_steps takes larger ones."
        )


def flow_stage(model: Model) -> Stage:
    return Stage("descent", StepArguments(model.arguments, model.arguments, np.float64(0.0)))


def three_steps(setup: Setup, model: Model, η: float) -> tuple[Stage, ...]:
    """A stage per step; on batches each has its own sequences, and all are read on the same fresh ones."""
    n_steps = len(STEPS)
    gradients, reading = [model.arguments] * n_steps, model.arguments
    if np.isfinite(setup["batch"]):
        parity = ascending(setup["n"], setup["k"])
        keys = jax.random.split(jax.random.fold_in(jax.random.key(setup["seed"]), 2), n_steps + 1)
        sizes = [setup["batch"]] * n_steps + [TEST_SEQUENCES]
        tables = [table_of_bits(parity, sample_bits(key, parity, size)) for key, size in zip(keys, sizes)]
        *gradients, reading = [model.arguments._replace(table=jax.tree.map(jnp.asarray, t)) for t in tables]
    return tuple(
        Stage(name, StepArguments(gradient, reading, np.float64(rate)), until=η * (j + 1))
        for j, (name, gradient, rate) in enumerate(zip(STEPS, gradients, rates_of(setup)))
    )
