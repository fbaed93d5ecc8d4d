"""The functions of `flowsys.model.ops` with kinks that a solver can hold: every ReLU is a gate.

Everything with a kink is written with `relu`, in the order in which a model calls it; that order numbers the gates.

    exact    relu as it is
    frozen   relu(x) = gate · x: smooth between switches
    smooth   relu(x) = δ log(1 + e^(x/δ))
"""

from typing import Any

import jax.numpy as jnp

from flowsys.errors import InputError
from flowsys.model import ops

OFFERED = tuple(sorted(name for name, value in vars(ops).items() if callable(value) and not name.startswith("_")))


class GatedOps:
    """The functions for one evaluation of a model; `arguments` of the ReLUs are collected in order."""

    def __init__(self, kinks: str = "exact", gates: Any = None, kink_width: Any = None):
        self._kinks, self._gates, self._width = kinks, gates, kink_width
        self._arguments: list[Any] = []
        self._used = 0

    def __getattr__(self, name: str):
        if name not in OFFERED:
            raise InputError(f"ops.{name} is not a function a model may use; there are {', '.join(OFFERED)}.")
        return getattr(ops, name)

    @property
    def switching(self) -> Any:
        """The arguments of all ReLUs as one vector."""
        return jnp.concatenate([jnp.zeros(0), *(x.reshape(-1) for x in self._arguments)])

    def relu(self, x):
        x = jnp.asarray(x, dtype=float)
        self._arguments.append(x)
        if self._kinks == "frozen":
            first, self._used = self._used, self._used + x.size
            return self._gates[first : self._used].reshape(x.shape) * x
        return ops.smooth_relu(x, self._width) if self._kinks == "smooth" else ops.relu(x)

    def hinge(self, margin):
        return self.relu(1.0 - margin)

    def clip_above(self, x, upper):
        return upper - self.relu(upper - x)

    def abs(self, x):
        return 2.0 * self.relu(x) - x

    def maximum(self, x, y):
        return y + self.relu(x - y)

    def minimum(self, x, y):
        return x - self.relu(x - y)
