"""Signed averages over the classes of the limit, observed at every level: at finite width a class is not one number.

`average_S_p_q` is the average over the class of S_p_q, with the sign of the class's first entry; any entry of a class
names it. The limit is derived only when one is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.coordinates import Coordinates
from flowsys.model.limit import limit_of
from flowsys.symbolic.lumping import Partition

PREFIX = "average_"


class Averages(Mapping):
    """{average_NAME: function(state)}, for states of a finite level; `flat` gives what the loss sees of a state."""

    def __init__(self, concrete: Concrete, flat: Callable[..., np.ndarray]):
        self._concrete, self._flat = concrete, flat

    @property
    def _coordinates(self) -> Coordinates:
        return self._concrete.coordinates

    @cached_property
    def _partition(self) -> Partition:
        there = Concrete(self._concrete.declaration, self._concrete.values, self._concrete.mode, at_limit=True)
        return limit_of(there).partition

    def __getitem__(self, name: str) -> Callable[..., float]:
        if name not in self:
            raise KeyError(name)
        label = class_of(self._coordinates, self._partition, name)
        members = np.flatnonzero(self._partition.labels == label)
        signs = self._partition.signs[members]
        return lambda *state: float(np.mean(signs * self._flat(*state)[members]))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.startswith(PREFIX) and name[len(PREFIX) :] in self._coordinates.index

    def __iter__(self) -> Iterator[str]:
        return iter(self._coordinates.averages)

    def __len__(self) -> int:
        return self._coordinates.size


class Classes(Averages):
    """The same in the limit, where the average of a class is its value."""

    def __init__(self, concrete: Concrete, partition: Partition):
        self._concrete, self._partition = concrete, partition

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self:
            raise KeyError(name)
        label = class_of(self._coordinates, self._partition, name)
        return lambda state: state[label]


def class_of(coordinates: Coordinates, partition: Partition, name: str) -> int:
    """The class whose average has that name."""
    entry = name[len(PREFIX) :]
    label = int(partition.labels[coordinates.index[entry]])
    if label < 0:
        raise InputError(f"observe = {name}: {entry} stays 0 in the limit and belongs to no class.")
    return label
