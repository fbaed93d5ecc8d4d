"""The max-margin separator against direct minimisation, and its dual weights against the conditions of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from flowsys.model.separator import separator

rows = st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=6).map(np.array)


@settings(deadline=None, max_examples=40)
@given(rows)
def test_max_margin_is_the_distance_to_the_convex_hull(features):
    n, size = len(features), np.abs(features).max() or 1.0  # the minimiser's tolerance is absolute
    best = minimize(lambda a: ((features.T / size @ a) ** 2).sum(), np.ones(n) / n, bounds=[(0, 1)] * n,
                    constraints={"type": "eq", "fun": lambda a: a.sum() - 1}, method="SLSQP",
                    options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    assert separator(features).margin == pytest.approx(size * np.sqrt(max(best.fun, 0)), abs=1e-4 * size)


@settings(deadline=None, max_examples=40)
@given(rows, st.floats(0.01, 100))
def test_max_margin_scales_with_its_features(features, scale):
    margin, scaled = separator(features).margin, separator(scale * features).margin
    assert scaled == pytest.approx(scale * margin, rel=1e-6, abs=1e-8 * max(1.0, scale))


def test_max_margin_of_opposite_points_is_zero():
    assert separator(np.array([[1.0, 2.0], [-1.0, -2.0]])).margin == 0


@pytest.mark.parametrize("seed", range(5))
def test_dual_weights_give_margins_of_one_where_they_are_positive(seed):
    vectors = np.random.default_rng(seed).normal(size=(5, 3)) + 2.0
    A = separator(vectors).dual_weights
    margins = vectors @ vectors.T @ A
    assert margins.min() >= 1 - 1e-9 and A @ (margins - 1) == pytest.approx(0, abs=1e-9)
    assert A.sum() == pytest.approx(separator(vectors).margin ** -2, rel=1e-12)
