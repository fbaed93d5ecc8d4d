"""Three steps of gradient descent carried out: on the population with sampled neurons, and on fresh batches.

On the population the collapsed coordinates are exact, so the cost does not depend on n and gates are live. On batches
the frozen-gate coordinates (P, K, a) are, as long as no gate flips, at a cost that does not depend on the width and as
matrix products (`frozen_batch`); the live form follows every neuron. Rates as in `three_step`; the embedding dimension
`d` is None for orthonormal tokens.
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
from flowsys.systems.parity.frozen_batch import batch_slope
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates, coordinates
from flowsys.systems.parity.three_step import Rates
from flowsys.systems.parity.weights import initial_coordinates, initial_signs, output_weights, weights

CHUNK = 512  # sequences differentiated at a time: bounds the memory of a large batch


class Steps(NamedTuple):
    """States before and after each of the three steps, their readings, and the fraction of flipped gates."""

    states: list
    readings: list
    flipped: float


def population_steps(
    key: jax.Array, n: int, k: int, m: float, epsilon: float, rates: Rates, loss="linear", width: int | None = None
) -> Steps:
    """Population gradient descent with 2m sampled neurons and live gates, over the collapsed tokens.

    A `width` other than m keeps m's limit: its neurons move width/m times as fast.
    """
    problem, width = ascending(n, k), int(m) if width is None else width
    with jax.enable_x64(True):
        table, h = jax.tree.map(jnp.asarray, collapsed_table(n, k)), output_weights(width)
        flow = closure.Flow(table, h, collapsed_metric(n, k, mobility=width / m))
        field = jax.jit(partial(closure.field, kind=loss))
        states = [initial_coordinates(initial_signs(key, problem, width), 4 * k + 1, epsilon)]
        for rate in rates:
            states.append(closure.euler_step(states[-1], field(0.0, states[-1], flow), rate))
        readings = [observables.read(y, h, table, k) for y in states]
        return Steps(states, readings, observables.flipped_gates(states[-1], states[0], table))


def limit_steps(n: int, k: int, m: float, rates: Rates, loss="linear", common: float = 1.0) -> Steps:
    """Population gradient descent at infinite width, gates frozen (so their flips are not seen).

    `common` scales the overlap of the gates of different query tokens; 1 is the model, 0 an imagined one without.
    """
    with jax.enable_x64(True):
        table = jax.tree.map(jnp.asarray, collapsed_table(n, k))
        overlaps = closure.limit_overlaps(2 * k, m)
        overlaps = common * overlaps + (1 - common) * jnp.diag(jnp.diag(overlaps))
        flow = closure.FrozenFlow(table, overlaps, collapsed_metric(n, k))
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
    mobility: float = 1.0,
) -> Steps:
    """Stochastic gradient descent on a fresh batch per step, read on `n_test` fresh sequences.

    Live neurons may move `mobility` times as fast: m neurons then have the limit of m/mobility.
    """
    if gates not in ("frozen", "live"):
        raise ValueError(f"gates = {gates}, but it must be frozen or live.")
    check_size("batch", batch)
    neuron_key, embedding_key, test_key, *batch_keys = jax.random.split(key, 3 + len(rates))
    with jax.enable_x64(True):
        test = table_of_bits(problem, sample_bits(test_key, problem, n_test))
        if gates == "frozen":
            states, h = frozen_states(key, problem, m, epsilon, batch, rates, d=d, loss=loss), None
            flipped = 0.0
        else:
            start, h, metric = _start(neuron_key, embedding_key, problem, m, epsilon, d)
            states, metric = [start], metric._replace(mobility=mobility)
            for rate, batch_key in zip(rates, batch_keys):
                velocity = _batch_velocity(batch_key, problem, batch, states[-1], h, metric, loss)
                states.append(closure.euler_step(states[-1], velocity, rate))
            flipped = observables.flipped_gates(states[-1], start, test)
        return Steps(states, [observables.read(y, h, test, problem.n_queries) for y in states], flipped)


def frozen_states(
    key: jax.Array, problem: Parity, m: int, epsilon: float, batch: int, rates: Rates, *, d=None, loss: str = "linear"
) -> list[FrozenCoordinates]:
    """(P, K, a) before and after each step on fresh batches, with the gates of the start."""
    neuron_key, embedding_key, _, *batch_keys = jax.random.split(key, 3 + len(rates))
    with jax.enable_x64(True):
        signs, h = initial_signs(neuron_key, problem, m), output_weights(m)
        n_queries = signs.shape[1]
        tokens = None if d is None else hypercube(embedding_key, problem.n_tokens, d)
        gram = np.eye(problem.n_tokens) if d is None else np.asarray(tokens @ tokens.T)
        metric = closure.Metric(gram, gram[-n_queries:, -n_queries:])
        p = np.asarray(epsilon * signs) @ metric.queries
        active = (p > 0) * 1.0
        overlaps = np.asarray(closure.gate_overlaps(active, h))
    P = (active * np.asarray(h)[:, None] * p).sum(axis=0)
    shape = (n_queries, problem.n_tokens)
    states = [FrozenCoordinates(P, np.zeros(shape), np.zeros(shape[::-1]))]
    for rate, batch_key in zip(rates, batch_keys):
        slope = batch_slope(states[-1], problem, sample_bits(batch_key, problem, batch), loss)
        states.append(closure.euler_step(states[-1], closure.frozen_velocity(slope, overlaps, metric), rate))
    return states


def _start(neuron_key, embedding_key, problem: Parity, m: int, epsilon: float, d: int | None):
    tokens = orthonormal(problem.n_tokens) if d is None else hypercube(embedding_key, problem.n_tokens, d)
    start = coordinates(weights(neuron_key, problem, tokens, m, epsilon), tokens, 2 * problem.n_queries)
    return start, output_weights(m), closure.gram_metric(tokens, 2 * problem.n_queries)


def _batch_velocity(key, problem: Parity, batch: int, y: Coordinates, h, metric, loss: str) -> Coordinates:
    bits = sample_bits(key, problem, batch)
    total = jax.tree.map(jnp.zeros_like, y)
    for first in range(0, batch, CHUNK):
        part = bits[first : first + CHUNK]
        missing = CHUNK - len(part)
        weight = np.pad(np.full(len(part), 1.0 / batch), (0, missing))
        velocity = _chunk_velocity(y, np.pad(part, ((0, missing), (0, 0))), weight, h, metric, problem, loss)
        total = jax.tree.map(jnp.add, total, velocity)
    return total


@partial(jax.jit, static_argnames=("problem", "loss"))
def _chunk_velocity(y: Coordinates, bits, weight, h, metric, problem: Parity, loss: str) -> Coordinates:
    return closure.field(0.0, y, closure.Flow(table_of_bits(problem, bits, weight), h, metric), kind=loss)
