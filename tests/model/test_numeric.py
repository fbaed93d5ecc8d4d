"""Functions on NumPy arrays are those that a model may use, number by number."""

from inspect import isfunction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.model import numeric, ops

RNG = np.random.default_rng(0)
SCORES = RNG.normal(0, 30, (40, 5))
COUNTS = np.array([1.0, 3.0, 0.0, 1e12, 2.0])
CALLS = {
    "relu": (SCORES,),
    "smooth_relu": (SCORES, 0.3),
    "clip_above": (SCORES, 4.0),
    "log_sum_exp": (SCORES, COUNTS),
    "cross_entropy": (SCORES, RNG.integers(5, size=40), COUNTS),
}


@pytest.mark.parametrize("name", [*CALLS, *(f"power_relu {q}" for q in (2, 3, 4, 6, 7, 10))])
def test_a_function_on_numpy_arrays_gives_what_the_model_s_gives(name):
    name, *power = name.split()
    arguments = CALLS[name] if not power else (SCORES / 20, 0.7, int(power[0]))
    found = getattr(numeric, name)(*arguments)
    assert isinstance(found, np.ndarray)
    with jax.enable_x64(True):
        wanted = getattr(ops, name)(*(jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments))
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-300)


def test_every_function_is_looked_at():
    public = {name for name, value in vars(numeric).items() if isfunction(value) and not name.startswith("_")}
    assert public - {"concatenate", "stack"} == {*CALLS, "power_relu"}


def test_axes_other_than_the_last():
    target = RNG.integers(5, size=40)
    turned = numeric.cross_entropy(SCORES.T, target, COUNTS, axis=0)
    assert turned.tolist() == numeric.cross_entropy(SCORES, target, COUNTS).tolist()
    sums = numeric.log_sum_exp(SCORES.T, COUNTS[:, None], axis=0)
    assert sums == pytest.approx(numeric.log_sum_exp(SCORES, COUNTS), rel=1e-14)
