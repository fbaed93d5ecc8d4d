"""Adam: its first step, and a whole run against the formulas of its paper written out."""

import jax.numpy as jnp
import numpy as np

from flowsys.experiments.adam import Adam


def test_one_step_moves_every_weight_by_the_learning_rate():
    moved = Adam.start({"w": jnp.array([1.0, -2.0])}).step({"w": jnp.array([3.0, -0.01])}, 0.1)
    np.testing.assert_allclose(moved.weights["w"], [0.9, -1.9], atol=1e-5)
    assert moved.count == 1


def test_many_steps_are_those_of_algorithm_1_of_the_paper():
    slopes = np.random.default_rng(0).standard_normal((7, 3))
    found = Adam.start(jnp.ones(3))
    for slope in slopes:
        found = found.step(jnp.asarray(slope), 0.01)
    weights, first, second = np.ones(3), np.zeros(3), np.zeros(3)
    for t, slope in enumerate(slopes, start=1):
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= 0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-6)
