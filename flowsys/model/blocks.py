"""Blocks of weights at given sizes: their shapes, what the loss sees of them, and how that moves.

With g the slope of the loss in what it sees, R the linear map `read`, and C = R Rᵀ times the block's rate, a direct
block y = R θ moves with dy/dt = -C g, and a step of descent is y ← y - η C g. For pairs see `flowsys.model.pairs`.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.axes import (
    check_rate,
    labels_of,
    linear,
    numbers,
    product_names,
    seen_axes,
    seen_through,
)
from flowsys.model.calling import called
from flowsys.model.declaration import Block, Direct, Pair
from flowsys.model.pairs import PairBlock


class DirectBlock:
    """A direct block at given sizes. `arrays` are the names and shapes of what the loss sees."""

    is_pair = False

    def __init__(self, name: str, block: Direct):
        where = f"block {name}"
        self.name, self.block = name, block
        self.axes = tuple(labels_of(axis, where) for axis in block.axes)
        self.shape = tuple(map(len, self.axes))
        self.weights = {name: self.shape}
        self.read = None if block.read is None else linear(block.read, where)
        self.mark, seen = (b"", self.shape) if self.read is None else seen_through(self.read, self.shape, where)
        check_rate(block.rate, where)
        self.seen_axes = seen_axes(self.axes, seen)
        self.arrays = {name: seen}

    @property
    def has_closure(self) -> bool:
        """Whether what is seen differs from the weights themselves."""
        return self.read is not None

    @property
    def is_random(self) -> bool:
        return callable(self.block.start)

    def entry_axes(self) -> tuple:
        """What the coordinates depend on."""
        return self.seen_axes

    def entry_names(self) -> list[str]:
        return product_names(self.name, self.seen_axes)

    def positions(self, first: int) -> dict[str, np.ndarray]:
        shape = self.arrays[self.name]
        return {self.name: first + np.arange(int(np.prod(shape, dtype=int))).reshape(shape)}

    def packed(self, seen: Mapping[str, Any]) -> list[Any]:
        return [seen[self.name].reshape(-1)]

    def initial(self, rng: np.random.Generator, width: int) -> dict[str, np.ndarray]:
        start = self.block.start
        if callable(start):
            start = called(f"the start of block {self.name}", start, rng)
        return {self.name: self._shaped(start, "start")}

    def limit(self) -> dict[str, np.ndarray]:
        """What is seen at infinite width."""
        if self.block.limit is None and self.is_random:
            raise InputError(
                f"block {self.name} starts at random and has no limit: give limit=…, the start at infinite width."
            )
        given = self.block.start if self.block.limit is None else self.block.limit
        return self.seen({self.name: self._shaped(given, "limit")})

    def _shaped(self, value: Any, what: str) -> np.ndarray:
        found = numbers(value, f"block {self.name}: {what}")
        if found.ndim and found.shape != self.shape:
            raise InputError(f"block {self.name}: {what} has shape {found.shape}, but the block has {self.shape}.")
        return np.broadcast_to(found, self.shape).copy()

    def seen(self, weights: dict[str, Any]) -> dict[str, Any]:
        x = weights[self.name]
        return {self.name: x if self.read is None else self.read(x)}

    def unread(self) -> "DirectBlock":
        """The block without its `read`: all of its weights are seen."""
        block = copy(self.block)
        block.read = None
        return DirectBlock(self.name, block)

    def read_of(self, whole: dict[str, Any]) -> dict[str, Any]:
        """What the loss sees of what is seen unread."""
        return self.seen(whole)

    def rates(self, seen, slopes, trains, rates) -> dict[str, Any]:
        """d/dt of what is seen, from the loss's slopes in it."""
        return {self.name: -trains * rates[self.name] * self.spread(slopes[self.name])}

    def step(self, seen, slopes, η, rates) -> dict[str, Any]:
        return {self.name: seen[self.name] - η * rates[self.name] * self.spread(slopes[self.name])}

    def spread(self, slope):
        """R Rᵀ slope, by transposition."""
        if self.read is None:
            return slope
        import jax

        transposed = jax.linear_transpose(self.read, jax.ShapeDtypeStruct(self.shape, slope.dtype))
        return self.read(transposed(slope)[0])

    def weight_rates(self) -> dict[str, float]:
        return {self.name: self.block.rate}


ConcreteBlock = DirectBlock | PairBlock


def concrete(name: str, block: Block) -> ConcreteBlock:
    """A declared block at given sizes."""
    if isinstance(block, Direct):
        return DirectBlock(name, block)
    if isinstance(block, Pair):
        return PairBlock(name, block)
    raise InputError(f"block {name} is a {type(block).__name__}, but blocks are fs.Direct or fs.Pair.")
