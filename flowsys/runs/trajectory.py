"""What a run gives: named series over time with provenance, and how the run ended.

Time is gradient-flow time of the loss as written (gradient descent: learning rate × steps). A trajectory is plain
NumPy; xarray and pandas are imported only when asked for. Files are netCDF and carry everything: a trajectory that is
saved and loaded is the same.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending, Outcome
from flowsys.machine.files import unreadable
from flowsys.runs.layout import Placed
from flowsys.runs.requests import Request
from flowsys.runs.requests import request as request_of
from flowsys.system.names import spelled
from flowsys.typeset.tables import folded, html_table

SHOWN = 8  # rows and series of a table in a notebook


@dataclass(frozen=True)
class Origin:
    """Where a trajectory comes from: enough to make it again."""

    system: str
    level: str
    variant: str
    mode: str
    parameters: Mapping[str, Any]
    version: str
    command: str = ""
    place: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "level": self.level,
            "variant": self.variant,
            "mode": self.mode,
            "parameters": dict(self.parameters),
            "version": self.version,
            "command": self.command,
            "place": self.place,
        }


@dataclass(frozen=True)
class Trajectory:
    """Series over the rows of a run, with their `meanings` in words where the system gives them, and LaTeX `symbols`.

    `labels` holds an event's name where a row is one, else an empty string. `run["w_c"]` is a series, `run.at("T_1")`
    or `run.at(10.0)` a row, `run.events` the times of events, `run.plot()` a picture. `run(t)` gives the observables at
    any time inside: the same run, looked at there (`look`; a file does not keep it, and descent has nothing between its
    steps).
    """

    t: np.ndarray
    series: Mapping[str, np.ndarray]
    labels: tuple[str, ...]
    states: np.ndarray
    state_names: tuple[str, ...]
    outcome: Outcome
    origin: Origin
    statistics: Mapping[str, Any] = field(default_factory=dict)
    requested: tuple[str | float, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    layout: Mapping[str, Placed] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    look: Callable[[Sequence[float]], "Trajectory"] | None = field(default=None, compare=False, repr=False)

    def __call__(self, t: float | Sequence[float] | np.ndarray) -> dict[str, Any]:
        """The observables at any time inside the run, or at many: {name: number, or array of t's shape}.

        A look changes no step: what is seen is what the run would have recorded there.
        """
        if self.look is None:
            why = "descent is discrete" if self.origin.level == "L0" else "it comes from a file or another process"
            raise InputError(f"the trajectory is known at its rows alone, for {why}: ask for times with at=[…].")
        times = np.asarray(t, dtype=float)
        last = float(self.t[-1]) if len(self) else 0.0
        if not np.isfinite(times).all() or (times > last).any():
            raise InputError(
                f"t = {np.max(times):g} is not allowed: it must lie inside the run, which ends at {last:g}."
            )
        seen = self.look(np.unique(times).tolist()) if times.size else self
        rows = np.searchsorted(seen.t, times)
        found = {name: seen[name][rows] for name in self.series}
        return {name: x if times.ndim else float(x) for name, x in found.items()}

    @property
    def events(self) -> dict[str, float | None]:
        """The times of events that were looked for, in order; None for one that was not reached."""
        reached = {label: float(t) for t, label in zip(self.t, self.labels) if label}
        return reached | {r: None for r in self.requested if isinstance(r, str) and r not in reached}

    def plot(self, names: Sequence[str] | str | None = None, ax: Any = None, **look: Any) -> Any:
        """Draw series over time on `ax`, or on a new figure's; theory as lines, training as dots, events as rules."""
        return import_module("flowsys.plot").trajectory(self, ax, names, **look)

    def symbol(self, name: str) -> str:
        """The LaTeX of a series, an event, a parameter or of time (`t`)."""
        return self.symbols.get(name) or spelled(name)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.series:
            raise InputError(f"the trajectory holds no {name!r}; it holds {', '.join(self.series)}.")
        return self.series[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.series)

    def __len__(self) -> int:
        return len(self.t)

    def at(self, asked: Request) -> dict[str, Any]:
        """The row of an event or a time: {"at", "t", "reached", "values"}; not reached means t and values are None.

        With seeds side by side each value is an array over them.
        """
        request = request_of(asked)
        found = self._rows_of(request)
        name = request if isinstance(request, str) else f"t={_number(request)}"
        if not found and not isinstance(request, str) and self.look is not None and 0 <= request <= self.t[-1]:
            return {"at": name, "t": float(request), "reached": True, "values": self(request)}
        if not found and request not in self.requested:
            raise InputError(f"at = {name} was not asked for: the trajectory has no such row.")
        if not found:
            return {"at": name, "t": None, "reached": False, "values": None}
        row = found[0]
        values = {key: float(x[row]) if x.ndim == 1 else x[row] for key, x in self.series.items()}
        return {"at": name, "t": float(self.t[row]), "reached": True, "values": values}

    def blocks(self, at: Request) -> dict[str, np.ndarray]:
        """The blocks of weights, or what the loss sees of them, at an event or a time that was recorded."""
        if not self.layout:
            why = (
                "it kept no states"
                if not self.states.size
                else f"{self.origin.level} ({self.origin.variant}) of {self.origin.system} is not made of them"
            )
            raise InputError(f"the trajectory cannot give blocks: {why}.")
        rows = self._rows_of(request_of(at))
        if not rows:
            raise InputError(f"at = {at if isinstance(at, str) else _number(at)}: the trajectory has no such row.")
        return {name: placed.read(self.states[rows[0]]) for name, placed in self.layout.items()}

    def _rows_of(self, request: str | float) -> list[int]:
        if isinstance(request, str):
            return [i for i, label in enumerate(self.labels) if label == request]
        return self._rows_at(request)

    def _rows_at(self, t: float) -> list[int]:
        """Rows at a time; in training, at the step nearest to it."""
        slack = 0.5 * self.statistics.get("learning_rate", 0.0)
        near = [i for i, s in enumerate(self.t) if abs(s - t) <= slack * (1 + 1e-9)]
        return sorted(near, key=lambda i: (abs(self.t[i] - t), bool(self.labels[i])))

    def nearest_to(self, times: Iterable[float]) -> "Trajectory":
        """The rows nearest to given times, each row once, in the order of the run.

        Training records steps of its own beside those asked for; this leaves the ones asked for.
        """
        times = tuple(map(float, times))
        rows = np.unique([np.abs(self.t - t).argmin() for t in times]).astype(int)
        return replace(self._restricted(rows), requested=times)

    def asked_for(self) -> "Trajectory":
        """The rows that were asked for and reached, and no others."""
        return self._restricted(sorted({row for request in self.requested for row in self._rows_of(request)[:1]}))

    def _restricted(self, chosen: ArrayLike) -> "Trajectory":
        rows = np.asarray(chosen, dtype=int)
        return replace(
            self,
            t=self.t[rows],
            series={name: values[rows] for name, values in self.series.items()},
            labels=tuple(self.labels[i] for i in rows),
            states=self.states[rows],
        )

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each event or time that was asked for, in the order asked."""
        return [self.at(request) for request in self.requested]

    def to_xarray(self):
        """The same as an xarray Dataset over `t` (and `seed`, if there are several), with provenance as attributes."""
        import xarray as xr

        named = lambda name: {"long_name": self.meanings[name]} if name in self.meanings else {}
        data = {name: (("t", "seed")[: x.ndim], x, named(name)) for name, x in self.series.items()}
        data["state"] = (("t", "state_name"), self.states)
        coordinates = {
            "t": ("t", self.t, {"long_name": "time of gradient flow"}),
            "label": ("t", np.array(self.labels, dtype=object).astype(str)),
            "state_name": np.array(self.state_names, dtype=str),
        }
        if self._n_seeds:
            coordinates["seed"] = self.origin.parameters.get("seed", 0) + np.arange(self._n_seeds)
        return xr.Dataset(data, coordinates, attrs=_attributes(self))

    @property
    def _n_seeds(self) -> int:
        """How many seeds ran side by side; 0 if there is one run."""
        return next((x.shape[1] for x in self.series.values() if x.ndim > 1), 0)

    def to_pandas(self):
        """A table with one row for each time (and seed), indexed by t (and seed)."""
        frame = self.to_xarray().drop_dims("state_name").to_dataframe()
        return frame[[*self.series, "label"]]

    def save(self, path: str | Path) -> Path:
        """Write a netCDF file (whole or not at all)."""
        from flowsys.machine.files import write_atomically

        dataset = self.to_xarray()
        room = 65_536 + 4096 * len(dataset.variables) + 2 * dataset.nbytes
        return write_atomically(path, lambda temporary: dataset.to_netcdf(temporary, engine="h5netcdf"), room)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "look": None}

    def __repr__(self) -> str:
        names = list(self.series)
        shown = ", ".join(names if len(names) <= 6 else [*names[:5], f"… {len(names)} series"])
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        said = f"{self.origin.system} {self.origin.level} ({self.origin.mode}), {rows} of {shown}"
        return f"<Trajectory {said}: {self.outcome.sentence}>"

    def _repr_html_(self) -> str:
        rows = [row for row in self.rows if isinstance(row["at"], str) and not row["at"].startswith("t=")] or self.rows
        names = list(self.series)[:SHOWN]
        table = html_table(("at", "t", *map(escape, names)), [_cells(row, names) for row in rows[:SHOWN]])
        others = list(self.series)[SHOWN:]
        more = folded(f"{len(others)} more series", escape(", ".join(others))) if others else ""
        remarks = "".join(f"<br>{escape(remark)}" for remark in self.outcome.remarks)
        picture = import_module("flowsys.plot.inline").inline(self)
        return f"<p>{escape(repr(self)[1:-1])}{remarks}</p>{picture}{table}{more}"


def _cells(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """A row of the table: of an event that was not reached only its name."""
    if not row["reached"]:
        return [escape(row["at"]), "not reached"]
    numbers = [row["t"], *(row["values"][name] for name in names)]
    return [escape(row["at"]), *(f"{x:.6g}" if np.ndim(x) == 0 else f"{np.mean(x):.6g} (mean)" for x in numbers)]


def _number(x: float) -> str:
    """A number in few digits, and in all of them where few would be another number."""
    return f"{x:g}" if float(f"{x:g}") == x else repr(float(x))


def _attributes(trajectory: Trajectory) -> dict[str, str]:
    return {
        "origin": json.dumps(trajectory.origin.as_dict()),
        "ending": str(trajectory.outcome.ending),
        "outcome": trajectory.outcome.sentence,
        "remarks": json.dumps(trajectory.outcome.remarks),
        "statistics": json.dumps(trajectory.statistics),
        "requested": json.dumps(trajectory.requested),
        "symbols": json.dumps(dict(sorted(trajectory.symbols.items()))),
        "layout": json.dumps({name: placed.as_dict() for name, placed in trajectory.layout.items()}),
    }


def load(path: str | Path) -> Trajectory:
    """The trajectory in a file written by `Trajectory.save`."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            dataset.load()
        return _trajectory(dataset)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"file = {path} cannot be read as a flowsys trajectory: {unreadable(path, error)}.") from None


def _trajectory(dataset: Any) -> Trajectory:
    """The trajectory that a dataset holds."""
    read = lambda name: json.loads(dataset.attrs[name])
    reserved = {"state"}
    return Trajectory(
        t=dataset["t"].values,
        series={str(k): v.values for k, v in dataset.data_vars.items() if k not in reserved},
        labels=tuple(map(str, dataset["label"].values)),
        states=dataset["state"].values,
        state_names=tuple(map(str, dataset["state_name"].values)),
        outcome=Outcome(Ending(dataset.attrs["ending"]), dataset.attrs["outcome"], tuple(read("remarks"))),
        origin=Origin(**read("origin")),
        statistics=read("statistics"),
        requested=tuple(read("requested")),
        meanings={str(k): v.attrs["long_name"] for k, v in dataset.data_vars.items() if "long_name" in v.attrs},
        layout={name: Placed.from_dict(plain) for name, plain in read("layout").items()},
        symbols=json.loads(dataset.attrs.get("symbols", "{}")),
    )
