"""The isotropic feed-forward layer: one neuron per fibre, four feature values, invariant for every transitive action.

Neuron r_{j,y} has V(g) = a on Fib_{j,y} and b' off it, V(y) = c and V(y') = e for y' ≠ y. Then F_j(g, y) depends only
on whether g(y) = j, and the group enters only through (n_g, n_y), which may be symbols. The four numbers stand for
n_g n_y, n_g n_y (n_y - 1), n_y², n_y² (n_y - 1) equal weights: dθ/dt = -(1/n_θ) ∂L/∂θ.
"""

from typing import Any, NamedTuple

from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.groups import GroupAction


class Isotropic(NamedTuple):
    """Feature values: a in the fibre, b' off it, c on the neuron's own value, e on the others."""

    a: Any
    b_prime: Any
    c: Any
    e: Any


class Layer(NamedTuple):
    """An isotropic layer that stage 2 keeps fixed."""

    group: GroupAction
    features: Isotropic
    d: float
    feedforward: FeedForward


def multiplicities(n_g, n_y) -> Isotropic:
    """How many weights share each of the four values."""
    return Isotropic(n_g * n_y, n_g * n_y * (n_y - 1), n_y**2, n_y**2 * (n_y - 1))


def one_step_logits(ops, y: Isotropic, n_y, feedforward: FeedForward):
    """(F_c, F_w): the unclipped logits of the correct value and of each wrong one under uniform attention."""
    s = lambda left, right: feedforward.activate(ops, (left + right) / 2 + feedforward.bias)
    background = s(y.b_prime, y.e)
    correct = s(y.a, y.c) + (n_y - 1) * background
    wrong = s(y.b_prime, y.c) + s(y.a, y.e) + (n_y - 2) * background
    return correct, wrong


def one_step_log_odds(ops, y: Isotropic, n_y, d, feedforward: FeedForward):
    """log[(n_y - 1) e^(F_w - F_c) + (d - n_y) e^(F_0 - F_c)], whose softplus is Loss_5¹."""
    correct, wrong = (feedforward.clip_logits(ops, F) for F in one_step_logits(ops, y, n_y, feedforward))
    margins = ops.stack([wrong - correct, feedforward.F_0 - correct])
    return ops.log_sum_exp(margins, counts=ops.array([n_y - 1, d - n_y]))


def conserved(y: Isotropic, n_g, n_y):
    """f a + n_g (1 - 1/n_y) b' - c - (n_y - 1) e with f = n_g / n_y."""
    return n_g / n_y * y.a + n_g * (1 - 1 / n_y) * y.b_prime - y.c - (n_y - 1) * y.e
