"""Theorem 2's mechanism: without a chain of thought the population gradient vanishes at the start.

The label is uncorrelated with every k-1 of the bits, so at Assumption 1 the gradient is exactly 0 for k ≥ 2, and at
coordinates (q, a) of size σ it is of order σ^(k-1): leaving the start takes exponentially long in k. (The theorem
itself bounds memory and samples and cannot be simulated.)
"""

import jax
import numpy as np

from flowsys.systems.parity import model
from flowsys.systems.parity.data import Parity, Table, ascending, population
from flowsys.systems.parity.model import Coordinates
from flowsys.systems.parity.weights import initial_coordinates, initial_signs, output_weights


def no_cot_gradient(key: jax.Array, n: int, k: int, m: int, epsilon: float, sigma: float = 0.0) -> Coordinates:
    """Population gradient of the linear loss at Assumption 1 with Gaussian q, a of size σ added."""
    return population_gradient(key, ascending(n, k, chain_of_thought=False), m, epsilon, sigma)


def population_gradient(key: jax.Array, problem: Parity, m: int, epsilon: float, sigma: float = 0.0) -> Coordinates:
    """The same for any problem, with a chain of thought or without."""
    sign_key, q_key, a_key = jax.random.split(key, 3)
    with jax.enable_x64(True):
        start = initial_coordinates(initial_signs(sign_key, problem, m), problem.n_tokens, epsilon)
        moved = start._replace(
            q=sigma * jax.random.normal(q_key, start.q.shape), a=sigma * jax.random.normal(a_key, start.a.shape)
        )
        return _slope(moved, output_weights(m), population(problem))


@jax.jit
def _slope(y: Coordinates, h, table: Table) -> Coordinates:
    return jax.grad(model.loss)(y, h, table, "linear")


def gradient_norm(gradient: Coordinates) -> float:
    """Euclidean norm over all coordinates."""
    return float(np.sqrt(sum(np.sum(np.asarray(part) ** 2) for part in gradient)))


def largest_entry(gradient: Coordinates) -> float:
    """max |entry| over all coordinates."""
    return float(max(np.abs(np.asarray(part)).max() for part in gradient))


def order_of_vanishing(
    key: jax.Array, n: int, k: int, m: int, epsilon: float, sigmas=(0.1, 0.2), chain_of_thought: bool = False
) -> float:
    """Log-slope of the gradient norm between two sizes of (q, a); without a chain of thought k-1 as σ → 0."""
    problem = ascending(n, k, chain_of_thought)
    low, high = (gradient_norm(population_gradient(key, problem, m, epsilon, sigma)) for sigma in sigmas)
    return float(np.log(high / low) / np.log(sigmas[1] / sigmas[0]))
