"""A family of runs: one parameter takes several values, each gives a curve; together they are one xarray dimension."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.runs.horizon import POINTS, check_points
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.sweeps.axes import Axis, checked
from flowsys.system import Setup, System, asked, system_of
from flowsys.system.names import told, typeset
from flowsys.typeset.tables import html_table


@dataclass(frozen=True, eq=False)
class Family:
    """Runs over the values of one parameter, looked at at the same times `t`."""

    axis: Axis
    t: np.ndarray
    runs: tuple[Trajectory, ...]

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def at(self, value: Any) -> Trajectory:
        """The run at a value of the parameter."""
        if value not in self.axis.values:
            known = ", ".join(map(str, self.axis.values))
            raise InputError(f"{self.axis.name} = {value} was not swept: there are {known}.")
        return self.runs[self.axis.values.index(value)]

    @property
    def events(self) -> dict[str, np.ndarray]:
        """The times of events, one number a value; NaN where an event was not reached."""
        names = dict.fromkeys(name for run in self.runs for name in run.events)
        time = lambda run, name: np.nan if run.events.get(name) is None else run.events[name]
        return {name: np.array([time(run, name) for run in self.runs], dtype=float) for name in names}

    def label(self, value: Any) -> str:
        """What a legend calls a value."""
        return f"{typeset(self.runs[0].symbol(self.axis.name))} = {told(value)}"

    def to_xarray(self) -> Any:
        """A Dataset over the parameter and time: every observable, and the times of events over the parameter."""
        import xarray as xr

        common = [run.nearest_to(self.t) for run in self.runs]
        name, first = self.axis.name, self.runs[0]
        data: dict[str, Any] = {
            key: ((name, "t"), np.stack([run[key] for run in common]), {"long_name": first.meanings.get(key, key)})
            for key in first.series
        }
        data |= {f"time of {event}": ((name,), times) for event, times in self.events.items()}
        origin = {k: v for k, v in first.origin.as_dict().items() if isinstance(v, str)}
        return xr.Dataset(data, {name: list(self.axis.values), "t": self.t}, attrs=origin)

    def plot(self, names: Sequence[str] | str | None = None, ax: Any = None, **look: Any) -> Any:
        """Draw observables (the first, unless named) over time on `ax` or a new figure's: one curve a value."""
        return import_module("flowsys.plot.family").family(self, ax, names, **look)

    def __repr__(self) -> str:
        origin, values = self.runs[0].origin, ", ".join(map(str, self.axis.values))
        return (
            f"<Family {origin.system} {origin.level} ({origin.mode}): {self.axis.name} = {values}; {len(self.t)} times>"
        )

    def _repr_html_(self) -> str:
        events = self.events
        told = lambda t: "not reached" if np.isnan(t) else f"{t:.6g}"
        rows = [
            [escape(str(value)), *(told(t[i]) for t in events.values())] for i, value in enumerate(self.axis.values)
        ]
        return f"<p>{escape(repr(self)[1:-1])}</p>" + html_table([escape(self.axis.name), *map(escape, events)], rows)


def sweep(
    system: System | str,
    setup: Setup | None = None,
    *,
    until: float | None = None,
    points: int = POINTS,
    mode: str | None = None,
    **given: Any,
) -> Family:
    """Solve over several values of one parameter, which is given a list; everything else is as in `flowsys.solve`.

    Without `until` all runs go to the latest of what any of them looks at. The result is a `Family`: `plot()` draws one
    curve a value, `to_xarray()` has the parameter as a dimension, `events` are times over it.

    >>> import flowsys as fs
    >>> family = fs.sweep("mixture", omega=[0.1, 0.2, 0.3], until=150, observe=["S_cv_same"])
    >>> dict(family.to_xarray().sizes)
    {'omega': 3, 't': 200}
    >>> family.events["T_2"].round(2).tolist()
    [110.18, 90.1, 78.34]
    """
    found = system_of(system)
    check_points(points)
    known = {p.name for p in found.parameters}
    lists = {k: v for k, v in given.items() if k in known and isinstance(v, list | tuple | range | np.ndarray)}
    if len(lists) != 1:
        what = " and ".join(lists) or "none"
        raise InputError(f"sweep takes a list for exactly one parameter, as omega=[0.1, 0.2]: {what} has one.")
    ((name, values),) = lists.items()
    if not len(values):
        raise InputError(f"{name} = [] is not allowed: a sweep needs at least one value.")
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    axis = checked(Axis(name, tuple(plain), "list"), found)
    rest = {k: v for k, v in given.items() if k != name}
    options = {k: v for k, v in rest.items() if k not in known}
    fixed = {k: v for k, v in rest.items() if k in known}
    _, setup = asked(found, setup, mode, fixed)
    setups = [setup.replace(**{name: value}) for value in axis.values]
    if until is None:
        until = max(float(solve(found, each, mode=mode, **options | {"observe": ()}).t[-1]) for each in setups)
    runs = tuple(solve(found, each, mode=mode, until=until, points=points, **options) for each in setups)
    return Family(axis, np.linspace(min(float(run.t[0]) for run in runs), until, points), runs)
