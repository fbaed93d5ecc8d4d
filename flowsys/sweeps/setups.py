"""The parameters of many points: those all share, and of what differs its values and which of them each point has.

The values of axes and the fixed ones are checked when the sweep is made, other defaults once. A default that moves with
an axis, and the system's rule for values that must go together, are called once for all points that agree in what they
read: a point itself costs no Python.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.sweep import Sweep
from flowsys.system import Parameter, Setup, System


class Varying(NamedTuple):
    """Values, and which of them every point has."""

    values: Sequence[Any]
    of: np.ndarray


@dataclass(frozen=True)
class Points:
    """Points of a system; `valid` are those whose values go together."""

    system: str
    shared: Mapping[str, Any]
    varying: Mapping[str, Varying]
    valid: np.ndarray

    def __len__(self) -> int:
        return len(self.valid)

    def values(self, place: SupportsIndex) -> dict[str, Any]:
        """The parameters of a point."""
        return {**self.shared, **{name: values[of[place]] for name, (values, of) in self.varying.items()}}

    def setup(self, place: SupportsIndex) -> Setup:
        """The setup of a valid point."""
        return Setup(self.system, self.values(place))

    def column(self, name: str, places: np.ndarray) -> np.ndarray:
        """A number of some points."""
        if name not in self.varying:
            return np.full(len(places), float(self.shared[name]))
        values, of = self.varying[name]
        return np.array(values, dtype=float)[of[places]]

    def alike(self, names: Collection[str], among: np.ndarray) -> list[np.ndarray]:
        """Some of the points, those that agree in these parameters together."""
        of = np.zeros(len(among), dtype=np.int64)
        for name in names:
            values, which = self.varying[name]
            of = np.unique(of * len(values) + which[among], return_inverse=True)[1]
        order = np.argsort(of, kind="stable")
        groups = np.split(among[order], np.flatnonzero(np.diff(of[order])) + 1)
        return sorted((group for group in groups if len(group)), key=itemgetter(0))

    def with_seeds(self, n: int) -> "Points":
        """Every point n times, with the seeds seed … seed + n - 1."""
        of = np.repeat(np.arange(len(self)), n)
        first = self.column("seed", np.arange(len(self))).astype(int)
        seeds = (first[:, None] + np.arange(n)).ravel().tolist()
        varying = {name: Varying(values, which[of]) for name, (values, which) in self.varying.items()}
        return replace(self, varying={**varying, "seed": Varying(seeds, np.arange(len(of)))}, valid=self.valid[of])


def points_at(sweep: Sweep, indices: np.ndarray) -> Points:
    """The points of a sweep with these flat indices."""
    given = {
        axis.name: Varying(axis.values, of) for axis, of in zip(sweep.axes, np.unravel_index(indices, sweep.shape))
    }
    if sweep.fresh_seeds:
        seeds = [sweep.parameters(index)["seed"] for index in indices]
        given["seed"] = Varying(seeds, np.arange(len(indices)))
    points = Points(sweep.system.name, {}, given, np.ones(len(indices), dtype=bool))
    for parameter in sweep.system.parameters:
        name = parameter.name
        if name in given or name in sweep.fixed:
            value = given[name].values[0] if name in given else sweep.fixed[name]
            points = replace(points, shared={**points.shared, name: value})
        else:
            points = _settled(points, parameter)
    return replace(points, valid=_everywhere(partial(_goes_together, sweep.system), points)[1])


def _settled(points: Points, parameter: Parameter) -> Points:
    """The points with a parameter at its default, which may follow from the values before it."""
    default = parameter.default
    found, valid = _everywhere(lambda of: parameter.check(default(of) if callable(default) else default), points)
    shared = {**points.shared, parameter.name: found.values[0] if found.values else None}
    varying = {**points.varying, parameter.name: found} if len(found.values) > 1 else points.varying
    return replace(points, shared=shared, varying=varying, valid=valid)


def _goes_together(system: System, values: Mapping[str, Any]) -> bool:
    system.validate(values)
    return True


class _Reads(Mapping):
    """Values, and which of them were looked at."""

    def __init__(self, values: Mapping[str, Any]):
        self.values_ = values
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self.values_[name]

    def __iter__(self):
        self.read |= set(self.values_)
        return iter(self.values_)

    def __len__(self) -> int:
        self.read |= set(self.values_)
        return len(self.values_)


def _everywhere(function: Callable[[Mapping[str, Any]], Any], points: Points) -> tuple[Varying, np.ndarray]:
    """What a function of the parameters gives at all valid points, and which of them it does not refuse.

    It is called at one point of those that agree in all that any call reads: its other calls would go the same way.
    """
    read: set[str] = set()
    while True:
        groups, found, seen = points.alike(sorted(read), np.flatnonzero(points.valid)), [], set(read)
        for group in groups:
            values = _Reads(points.values(group[0]))
            with suppress(InputError):
                found.append((group, function(values)))
            seen |= values.read & points.varying.keys()
            if seen > read:
                break
        if seen == read:
            break
        read = seen
    number = {value: i for i, value in enumerate(dict.fromkeys(value for _, value in found))}
    of, valid = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=bool)
    for group, value in found:
        of[group], valid[group] = number[value], True
    return Varying(list(number), of), valid
