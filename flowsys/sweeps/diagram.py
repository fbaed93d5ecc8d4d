"""A phase diagram as a value: quantities over swept parameters, with the outcome of every point.

A point has a value, or an outcome that says why not; NaN stands only where the outcome does. Files are netCDF:
dimensions are the swept parameters, attributes are provenance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps import netcdf
from flowsys.sweeps.axes import Axis
from flowsys.system.names import assignments, in_lines, spelled, typeset
from flowsys.typeset.tables import folded, html_table

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
    "no derivative there",
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
    """Quantities on the grid of the axes (first axis first), and an index into OUTCOMES for every point.

    `of` is its system, where it was made in this process.
    """

    axes: tuple[Axis, ...]
    quantities: Mapping[str, np.ndarray]
    outcomes: np.ndarray
    origin: Mapping[str, Any] = field(default_factory=dict)
    of: Any = field(default=None, compare=False, repr=False)

    def plot(self, quantity: str | None = None, ax: Any = None, **look: Any) -> Any:
        """Draw a quantity (the first, unless named) on `ax` or a new figure's: values as colours, outcomes hatched.

        Over a diagram that the system has by name stand the theory's lines.
        """
        return import_module("flowsys.plot").diagram(self, ax, quantity, **look)

    def refine(self, threads: int = 2, out: str | Path | None = None) -> "PhaseDiagram":
        """The diagram with more points along its boundary; those it has are not computed again."""
        return import_module("flowsys.sweeps.asked").refine(self, threads, out)

    def __getitem__(self, quantity: str) -> np.ndarray:
        if quantity not in self.quantities:
            raise InputError(f"the diagram holds no {quantity!r}; it holds {', '.join(self.quantities)}.")
        return self.quantities[quantity]

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
        own = "fresh " if origin.get("fresh_seeds") else ""
        seeds = f"{n} {own}seeds a point" if origin.get("seeds", 1) > 1 or own else ""
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

    def __repr__(self) -> str:
        axes = " × ".join(f"{axis.name} ({len(axis)})" for axis in self.axes)
        ends = ", ".join(f"{n} {outcome}" for outcome, n in self.outcome_counts().items())
        of = " ".join(filter(None, (self.origin.get("system"), self.origin.get("level"))))
        return f"<PhaseDiagram {of}: {', '.join(self.quantities)} over {axes}; {ends}>"

    def _repr_html_(self) -> str:
        ends = lambda axis: f"{_told(axis.values[0])} … {_told(axis.values[-1])}"
        axes = html_table(("axis", "from … to", "points"), [(escape(a.name), ends(a), str(len(a))) for a in self.axes])
        picture = import_module("flowsys.plot.inline").inline(self)
        command = folded("command", f"<code>{escape(self.origin.get('command', ''))}</code>")
        return f"<p>{escape(repr(self)[1:-1])}</p>{axes}{picture}{command}"


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else escape(str(value))


def load(path: str | Path, at_most: int | None = None) -> PhaseDiagram:
    """The diagram in a file; with `at_most` points, thinned evenly along its axes (enough to draw it)."""
    return PhaseDiagram(*netcdf.read(path, at_most))
