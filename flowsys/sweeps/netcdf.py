"""Phase diagrams as netCDF files, written and read slab by slab: memory does not grow with the number of points.

Dimensions are the swept parameters (first axis first), variables the quantities and `outcome`, attributes provenance.
Equal diagrams are equal files, bit for bit.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.machine.files import unreadable
from flowsys.sweeps.axes import Axis

Slab = tuple[int, np.ndarray, np.ndarray]
KIND = "flowsys phase diagram"


def write(
    path: Path,
    axes: Sequence[Axis],
    names: Sequence[str],
    outcome_names: Sequence[str],
    origin: Mapping[str, Any],
    slabs: Iterable[Slab],
) -> None:
    """Write a file from slabs (flat index of the first point, quantities × points, outcomes), in any order."""
    import h5netcdf

    dims, shape = tuple(axis.name for axis in axes), tuple(len(axis) for axis in axes)
    try:
        with h5netcdf.File(path, "w") as file:
            file.dimensions = dict(zip(dims, shape))
            for axis in axes:
                _write_coordinate(file, axis)
            variables = [file.create_variable(name, dims, "f8", fillvalue=np.nan) for name in names]
            outcome = file.create_variable("outcome", dims, "u1")
            outcome.attrs["flag_values"] = np.arange(len(outcome_names), dtype=np.uint8)
            outcome.attrs["flag_meanings"] = "; ".join(outcome_names)
            file.attrs["kind"] = KIND
            file.attrs["origin"] = json.dumps(dict(origin))
            file.attrs["spacing"] = json.dumps([axis.spacing for axis in axes])
            file.attrs["dims"] = json.dumps(dims)
            for start, values, outcomes in slabs:
                for box, first, last in boxes(start, start + len(outcomes), shape):
                    extent = tuple(s.stop - s.start for s in box)
                    for variable, row in zip(variables, values):
                        variable[box] = row[first:last].reshape(extent)
                    outcome[box] = outcomes[first:last].reshape(extent)
    except (RuntimeError, ValueError) as error:  # HDF5 reports a full disk in either way
        raise OSError(str(error)) from error


def _write_coordinate(file, axis: Axis) -> None:
    import h5py

    values = np.array(axis.values)
    if values.dtype.kind in "OU":
        variable = file.create_variable(axis.name, (axis.name,), h5py.string_dtype())
        values = np.array([str(v) for v in axis.values], dtype=object)
    else:
        variable = file.create_variable(axis.name, (axis.name,), values.dtype)
    variable[...] = values


def boxes(start: int, stop: int, shape: Sequence[int]) -> Iterator[tuple[tuple[slice, ...], int, int]]:
    """The flat range start … stop of a grid as boxes, each with its place in the range."""
    at = start
    while at < stop:
        inner = 1
        for depth in range(len(shape) - 1, -1, -1):
            # the largest block of whole rows that begins here
            if depth == 0 or at % (inner * shape[depth]) or at + inner * shape[depth] > stop:
                break
            inner *= shape[depth]
        place = np.unravel_index(at, shape)
        count = min((stop - at) // inner, shape[depth] - int(place[depth]))
        box = [slice(int(i), int(i) + 1) for i in place[:depth]]
        box.append(slice(int(place[depth]), int(place[depth]) + count))
        box += [slice(0, n) for n in shape[depth + 1 :]]
        yield tuple(box), at - start, at - start + count * inner
        at += count * inner


def read(path: str | Path, at_most: int | None = None):
    """(axes, quantities, outcomes, origin) of a file; with `at_most` points, evenly thinned along every axis."""
    import h5netcdf

    try:
        with h5netcdf.File(path, "r") as file:
            dims, spacing = json.loads(file.attrs["dims"]), json.loads(file.attrs["spacing"])
            origin = json.loads(file.attrs["origin"])
            shape = [file.dimensions[d].size for d in dims]
            steps = _thinning(shape, at_most)
            pick = tuple(slice(None, None, step) for step in steps)
            axes = tuple(Axis(d, _coordinate(file.variables[d][::step]), s) for d, s, step in zip(dims, spacing, steps))
            quantities = {
                name: np.asarray(variable[pick])
                for name, variable in file.variables.items()
                if name not in dims and name != "outcome"
            }
            return axes, quantities, np.asarray(file.variables["outcome"][pick]), origin
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"file = {path} cannot be read as a {KIND}: {unreadable(path, error)}.") from None


def _thinning(shape: Sequence[int], at_most: int | None) -> list[int]:
    """Strides that leave at most so many points, long axes thinned first."""
    steps = [1] * len(shape)
    left = lambda i: -(-shape[i] // steps[i])
    while at_most is not None and prod(left(i) for i in range(len(shape))) > max(at_most, 1):
        steps[max(range(len(shape)), key=left)] += 1
    return steps


def _coordinate(values) -> tuple[Any, ...]:
    return tuple(v.decode() if isinstance(v, bytes) else v for v in np.asarray(values).tolist())
