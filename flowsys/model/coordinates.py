"""What the loss sees of all blocks as one flat vector: names, positions, and the way there and back."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from flowsys.model.blocks import ConcreteBlock
from flowsys.model.pairs import PairBlock


class Coordinates:
    """The coordinates of the reduced flow (L2): direct blocks entry by entry, pairs as S, KK, QQ, head by head."""

    def __init__(self, blocks: Sequence[ConcreteBlock]):
        self.blocks = tuple(blocks)
        self.positions: dict[str, np.ndarray] = {}
        first = 0
        for block in self.blocks:
            self.positions |= block.positions(first)
            first = 1 + max(int(self.positions[name].max()) for name in block.arrays)
        self.size = first

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.entry_names())

    @cached_property
    def averages(self) -> tuple[str, ...]:
        """The names under which the averages of the entries' classes are observed."""
        return tuple(f"average_{name}" for name in self.names)

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: shape for block in self.blocks for name, shape in block.arrays.items()}

    def split(self, y: Any) -> dict[str, Any]:
        """Arrays by name from flat states (leading axes allowed)."""
        return {name: y[..., at] for name, at in self.positions.items()}

    def join(self, seen: Mapping[str, Any], xp: Any = np) -> Any:
        """The flat state of arrays by name; self-products are read above the diagonal."""
        return xp.concatenate([part for block in self.blocks for part in block.packed(seen)])

    def grams(self) -> list[tuple[PairBlock, np.ndarray]]:
        """Every Gram matrix as a matrix of positions, with its block; one for each head."""
        found = []
        for block in self.blocks:
            if isinstance(block, PairBlock):
                M = block.matrix(self.positions, np)
                found += [(block, M)] if block.heads is None else [(block, matrix) for matrix in M]
        return found
