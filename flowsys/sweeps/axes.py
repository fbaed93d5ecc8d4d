"""Axes of a sweep: a parameter and the values it takes.

Written `NAME=start:stop:count`, `NAME=start:stop:count:log`, or as a list `NAME=a,b,c` (numbers or categories).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.system import System

MOST_VALUES = 10_000_000  # of one axis
SYNTAX = "write NAME=start:stop:count, add :log, or NAME=a,b,c"


class Places(np.ndarray):
    """The values of an axis as an array that knows whether they are spaced `by_factors`, which its results do not."""

    by_factors: bool = False

    def __array_wrap__(self, array, context=None, return_scalar=False):
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


def cell_edges(values: np.ndarray) -> np.ndarray:
    """Where the cells of an axis end: half-way between values, by factors on a logarithmic axis; words count from 0."""
    is_number, by_factors = values.dtype.kind in "iuf", getattr(values, "by_factors", False)
    at = np.asarray(values, dtype=float) if is_number else np.arange(len(values), dtype=float)
    warp, unwarp = (np.log, np.exp) if by_factors else (np.asarray, np.asarray)
    if len(at) == 1:
        return unwarp(warp(at) + np.array([-0.5, 0.5]))
    middles = (warp(at)[1:] + warp(at)[:-1]) / 2
    first, last = 2 * warp(at)[[0, -1]] - middles[[0, -1]]
    return unwarp(np.concatenate([[first], middles, [last]]))


@dataclass(frozen=True)
class Axis:
    """A swept parameter. `spacing` is linear, log or list; it only matters for drawing and refining."""

    name: str
    values: tuple[Any, ...]
    spacing: str = "linear"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def places(self) -> Places:
        """The values as an array."""
        places = np.array(self.values).view(Places)
        places.by_factors = self.spacing == "log"
        return places

    @property
    def edges(self) -> np.ndarray:
        """Where its cells end."""
        return cell_edges(self.places)

    @property
    def text(self) -> str:
        """How the axis is written on the command line."""
        if self.spacing == "list" or len(self) == 1:
            return f"{self.name}={','.join(map(str, self.values))}"
        ends = f"{self.name}={self.values[0]}:{self.values[-1]}:{len(self)}"
        return f"{ends}:log" if self.spacing == "log" else ends


def parse_axis(text: str) -> Axis:
    """The axis a text describes."""
    name, separator, spec = text.partition("=")
    refusal = InputError(f"axis {text} is not understood: {SYNTAX}.")
    if not separator or not name.strip() or not spec.strip():
        raise refusal
    parts = spec.split(":")
    if len(parts) == 1:
        values = tuple(_number_or_text(p.strip()) for p in spec.split(",") if p.strip())
        if not values:
            raise refusal
        return Axis(name.strip(), values, "list")
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] != "log"):
        raise refusal
    try:
        start, stop, count = float(parts[0]), float(parts[1]), int(parts[2])
    except ValueError:
        raise refusal from None
    if not (np.isfinite(start) and np.isfinite(stop)):
        raise InputError(f"axis {text} is not allowed: start and stop must be finite numbers.")
    if count < 1:
        raise InputError(f"axis {text} is not allowed: it needs at least 1 point, not {count}.")
    if count > MOST_VALUES:
        raise InputError(f"axis {text} is not allowed: it may have at most {MOST_VALUES} points, not {count}.")
    if len(parts) == 4:
        if start <= 0 or stop <= 0:
            raise InputError(f"axis {text} is not allowed: a logarithmic axis needs positive ends.")
        return Axis(name.strip(), tuple(np.geomspace(start, stop, count).tolist()), "log")
    return Axis(name.strip(), tuple(np.linspace(start, stop, count).tolist()))


def checked(axis: Axis, system: System) -> Axis:
    """The axis with every value checked against the parameter's range; integers are rounded and made unique."""
    parameters = {p.name: p for p in system.parameters}
    if axis.name not in parameters:
        raise system.unknown_parameter(axis.name)
    parameter = parameters[axis.name]
    if not parameter.choices and (odd := [v for v in axis.values if isinstance(v, str)]):
        raise InputError(f"axis {axis.name}={','.join(odd)} is not understood: {SYNTAX}.")
    values: Sequence[Any] = axis.values
    if parameter.integer and axis.spacing != "list":
        values = list(dict.fromkeys(round(v) for v in values))
    return Axis(axis.name, tuple(parameter.check(v) for v in values), axis.spacing)


def _number_or_text(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
