"""Infinite width with live gates, exactly, by a finite design of neurons.

One neuron per sign pattern of ν on the 2k-1 query tokens that occur, and per sign of h, stands for all neurons with
that pattern: N = 2·2^(2k-1) neurons with h = ±1/N and mobility N/(2m). Its gate overlaps are those of the limit, and
the width m of the time scale stays a real parameter.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity.closure import Flow
from flowsys.systems.parity.collapsed import collapsed_metric, collapsed_table
from flowsys.systems.parity.data import all_bits, check_positive, check_size
from flowsys.systems.parity.model import Coordinates
from flowsys.systems.parity.weights import initial_coordinates


def balanced_signs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs of ν (N × 2k) and output weights h (N); token (n+1, 1) never occurs and gets the sign +1."""
    check_size("k", k)
    live = 2.0 * all_bits(2 * k - 1) - 1.0
    patterns = np.insert(live, 1, 1.0, axis=1)
    n_neurons = 2 * len(patterns)
    return np.concatenate([patterns, patterns]), np.repeat([1.0, -1.0], len(patterns)) / n_neurons


def balanced_flow(n: int, k: int, m: float) -> Flow:
    """Arguments of `closure.field` for the balanced design over the collapsed tokens."""
    check_positive("m", m)
    _, h = balanced_signs(k)
    with jax.enable_x64(True):
        return Flow(collapsed_table(n, k), jnp.asarray(h), collapsed_metric(n, k, mobility=len(h) / (2 * m)))


def balanced_start(k: int, epsilon: float) -> Coordinates:
    """Assumption 1 on the balanced neurons and collapsed tokens."""
    signs, _ = balanced_signs(k)
    with jax.enable_x64(True):
        return initial_coordinates(jnp.asarray(signs), 4 * k + 1, epsilon)
