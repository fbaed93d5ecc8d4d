"""Three steps of gradient descent carried out: on the population with sampled neurons, and on fresh batches.

On the population the collapsed coordinates are exact, so the cost does not depend on n and gates are live. On batches
the frozen-gate coordinates (P, K, a) are, as long as no gate flips, at a cost that does not depend on the width; the
live form follows every neuron. Rates as in `three_step`; the embedding dimension `d` is None for orthonormal tokens.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity import closure, observables
from flowsys.systems.parity.collapsed import collapsed_metric, collapsed_table
from flowsys.systems.parity.data import Parity, ascending, check_size, sample_bits, table_of_bits
from flowsys.systems.parity.embeddings import hypercube, orthonormal
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates, coordinates
from flowsys.systems.parity.three_step import Rates
from flowsys.systems.parity.weights import initial_coordinates, initial_signs, output_weights, weights

CHUNK = 512  # sequences differentiated at a time: bounds the memory of a large batch


class Steps(NamedTuple):
    """States before and after each of the three steps, their readings, and the fraction of flipped gates."""

    states: list
    readings: list
    flipped: float


def population_steps(key: jax.Array, n: int, k: int, m: int, epsilon: float, rates: Rates, loss="linear") -> Steps:
    """Population gradient descent with 2m sampled neurons and live gates, over the collapsed tokens."""
    problem = ascending(n, k)
    with jax.enable_x64(True):
        table, h = jax.tree.map(jnp.asarray, collapsed_table(n, k)), output_weights(m)
        flow = closure.Flow(table, h, collapsed_metric(n, k))
        field = jax.jit(partial(closure.field, kind=loss))
        states = [initial_coordinates(initial_signs(key, problem, m), 4 * k + 1, epsilon)]
        for rate in rates:
            states.append(closure.euler_step(states[-1], field(0.0, states[-1], flow), rate))
        readings = [observables.read(y, h, table, k) for y in states]
        return Steps(states, readings, observables.flipped_gates(states[-1], states[0], table))


def limit_steps(n: int, k: int, m: float, rates: Rates, loss="linear") -> Steps:
    """Population gradient descent at infinite width, gates frozen (so their flips are not seen)."""
    with jax.enable_x64(True):
        table = jax.tree.map(jnp.asarray, collapsed_table(n, k))
        flow = closure.FrozenFlow(table, closure.limit_overlaps(2 * k, m), collapsed_metric(n, k))
        states = [FrozenCoordinates(jnp.zeros(2 * k), jnp.zeros((2 * k, 4 * k + 1)), jnp.zeros((4 * k + 1, 2 * k)))]
        for rate in rates:
            states.append(closure.euler_step(states[-1], _limit_field(0.0, states[-1], flow, kind=loss), rate))
        return Steps(states, [observables.read(y, None, table, k) for y in states], float("nan"))


_limit_field = jax.jit(closure.frozen_field, static_argnames="kind")


def batch_steps(
    key: jax.Array,
    problem: Parity,
    m: int,
    epsilon: float,
    batch: int,
    rates: Rates,
    *,
    d: int | None = None,
    gates: str = "frozen",
    loss: str = "linear",
    n_test: int = 1024,
) -> Steps:
    """Stochastic gradient descent on a fresh batch per step, read on `n_test` fresh sequences."""
    if gates not in ("frozen", "live"):
        raise ValueError(f"gates = {gates}, but it must be frozen or live.")
    check_size("batch", batch)
    neuron_key, embedding_key, test_key, *batch_keys = jax.random.split(key, 3 + len(rates))
    with jax.enable_x64(True):
        start, h, metric = _start(neuron_key, embedding_key, problem, m, epsilon, d)
        state, argument, field = start, h, closure.field
        if gates == "frozen":
            active = (start.p > 0) * 1.0
            state, argument = closure.freeze(start, active, h), closure.gate_overlaps(active, h)
            field = closure.frozen_field
        states = [state]
        for rate, batch_key in zip(rates, batch_keys):
            velocity = _batch_velocity(batch_key, problem, batch, states[-1], argument, metric, field, loss)
            states.append(closure.euler_step(states[-1], velocity, rate))
        test = table_of_bits(problem, sample_bits(test_key, problem, n_test))
        readings = [observables.read(y, h, test, problem.n_queries) for y in states]
        flipped = observables.flipped_gates(states[-1], start, test) if gates == "live" else 0.0
        return Steps(states, readings, flipped)


def _start(neuron_key, embedding_key, problem: Parity, m: int, epsilon: float, d: int | None):
    tokens = orthonormal(problem.n_tokens) if d is None else hypercube(embedding_key, problem.n_tokens, d)
    start = coordinates(weights(neuron_key, problem, tokens, m, epsilon), tokens, 2 * problem.n_queries)
    return start, output_weights(m), closure.gram_metric(tokens, 2 * problem.n_queries)


def _batch_velocity(key, problem: Parity, batch: int, y, argument, metric, field, loss: str):
    bits = sample_bits(key, problem, batch)
    total = jax.tree.map(jnp.zeros_like, y)
    for first in range(0, batch, CHUNK):
        part = bits[first : first + CHUNK]
        missing = CHUNK - len(part)
        weight = np.pad(np.full(len(part), 1.0 / batch), (0, missing))
        velocity = _chunk_velocity(
            y, np.pad(part, ((0, missing), (0, 0))), weight, argument, metric, problem, field, loss
        )
        total = jax.tree.map(jnp.add, total, velocity)
    return total


@partial(jax.jit, static_argnames=("problem", "field", "loss"))
def _chunk_velocity(
    y: Coordinates | FrozenCoordinates, bits, weight, argument, metric, problem: Parity, field, loss: str
):
    return field(0.0, y, (table_of_bits(problem, bits, weight), argument, metric), kind=loss)


def smallest_batch(
    key: jax.Array,
    problem: Parity,
    m: int,
    epsilon: float,
    rates_of_batch,
    *,
    batches,
    n_seeds: int = 3,
    share: float = 0.9,
    gates: str = "frozen",
):
    """B*: the first of `batches` for which three steps get at least `share` of test sequences entirely right.

    `rates_of_batch(batch)` gives the rates; the share is the mean over `n_seeds`. None if no batch suffices.
    """
    for batch in batches:
        seeds = jax.random.split(jax.random.fold_in(key, batch), n_seeds)
        runs = [batch_steps(seed, problem, m, epsilon, batch, rates_of_batch(batch), gates=gates) for seed in seeds]
        if np.mean([run.readings[-1].sequence_accuracy for run in runs]) >= share:
            return batch
    return None
