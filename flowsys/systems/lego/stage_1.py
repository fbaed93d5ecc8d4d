"""Stage 1: the feed-forward layer under uniform attention, as reduced vector fields.

Only sums of weights over the slots that read the same token matter: V(g), V(y), X(x_1) and U(x_0) = slots 3 + 4, whose
metric is therefore 2. With ω = ½ ξ s'(Λ) the fields are (Facts B.1, C.2)

    dV(g)/dt = E[ω 1{g_1 = g}],  dV(y)/dt = E[ω 1{y_0 = y}],  dX(x)/dt = E[ω 1{x_1 = x}],  dU(x)/dt = 2 E[ω 1{x_0 = x}],

here taken as minus the metric times the gradient of the one loss in `model`.

    full           every slot, all d classes                                       exact
    frozen_x       X and U stay at their random initial values                     Assumption B.1
    exchangeable   X, U constant in x: one χ = ½ (X + U) per neuron; n_x a number   classes outside Y lumped
    many variables n_x = ∞ of `exchangeable`: χ stays put, d a free number
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.lego import model
from flowsys.systems.lego.data import Sentences
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.groups import GroupAction


class Slots(NamedTuple):
    """V(g), V(y), X(x_1), U(x_0) of every neuron: (d, m, ·)."""

    V_g: Any
    V_y: Any
    X: Any
    U: Any


METRIC = Slots(V_g=1.0, V_y=1.0, X=1.0, U=2.0)
METRIC_FROZEN_X = Slots(V_g=1.0, V_y=1.0, X=0.0, U=0.0)


class Exchangeable(NamedTuple):
    """V(g), V(y) of the neurons of classes in Y, (n_y, m, ·), and χ, (n_y, m)."""

    V_g: Any
    V_y: Any
    chi: Any


def slots(features: model.Features) -> Slots:
    """From the five tables of a head to the coordinates that stage 1 sees."""
    return Slots(features.action, features.value, features.variable, features.source + features.holder)


def full_features(y: Slots) -> model.Features:
    """The tables of a head with these stage-1 coordinates; slots 3 and 4 count together, so U stands in slot 3."""
    return model.Features(variable=y.X, action=y.V_g, source=y.U, holder=0.0 * y.U, value=y.V_y)


def full_loss(ops, y: Slots, sentences: Sentences, target, feedforward: FeedForward):
    """Loss_i¹ as a function of the stage-1 coordinates."""
    return model.one_step_loss(ops, full_features(y), sentences, target, feedforward)


def full_field(sentences: Sentences, target, feedforward: FeedForward, metric: Slots = METRIC):
    """field(t, y, args) on `Slots`; time is gradient-flow time of Loss_i¹."""
    loss = lambda ops, y: full_loss(ops, y, sentences, target, feedforward)
    return _descending(loss, metric)


def outside_logit(ops, m, feedforward: FeedForward):
    """F_0 = m s(b): the logit of a class that is never a target, with its features neglected."""
    return m * feedforward.activate(ops, ops.array(feedforward.bias))


def inputs(group: GroupAction):
    """(g, y) of the n_g n_y equally likely one-step inputs."""
    return tuple(index.ravel() for index in np.indices((group.n_g, group.n_y)))


def exchangeable_logits(ops, y: Exchangeable, group: GroupAction, feedforward: FeedForward):
    """F_j of every input: (n_y, n_g n_y)."""
    g, value = inputs(group)
    preactivations = 0.5 * (y.V_g[:, :, g] + y.V_y[:, :, value]) + y.chi[:, :, None] + feedforward.bias
    return model.logits(ops, preactivations, feedforward)


def exchangeable_losses(ops, y: Exchangeable, group: GroupAction, d, feedforward: FeedForward):
    """-log p of every input, with the d - n_y other classes at the constant logit F_0."""
    g, value = inputs(group)
    F = exchangeable_logits(ops, y, group, feedforward)
    outside = (d - group.n_y, outside_logit(ops, y.V_g.shape[1], feedforward))
    return model.cross_entropy(ops, F, group.action[g, value], outside)


def exchangeable_loss(ops, y: Exchangeable, group: GroupAction, d, feedforward: FeedForward):
    """Loss_5¹ over the n_g n_y inputs."""
    losses = exchangeable_losses(ops, y, group, d, feedforward)
    return losses.sum() / losses.shape[0]


def exchangeable_field(group: GroupAction, d, n_x, feedforward: FeedForward):
    """field(t, y, args) on `Exchangeable`; n_x = inf gives the many-variables limit.

    dχ/dt = 3/(2 n_x) E[ω], and ∂L/∂χ = -2 E[ω]: the metric of χ is 3 / (4 n_x).
    """
    loss = lambda ops, y: exchangeable_loss(ops, y, group, d, feedforward)
    return _descending(loss, Exchangeable(V_g=1.0, V_y=1.0, chi=0.75 / n_x))


def _descending(loss, metric):
    import jax

    from flowsys.model import ops

    def field(t, y, args):
        return jax.tree.map(lambda p, slope: -p * slope, metric, jax.grad(partial(loss, ops))(y))

    return field


def conserved(V_g, V_y):
    """Σ_g V(g) - Σ_y V(y) of every neuron, constant along every variant of the flow."""
    return V_g.sum(axis=-1) - V_y.sum(axis=-1)


def initial_exchangeable(rng: np.random.Generator, group: GroupAction, m: int, sigma_0: float) -> Exchangeable:
    """V ~ N(0, σ_0²) and χ = 0."""
    if not isinstance(m, (int, np.integer)) or m < 1:
        raise ValueError(f"m = {m}, but a positive integer is needed.")
    V_g = sigma_0 * rng.standard_normal((group.n_y, m, group.n_g))
    V_y = sigma_0 * rng.standard_normal((group.n_y, m, group.n_y))
    return Exchangeable(V_g, V_y, np.zeros((group.n_y, m)))


def combination_features(V_g, V_y, group: GroupAction):
    """V_{j,r}(g, y) averaged over g in Fib_{j,y}: (n_y, m, n_y), the feature of combination (j, y) in each neuron."""
    return np.array(
        [
            [V_g[j][:, group.fibre(j, y)].mean(axis=1) / 2 + V_y[j][:, y] / 2 for y in range(group.n_y)]
            for j in range(group.n_y)
        ]
    ).transpose(0, 2, 1)


def learned_combinations(V_g, V_y, group: GroupAction, threshold: float = 1.0) -> dict:
    """Eq. (16): how many neurons carry each combination (j, y), and the share of winners that are distinct neurons."""
    V = combination_features(V_g, V_y, group)
    winners = V.argmax(axis=1)
    distinct = np.mean([len(set(row)) / group.n_y for row in winners])
    return {"neurons": (threshold < V).sum(axis=1), "winners": winners, "distinct": float(distinct)}
