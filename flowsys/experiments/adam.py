"""Adam on any tree of weights, for experiments that are not gradient flow: one step, a value that can be kept."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

DECAY_1, DECAY_2, FLOOR = 0.9, 0.999, 1e-8


class Adam(NamedTuple):
    """Weights, the running means of their slopes and of the squares, and how many steps were taken."""

    weights: Any
    first: Any
    second: Any
    count: Any

    @classmethod
    def start(cls, weights: Any) -> "Adam":
        """Before the first step."""
        zeros = jax.tree.map(jnp.zeros_like, weights)
        return cls(weights, zeros, zeros, jnp.zeros((), dtype=jnp.int32))

    def step(self, slope: Any, learning_rate: Any) -> "Adam":
        """After one more step; both means are freed of their start at 0."""
        count = self.count + 1
        first = jax.tree.map(lambda m, g: DECAY_1 * m + (1 - DECAY_1) * g, self.first, slope)
        second = jax.tree.map(lambda v, g: DECAY_2 * v + (1 - DECAY_2) * g * g, self.second, slope)
        seen_1, seen_2 = 1 - DECAY_1**count, 1 - DECAY_2**count
        move = lambda w, m, v: w - learning_rate * (m / seen_1) / (jnp.sqrt(v / seen_2) + FLOOR)
        return Adam(jax.tree.map(move, self.weights, first, second), first, second, count)
