"""A phase diagram as a value: quantities over swept parameters, with the outcome of every point.

A point has a value, or an outcome that says why not; NaN stands only where the outcome does. Files are netCDF:
dimensions are the swept parameters, attributes are provenance.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.phase.axes import Axis

OUTCOMES = (
    "completed",
    "completed after sliding",
    "completed with smoothed kinks",
    "event not reached by t_max",
    "invalid parameters",
    "step budget used up",
    "step size underflow",
    "state not finite",
)


@dataclass(frozen=True)
class PhaseDiagram:
    """Quantities on the grid of the axes (first axis first), and an index into OUTCOMES for every point."""

    axes: tuple[Axis, ...]
    quantities: Mapping[str, np.ndarray]
    outcomes: np.ndarray
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    def outcome_counts(self) -> dict[str, int]:
        """How many points ended in which way."""
        counts = np.bincount(self.outcomes.ravel(), minlength=len(OUTCOMES))
        return {name: int(n) for name, n in zip(OUTCOMES, counts) if n}

    def to_xarray(self):
        import xarray as xr

        dims = [axis.name for axis in self.axes]
        coordinates = {axis.name: _coordinate(axis) for axis in self.axes}
        data = {name: (dims, values) for name, values in self.quantities.items()}
        data["outcome"] = (dims, self.outcomes)
        dataset = xr.Dataset(data, coordinates, attrs=_attributes(self))
        dataset["outcome"].attrs = {"flag_values": list(range(len(OUTCOMES))), "flag_meanings": "; ".join(OUTCOMES)}
        return dataset

    def save(self, path: str | Path) -> Path:
        """Write a netCDF file (whole or not at all)."""
        from flowsys.files import write_atomically

        dataset = self.to_xarray()
        return write_atomically(path, lambda temporary: dataset.to_netcdf(temporary, engine="h5netcdf"))

    def _repr_html_(self) -> str:
        return self.to_xarray()._repr_html_()


def _coordinate(axis: Axis) -> np.ndarray:
    values = np.array(axis.values)
    return values.astype(str) if values.dtype.kind in "OU" else values


def _attributes(diagram: PhaseDiagram) -> dict[str, str]:
    return {
        "kind": "flowsys phase diagram",
        "origin": json.dumps(diagram.origin),
        "spacing": json.dumps([axis.spacing for axis in diagram.axes]),
        "dims": json.dumps([axis.name for axis in diagram.axes]),
    }


def load(path: str | Path) -> PhaseDiagram:
    """The diagram in a file written by `PhaseDiagram.save`."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            dataset.load()
        dims, spacing = json.loads(dataset.attrs["dims"]), json.loads(dataset.attrs["spacing"])
        origin = json.loads(dataset.attrs["origin"])
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"file = {path} cannot be read as a flowsys phase diagram: {error}.") from None
    axes = tuple(Axis(d, tuple(dataset[d].values.tolist()), s) for d, s in zip(dims, spacing))
    quantities = {str(k): v.transpose(*dims).values for k, v in dataset.data_vars.items() if k != "outcome"}
    return PhaseDiagram(axes, quantities, dataset["outcome"].transpose(*dims).values, origin)
