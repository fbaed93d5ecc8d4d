"""Activations and clips of the LEGO feed-forward layer against their branches."""

import jax
import numpy as np
import pytest

from flowsys.model import ops
from flowsys.systems.lego.feedforward import FeedForward

RHO, Q, VARPI, B = 0.3, 4, 0.02, 5.0
X = np.concatenate([np.linspace(-6, 6, 4001) + 1e-5, [-1e3, 1e3]])


def power(x):
    return x**Q / (Q * RHO ** (Q - 1))


BRANCHES = {
    "azl": lambda x: np.piecewise(x, [x <= 0, (x > 0) & (x <= RHO)], [0, power, lambda x: x - RHO * (1 - 1 / Q)]),
    "even": lambda x: np.piecewise(
        x, [x <= -RHO, (x > -RHO) & (x <= RHO)], [RHO / Q, power, lambda x: x - RHO * (1 - 1 / Q)]
    ),
    "B2": lambda x: np.piecewise(
        x,
        [x <= -B, (x > -B) & (x <= -VARPI), (x > -VARPI) & (x <= 0), (x > 0) & (x <= RHO)],
        [VARPI * B, lambda x: -VARPI * x, lambda x: x**2, power, lambda x: x - RHO * (1 - 1 / Q)],
    ),
}


def feedforward(activation, **options):
    return FeedForward(bias=0.1, rho=RHO, q=Q, activation=activation, varpi=VARPI, B=B, **options)


@pytest.mark.parametrize("activation", BRANCHES)
def test_activation_has_the_branches_of_its_definition(activation):
    with jax.enable_x64(True):
        ours = feedforward(activation).activate(ops, X)
    np.testing.assert_allclose(ours, BRANCHES[activation](X), rtol=1e-12, atol=1e-13)


def slope_jumps(activation, at):
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: feedforward(activation).activate(ops, x))
        return float(slope(at + 1e-9) - slope(at - 1e-9))


@pytest.mark.parametrize(
    ("activation", "at", "jump"),
    [("azl", 0, 0), ("azl", RHO, 0), ("even", -RHO, -1), ("even", RHO, 0), ("B2", -VARPI, -VARPI), ("B2", -B, -VARPI)],
)
def test_derivative_jumps_only_where_the_definition_makes_it(activation, at, jump):
    assert slope_jumps(activation, at) == pytest.approx(jump, abs=1e-6)


def test_hard_clip_stops_the_gradient_above_the_level():
    with jax.enable_x64(True):
        clip = jax.grad(lambda F: feedforward("azl", clip="hard").clip_logits(ops, F))
        assert (float(clip(B - 0.1)), float(clip(B + 0.1))) == (1.0, 0.0)


def test_smooth_clip_gates_the_gradient_by_a_sigmoid():
    with jax.enable_x64(True):
        clip = jax.grad(lambda F: feedforward("azl", clip="smooth", clip_width=0.1).clip_logits(ops, F))
        assert float(clip(B + 0.2)) == pytest.approx(1 / (1 + np.exp(2)), rel=1e-12)
