"""A phase diagram as a value: quantities over swept parameters, with the outcome of every point.

A point has a value, or an outcome that says why not; NaN stands only where the outcome does. Files are netCDF:
dimensions are the swept parameters, attributes are provenance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.sweeps import netcdf
from flowsys.sweeps.axes import Axis
from flowsys.system.names import assignments, in_lines, spelled, typeset

OUTCOMES = (
    "completed",
    "completed after sliding",
    "completed with smoothed kinks",
    "event not reached by t_max",
    "invalid parameters",
    "step budget used up",
    "step size underflow",
    "state not finite",
    "quantity not finite",
    "not computed, neighbours agree",
    "only some seeds have a value",
    "claim not testable",
    "outside the claim's regime",
)
CODES = {name: code for code, name in enumerate(OUTCOMES)}
_WITH_VALUE = [
    CODES[name]
    for name in (
        "completed",
        "completed after sliding",
        "completed with smoothed kinks",
        "only some seeds have a value",
    )
]


def has_value(outcomes: np.ndarray) -> np.ndarray:
    """Where an outcome stands beside a value."""
    return np.isin(outcomes, _WITH_VALUE)


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

    def symbol(self, name: str) -> str:
        """What a picture calls an axis or a parameter."""
        return typeset(self.origin.get("symbols", {}).get(name) or spelled(name))

    def label(self, quantity: str) -> str:
        """What a picture calls a quantity."""
        return self.origin.get("labels", {}).get(quantity) or quantity.replace("_", " ")

    @property
    def subtitle(self) -> str:
        """The level, the mode and what is fixed, in symbols; smoothed kinks and seeds where there are any."""
        origin = self.origin
        mode = str(origin.get("mode") or "").replace("_", " ")
        smoothed = f"kinks smoothed over {origin['kink_width']:g}" if origin.get("kink_width") else ""
        n = next((len(axis) for axis in self.axes if axis.name == "seed"), origin.get("seeds", 1))
        own = " of its own" if origin.get("fresh_seeds") else ""
        seeds = f"{n} seeds{own} a point" if origin.get("seeds", 1) > 1 or own else ""
        values = {**origin.get("usual", {}), **origin.get("fixed", {})}
        fixed = assignments(values, origin.get("symbols", {}))
        return in_lines((origin.get("level", ""), mode, *fixed, smoothed, seeds))

    def outcome_counts(self) -> dict[str, int]:
        """How many points ended in which way."""
        counts = np.bincount(self.outcomes.ravel(), minlength=len(OUTCOMES))
        return {name: int(n) for name, n in zip(OUTCOMES, counts) if n}

    def to_xarray(self):
        import xarray as xr

        dims = [axis.name for axis in self.axes]
        data = {name: (dims, values) for name, values in self.quantities.items()}
        data["outcome"] = (dims, self.outcomes)
        dataset = xr.Dataset(data, {axis.name: list(axis.values) for axis in self.axes}, attrs=dict(self.origin))
        dataset["outcome"].attrs = {"flag_values": list(range(len(OUTCOMES))), "flag_meanings": "; ".join(OUTCOMES)}
        return dataset

    def save(self, path: str | Path) -> Path:
        """Write a netCDF file (whole or not at all)."""
        from flowsys.machine.files import write_atomically

        values = np.array([v.ravel() for v in self.quantities.values()])
        whole = [(0, values, self.outcomes.ravel())]
        fill = lambda temporary: netcdf.write(temporary, self.axes, list(self.quantities), OUTCOMES, self.origin, whole)
        return write_atomically(path, fill)

    def _repr_html_(self) -> str:
        return self.to_xarray()._repr_html_()


def load(path: str | Path, at_most: int | None = None) -> PhaseDiagram:
    """The diagram in a file; with `at_most` points, thinned evenly along its axes (enough to draw it)."""
    return PhaseDiagram(*netcdf.read(path, at_most))
