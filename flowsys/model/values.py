"""The parameters as a model's functions see them, `p.omega`, and functions remembered by what they read of them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import numpy as np

from flowsys.errors import InputError


class Named(Protocol):
    """Parameters by name: a setup, a mapping, or what a model's functions see."""

    def __getitem__(self, name: str, /) -> Any: ...


class Values:
    """Parameters by attribute; `reads` collects which were looked at, `refused` says why some may not be."""

    def __init__(
        self,
        values: Mapping[str, Any],
        refused: Mapping[str, str] | None = None,
        noted: set[str] | None = None,
    ):
        self._values, self._refused, self._noted = values, refused or {}, set() if noted is None else noted
        self._reads: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._refused:
            raise InputError(self._refused[name])
        if name not in self._values:
            raise InputError(f"p.{name} is not a parameter of the model; there are {', '.join(self._values)}.")
        self._noted.add(name)
        self._reads[name] = self._values[name]
        return self._values[name]

    def __getitem__(self, name: str) -> Any:
        """As a setup has it, so that one function reads both."""
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def reads(self) -> dict[str, Any]:
        return self._reads


def arrays_of(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The values that are columns: those of many points posed at once."""
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def told_apart(columns: Mapping[str, np.ndarray], read: Collection[str]) -> tuple[list[dict[str, float]], np.ndarray]:
    """The distinct values of the columns that are read, by name, and which of them every point has."""
    n = len(next(iter(columns.values())))
    chosen, of = {name: column for name, column in columns.items() if name in read}, np.zeros(n, dtype=np.int64)
    for column in chosen.values():
        of = np.unique(of * n + np.unique(column, return_inverse=True)[1], return_inverse=True)[1]
    first = np.unique(of, return_index=True)[1]
    return [{name: float(column[place]) for name, column in chosen.items()} for place in first], of


def at_points(function: Callable[[Values], Any], values: Mapping[str, Any]) -> Any:
    """What a function of `p` gives; of many points posed at once an array, if it reads one of their columns.

    It is called at numbers, once for all points that agree in what it reads.
    """
    columns = arrays_of(values)
    if not columns:
        return function(Values(values))
    usual, read = {**values, **{name: float(column[0]) for name, column in columns.items()}}, set[str]()
    while True:
        each, of = told_apart(columns, read)
        asked = [Values({**usual, **changes}) for changes in each]
        found = [function(p) for p in asked]
        seen = read.union(*(p.reads for p in asked)) & columns.keys()
        if seen == read:
            return np.array(found)[of] if read else found[0]
        read = seen


class Remembered:
    """A function of `p`, called once for every set of values that it looked at."""

    def __init__(self, function: Callable[[Values], Any], most: int = 256):
        self._function, self._most = function, most
        self._known: dict[tuple[str, ...], dict[tuple, Any]] = {}  # by the names that were read, then by their values

    def __call__(self, values: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> Any:
        return self.with_reads(values, refused)[0]

    def with_reads(self, values: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> tuple[Any, dict]:
        """The result and what was read for it."""
        for names, results in self._known.items():
            read = tuple(values[name] for name in names)
            if read in results:
                for name in names:
                    if refused and name in refused:
                        raise InputError(refused[name])
                return results[read], dict(zip(names, read))
        p = Values(values, refused)
        result = self._function(p)
        results = self._known.setdefault(tuple(p.reads), {})
        results[tuple(p.reads.values())] = result
        if len(results) > self._most:
            del results[next(iter(results))]
        return result, p.reads
