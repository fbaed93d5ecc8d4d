"""The parity loss with its kinks in the open: gates of neurons and hinges that a solver may freeze or smooth.

Switching functions are 1 - margin of every row (hinge loss only), then the input of every neuron at every row (live
gates only). With gates frozen, relu(x) = gate·x; smoothed, δ log(1 + e^(x/δ)) with δ = `kink_width`.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from flowsys.model import ops
from flowsys.systems.parity import closure, model
from flowsys.systems.parity.closure import Metric
from flowsys.systems.parity.data import Table
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates, Weights


class View(NamedTuple):
    """How position i is read: its number 0 … k-1, and averages of K (queries × keys) and a (keys × queries).

    `targets` marks the scores of S[i] at every position (keys × queries).
    """

    number: Any
    g: Any
    common: Any
    u: Any
    v: Any
    w: Any
    targets: Any


class GatedArguments(NamedTuple):
    """A stage's data. Weights need `embeddings`, frozen gates `overlaps`, live gates `h` and the initial `signs`."""

    table: Table
    metric: Metric
    view: View
    h: Any
    signs: Any
    overlaps: Any
    embeddings: Any
    gates: Any
    kink_width: Any


def relu(x, gates, arguments: GatedArguments, kinks: str):
    """max(x, 0) as the solver wants it: frozen, smooth or exact."""
    if kinks == "frozen":
        return gates.reshape(x.shape) * x
    return ops.smooth_relu(x, arguments.kink_width) if kinks == "smooth" else ops.relu(x)


def margins(y: Coordinates | FrozenCoordinates, arguments: GatedArguments, loss: str, kinks: str):
    """-(-1)^label T at every row."""
    table = arguments.table
    if isinstance(y, FrozenCoordinates):
        return model.margins(y, None, table)
    n_hinges = len(table.sign) if loss == "hinge" else 0
    active = relu(model.preactivations(y, table), arguments.gates[n_hinges:], arguments, kinks)
    return -table.sign * (active @ arguments.h)


def row_losses(margin, arguments: GatedArguments, loss: str, kinks: str):
    if loss == "linear":
        return -margin
    return relu(1.0 - margin, arguments.gates[: len(margin)], arguments, kinks)


def total_loss(y: Coordinates | FrozenCoordinates, arguments: GatedArguments, loss: str, kinks: str):
    """The mean over sequences of the loss summed over query positions."""
    return (arguments.table.weight * row_losses(margins(y, arguments, loss, kinks), arguments, loss, kinks)).sum()


def switching(y: Coordinates | FrozenCoordinates, arguments: GatedArguments, loss: str, kinks: str):
    """All switching functions as one vector."""
    parts = [1.0 - margins(y, arguments, loss, kinks)] if loss == "hinge" else []
    if isinstance(y, Coordinates):
        parts.append(model.preactivations(y, arguments.table).reshape(-1))
    return jnp.concatenate(parts)


def seen(weights: Weights, arguments: GatedArguments) -> Coordinates:
    """What the loss sees of the weights."""
    return model.coordinates(weights, arguments.embeddings, arguments.metric.queries.shape[0])


def observations(y: Coordinates | FrozenCoordinates, arguments: GatedArguments, k: int, loss: str, kinks: str):
    """Position i under the names of the limit, and all positions together."""
    table, view = arguments.table, arguments.view
    margin = margins(y, arguments, loss, kinks)
    by_sequence = margin.reshape(-1, k)
    share = table.weight.reshape(-1, k)[:, 0]
    attention = model.attention(y.a, table)
    is_target = jnp.arange(attention.shape[1])[None, :] == table.target[:, None]
    s = jnp.where(is_target, attention, 0.0).sum(axis=1).reshape(-1, k)
    off = jnp.where(is_target, 0.0, attention).sum(axis=1).reshape(-1, k)
    right = (by_sequence > 0) * 1.0
    here = lambda values: share @ jnp.take(values, view.number, axis=1)
    frozen = y if isinstance(y, FrozenCoordinates) else closure.freeze(y, (y.p > 0) * 1.0, arguments.h)
    found = {
        **{"g": (view.g * frozen.K).sum(), "u": (view.u * y.a).sum(), "v": (view.v * y.a).sum()},
        **{"w": (view.w * y.a).sum(), "s_target": here(s), "one_hot_error": here(off), "margin": here(by_sequence)},
        "entropy": share @ entropies(y.a, attention, table).reshape(-1, k).min(axis=1),
        "accuracy": here(right),
        "loss": (table.weight * row_losses(margin, arguments, loss, kinks)).sum(),
        **{"margin_min": margin.min(), "margin_max": margin.max()},
        "margin_i_min": jnp.take(by_sequence, view.number, axis=1).min(),
        **{"s_min": s.min(), "one_hot_error_max": off.max()},
        "common_mode": (view.common * frozen.K).sum(),
        "score_target_min": jnp.where(view.targets, y.a, jnp.inf).min(),
        "score_other_max": jnp.where(view.targets, 0.0, jnp.abs(y.a)).max(),
        **{"accuracy_all": share @ right.min(axis=1), "accuracy_mean": (share @ right).mean()},
        "P_max": jnp.abs(frozen.P[table.query]).max(),
    }
    if isinstance(y, Coordinates):
        inputs, was_open = model.preactivations(y, table), arguments.signs.T[table.query] > 0
        found["flipped"] = ((inputs > 0) != was_open).mean()
        found["gate_slack"] = jnp.where(was_open, inputs, -inputs).min()
    return found


def entropies(a, attention, table: Table):
    """H / log(length) of every row: log Σ n e^a - Σ p a, which is finite at any scores."""
    scores = jnp.where(table.counts > 0, a.T[table.query], 0.0)
    H = ops.log_sum_exp(scores, table.counts) - (attention * scores).sum(axis=1)
    return jnp.maximum(H, 0.0) / jnp.log(table.counts.sum(axis=1))
