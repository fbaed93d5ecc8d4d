"""Setups of many points: what `System.setup` gives for each, at the cost of what differs between them.

The values of axes and the fixed ones are checked when the sweep is made, defaults that no axis touches once; a point is
left with the other defaults, and with the system's rule for values that must go together.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.over_seeds import fresh_seed
from flowsys.sweeps.sweep import Sweep
from flowsys.system import Parameter, Setup


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


def setups(sweep: Sweep, indices: np.ndarray) -> Iterator[Setup | None]:
    """The setups of points by their flat index; None where values do not go together."""
    places = np.stack(np.unravel_index(indices, sweep.shape), axis=-1).tolist()
    system, (template, moving) = sweep.system, _template(sweep)
    for place in places:
        values = dict(template)
        for axis, i in zip(sweep.axes, place):
            values[axis.name] = axis.values[i]
        if sweep.fresh_seeds:
            values["seed"] = fresh_seed(values["seed"], {axis.name: values[axis.name] for axis in sweep.axes})
        try:
            for parameter in moving:
                values[parameter.name] = parameter.check(parameter.default(values))
            system.validate(values)
        except InputError:
            yield None
        else:
            yield Setup(system.name, values)


def _template(sweep: Sweep) -> tuple[dict[str, Any], Sequence[Parameter]]:
    """The values all points share (in the order of the parameters), and the parameters whose defaults move along."""
    varying = {axis.name for axis in sweep.axes}
    moving: list[Parameter] = []
    values: dict[str, Any] = {}
    for parameter in sweep.system.parameters:
        name = parameter.name
        if name in varying:
            values[name] = next(axis.values[0] for axis in sweep.axes if axis.name == name)
        elif name in sweep.fixed:
            values[name] = sweep.fixed[name]
        elif not callable(parameter.default):
            values[name] = parameter.check(parameter.default)
        else:
            reads = _Reads(values)
            default = parameter.default(reads)
            # a default that reads nothing that varies is the same everywhere
            if reads.read & (varying | {p.name for p in moving}):
                moving.append(parameter)
                values[name] = default
            else:
                values[name] = parameter.check(default)
    return values, moving
