"""What is read off a state: attention on the secret, margins, accuracy, gate flips, attention entropy."""

from typing import NamedTuple

import jax
import numpy as np

from flowsys.systems.parity import model
from flowsys.systems.parity.data import Table
from flowsys.systems.parity.entropy import attention_entropy
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates


class Reading(NamedTuple):
    """Per sequence and query position: attention on S[i] and margin; over a table: accuracies and entropy."""

    s_target: np.ndarray
    margin: np.ndarray
    accuracy: float
    sequence_accuracy: float
    entropy: float


def read(y: Coordinates | FrozenCoordinates, h, table: Table, n_queries: int) -> Reading:
    """Read a state on a table whose rows are sequences of `n_queries` positions."""
    with jax.enable_x64(True):
        attention, margin = (np.asarray(part) for part in _attention_and_margin(y, h, table))
    margin = margin.reshape(-1, n_queries)
    right = margin > 0
    s = attention[np.arange(len(attention)), np.asarray(table.target)].reshape(-1, n_queries)
    counts = np.asarray(table.counts, dtype=float)
    lengths = counts[:n_queries].sum(axis=1)
    by_sequence = (-1, n_queries, counts.shape[1])
    entropy = attention_entropy(attention.reshape(by_sequence), lengths, counts.reshape(by_sequence))
    return Reading(s, margin, float(right.mean()), float(right.all(axis=1).mean()), float(entropy.mean()))


@jax.jit
def _attention_and_margin(y, h, table: Table):
    return model.attention(y.a, table), model.margins(y, h, table)


def flipped_gates(y: Coordinates, start: Coordinates, table: Table) -> float:
    """Fraction of (row, neuron) pairs whose gate differs from the one at the start."""
    with jax.enable_x64(True):
        return float(_flipped(y, start, table))


@jax.jit
def _flipped(y, start, table: Table):
    return ((model.preactivations(start, table) > 0) != (model.preactivations(y, table) > 0)).mean()
