"""What is looked at: a system at a setup, some observables, up to a time; and the lines that look at the same again."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.definition import Model
from flowsys.runs.horizon import Horizon
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup, System

POINTS = 150
FEW = 3  # observables shown unasked
BEYOND = 1.15  # of the last event, to where curves go on
ALIKE = 20  # times: beside much larger or smaller curves the loss is not shown unasked
EARLY = 1 / 50  # of the time: what has moved half its way by then is looked at in logarithmic time


@dataclass(frozen=True)
class View:
    """A run to be looked at: all that the picture depends on."""

    system: System
    setup: Setup
    names: tuple[str, ...]
    until: float
    mode: str
    level: str

    def run(self) -> Trajectory:
        """The curves."""
        return solve(
            self.system, self.setup, level=self.level, mode=self.mode, until=self.until, points=POINTS,
            observe=self.names,
        )  # fmt: skip

    def at(self, **changes: Any) -> "View":
        """The view with other parameters."""
        return replace(self, setup=self.setup.replace(**changes))

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that differ from the defaults."""
        usual = self.system.setup(self.mode)
        return {name: value for name, value in self.setup.items() if name in self.setup.given and value != usual[name]}

    @property
    def python(self) -> str:
        """The line of Python that gives the curves."""
        told = repr(self.system.name) if not self.system.source and self.system.package else "model"
        options = {**self.given, **self._form, "until": self.until, "points": POINTS, "observe": list(self.names)}
        return f"fs.solve({told}, {', '.join(f'{name}={value!r}' for name, value in options.items())})"

    @property
    def command(self) -> str:
        """The command that gives the curves as a table."""
        place = self.system.source.place if self.system.source else "MODEL.py"
        system = self.system.name if self.system.package else f"--from {place}"
        told = [f"flowsys solve {system}", *(f"--set {name}={value!r}" for name, value in self.given.items())]
        told += [f"--{name} {value}" for name, value in self._form.items()]
        return " ".join(
            [*told, f"--until {self.until!r} --points {POINTS} --observe {','.join(self.names)} --out run.csv"]
        )

    @property
    def _form(self) -> Mapping[str, str]:
        """Mode and level, where they are not the usual ones."""
        usual = {"mode": self.system.mode(None), "level": self.system.default_level}
        return {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}


def first_view(system: System, mode: str | None = None, level: str | None = None, **parameters: Any) -> View:
    """Where exploring begins: the setup asked for, the leading observables, to a little beyond the last event."""
    mode, level = system.mode(mode), level or system.default_level
    if level == "L0":
        raise InputError("level = L0 is training, which explore shows as dots: give another level.")
    setup = system.setup(mode, **parameters)
    run = solve(system, setup, level=level, mode=mode)
    until = BEYOND * float(run.t[-1]) if len(run) and run.t[-1] > 0 else 100.0
    until = float(f"{min(until, setup['t_max']):.3g}")
    clocks = system.declaration.integrals if isinstance(system, Model) else {}
    names = _leading(run, {*clocks, *clocks.values()})
    view = View(system, setup, names, until, mode, level)
    Horizon(view.until)
    return view


def _leading(run: Trajectory, clocks: Set[str]) -> tuple[str, ...]:
    """The first observables that are no clocks, and the loss where it is of their size."""
    few = tuple(name for name in run.series if name not in clocks)[:FEW]
    if "loss" in few or "loss" not in run.series:
        return few
    size = lambda name: float(np.nanmax(np.abs(run[name]), initial=0.0))
    loss, others = size("loss"), max(map(size, few))
    return (*few, "loss") if max(loss, others) < ALIKE * min(loss, others) else few


def is_early(run: Trajectory, names: Sequence[str]) -> bool:
    """Whether what is shown has moved half its way, on average, in a small first part of the time."""
    shares = [way / way[-1] for name in names if (way := np.abs(np.diff(run[name])).cumsum())[-1] > 0]
    if len(run) < 3 or not shares:
        return False
    half = int(np.argmax(np.mean(shares, axis=0) >= 0.5))
    return bool(run.t[half + 1] < EARLY * run.t[-1])
