"""Where arrays stand in a flat state: plain data that is saved with a trajectory, so that it can give them back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Placed:
    """An array in a state: in one piece from `first` on, or entry by entry at `positions` (-1: a zero) with `signs`."""

    shape: tuple[int, ...]
    first: int = 0
    positions: np.ndarray | None = None
    signs: np.ndarray | None = None

    def read(self, state: np.ndarray) -> np.ndarray:
        """The array in one state."""
        if self.positions is None:
            return state[self.first : self.first + int(np.prod(self.shape, dtype=int))].reshape(self.shape)
        found = np.append(state, 0.0)[self.positions]
        return found if self.signs is None else self.signs * found

    def as_dict(self) -> dict[str, Any]:
        plain = {"shape": list(self.shape), "first": self.first}
        for name in ("positions", "signs"):
            values = getattr(self, name)
            plain[name] = None if values is None else values.astype(int).ravel().tolist()
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Placed":
        shape = tuple(plain["shape"])
        arrays = [
            None if plain[k] is None else np.array(plain[k], dtype=int).reshape(shape) for k in ("positions", "signs")
        ]
        return cls(shape, plain["first"], *arrays)


def in_a_row(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Placed]:
    """Arrays one after the other."""
    found, first = {}, 0
    for name, shape in shapes.items():
        found[name] = Placed(tuple(shape), first)
        first += int(np.prod(shape, dtype=int))
    return found
