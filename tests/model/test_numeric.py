"""The functions of models on NumPy arrays give what those on JAX arrays give."""

import jax
import numpy as np
import pytest

from flowsys.model import numeric, ops
from flowsys.model.gates import OFFERED

RNG = np.random.default_rng(0)
X, Y = 3 * RNG.standard_normal((2, 4, 5))
COUNTS, TARGET = np.array([1.0, 0.0, 3.0, 2.0, 1.0]), np.array([0, 4, 2, 2])
FAR = np.array([[0.0, 1000.0, -1000.0, 2.0, 2.0]] * 4)  # the largest score is of a kind that does not occur
GIVEN = {
    "array": [([1, 2.5],)], "stack": [([X, Y],)], "concatenate": [([X, Y],)], "einsum": [("ij,kj->ik", X, Y)],
    "log": [(X**2,)], "sqrt": [(X**2,)], "arcsin": [(np.tanh(X),)], "name": [("a label", X)],
    "largest": [(X,), ([X[0], Y[0]],)], "smallest": [(X,), ([X[0], Y[0]],)],
    "maximum": [(X, Y)], "minimum": [(X, Y)], "clip_above": [(X, 0.5)], "smooth_relu": [(X, 0.1)],
    "power_relu": [(X, 0.7, q) for q in (2, 3, 4, 6, 7, 10)],
    "softmax": [(X,), (X, COUNTS), (FAR, COUNTS), (X, None, 0)], "attend": [(Y, X), (Y, X, COUNTS), (Y, FAR, COUNTS)],
    "log_sum_exp": [(X,), (X, COUNTS), (FAR, COUNTS), (X, None, 0)],
    "cross_entropy": [(X, TARGET), (300 * X, TARGET), (X, TARGET, COUNTS), (X.T, TARGET, None, 0)],
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERED)
def test_every_function_gives_what_it_gives_on_jax_arrays(name):
    for arguments in GIVEN.get(name, [(X,)]):
        with jax.enable_x64(True):
            expected = np.asarray(getattr(ops, name)(*arguments))
        found = getattr(numeric, name)(*arguments)
        assert isinstance(found, np.ndarray) and np.isfinite(found).all()
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


def test_axes_other_than_the_last():
    scores, counts = RNG.normal(0, 30, (40, 5)), np.array([1.0, 3.0, 0.0, 1e12, 2.0])
    target = RNG.integers(5, size=40)
    turned = numeric.cross_entropy(scores.T, target, counts, axis=0)
    assert turned.tolist() == numeric.cross_entropy(scores, target, counts).tolist()
    sums = numeric.log_sum_exp(scores.T, counts[:, None], axis=0)
    assert sums == pytest.approx(numeric.log_sum_exp(scores, counts), rel=1e-14)
