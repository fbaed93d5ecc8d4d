"""What is looked at: a system at a setup, some observables, up to a time; and the lines that look at the same again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flowsys.errors import InputError
from flowsys.runs.horizon import Horizon
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup, System

POINTS = 150
FEW = 3  # observables shown unasked
BEYOND = 1.15  # of the last event, to where curves go on


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
    names = tuple(dict.fromkeys([*list(run.series)[:FEW], *(["loss"] if "loss" in run.series else [])]))
    view = View(system, setup, names, until, mode, level)
    Horizon(view.until)
    return view
