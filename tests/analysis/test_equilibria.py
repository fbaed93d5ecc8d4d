"""Equilibria: those of a linear network, a continuous family, and growth without end."""

from pathlib import Path

import numpy as np
import pytest

import flowsys as fs
from flowsys.systems.outside import from_file

NETWORK = Path(__file__).parents[2] / "examples" / "linear_network.py"


def test_a_linear_network_of_three_modes_has_eight_stationary_points():
    """On the balanced leaf every mode is learned or not; those that are not are unstable."""
    found = fs.analyse(from_file(str(NETWORK)), equilibria=True)
    assert [point.unstable for point in found.points] == [3, 2, 2, 2, 1, 1, 1, 0]
    for point in found.points:
        strengths = np.array(list(point.state.values()))
        learned = np.abs(strengths - [3, 2, 1]) < 1e-6
        assert (learned | (np.abs(strengths) < 1e-6)).all() and point.unstable == (~learned).sum()
        assert point.family == 0
    assert [point.is_end for point in found.points] == [False] * 7 + [True]
    assert found.towards is None and "<svg" in found._repr_html_()


def test_a_product_has_a_family_of_minima():
    """½(a b - 1)² has the hyperbola a b = 1, of one dimension, and the saddle 0."""
    model = fs.Model(
        "product",
        blocks=lambda p: {"a": fs.Direct(start=0.1), "b": fs.Direct(start=0.3)},
        loss=lambda ops, w, X, p: 0.5 * (w.a * w.b - 1) ** 2,
        t_max=100.0,
    )
    saddle, minima = fs.analyse(model, equilibria=True).points
    assert (saddle.unstable, saddle.family, saddle.kind) == (1, 0, "saddle")
    assert (minima.unstable, minima.family, minima.kind) == (0, 1, "attracting")


def test_a_separable_loss_grows_like_a_logarithm():
    model = fs.Model(
        "logistic",
        blocks=lambda p: {"w": fs.Direct(2)},
        loss=lambda ops, w, X, p: ops.softplus(-w.w[0] - 2 * w.w[1]) + ops.softplus(-w.w[0] + 0.0 * w.w[1]),
        t_max=1e8,
    )
    found = fs.analyse(model, equilibria=True)
    assert found.points == () and found.towards.law == "logarithm"
    assert found.towards.direction["w_0"] == pytest.approx(1, abs=0.05)
    assert any("grows without end" in remark for remark in found.remarks)
