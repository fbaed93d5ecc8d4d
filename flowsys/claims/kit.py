"""The measuring kit: a system at one set of parameters, and everything a claim may ask of it.

A claim's `measure` gets a `Kit`. Its parameters are those of the claim, of the path and those asked for; its level is
the one asked for or the system's own. Runs are remembered, so that claims share them.

    measure=lambda run: run.time("T_2") - run.time("T_1")
    measure=lambda run: Sides(run.course("T_1", "T_2")["S_cv"], run.p.omega)

Times are numbers, events, or events with a lag or factor: "T_2", "T_2 + 1e3", "2 T_2".
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from flowsys.claims.regime import Values
from flowsys.errors import InputError
from flowsys.laws.law import local_exponents
from flowsys.runs.solving import double_precision, solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import FINITE, System
from flowsys.system.problem import ProgramField

REMEMBERED = 512
_runs: OrderedDict[tuple, tuple[System, Trajectory]] = OrderedDict()  # with its system: a key has only its id
_TIME = re.compile(r"\s*(?:([\d.]+(?:e[+-]?\d+)?)\s*\*?\s*)?([A-Za-z]\S*)\s*(?:([+-])\s*([\d.]+(?:e[+-]?\d+)?))?\s*")


class NotReached(InputError):
    """An event that a measurement cannot do without does not happen before the run ends."""


@dataclass(frozen=True)
class Kit:
    """A system at the parameters of one measurement."""

    system: System
    given: Mapping[str, Any] = field(default_factory=dict)
    level: str | None = None
    mode: str | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    rtol: float = 1e-10
    delta: Any = None
    starts: Sequence[int] = (0,)
    noted: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def setup(self):
        known = {p.name for p in self.system.parameters}
        return self.system.setup(self.mode, **{name: x for name, x in self.given.items() if name in known})

    @property
    def p(self) -> Values:
        """All parameters by name, defaults and what a path adds included."""
        return Values({**self.setup, **self.given})

    @property
    def is_finite(self) -> bool:
        return (self.level or self.system.default_level) in FINITE

    def at(self, **parameters: Any) -> "Kit":
        """The same kit at other parameters; `mode` and `level` may be among them."""
        own = {name: parameters.pop(name) for name in ("mode", "level", "rtol") if name in parameters}
        return replace(self, given={**self.given, **parameters}, **own)

    def note(self, **values: Any) -> None:
        """Numbers for the verdict's values and the claim's note."""
        self.noted.update(values)

    def over_seeds(self, n: int) -> "list[Kit]":
        """Kits at the seeds 0 … n-1."""
        return [self.at(seed=seed) for seed in range(n)]

    def run(self, *at: str | float, observe: Sequence[str] | None = None, level: str | None = None,
            variant: str | None = None, kink_width: float | None = None) -> Trajectory:  # fmt: skip
        """A trajectory recorded at events and times, found again when asked for twice."""
        level = level or self.level or self.system.default_level
        variant, setup = variant or self._variant(level), self.setup
        rtol = self.rtol if level not in FINITE else max(self.rtol, 1e-9)
        observe = None if observe is None else tuple(observe)
        key = (id(self.system), tuple(setup.items()), self.mode, level, variant, at, observe, rtol, kink_width)
        if key not in _runs:
            found = solve(self.system, setup, level=level, variant=variant, mode=self.mode, at=at, observe=observe,
                          rtol=rtol, kink_width=kink_width)  # fmt: skip
            if found.outcome.is_failure:
                raise NotReached(found.outcome.sentence)
            _runs[key] = self.system, found
            while len(_runs) > REMEMBERED:
                _runs.popitem(last=False)
        _runs.move_to_end(key)
        return _runs[key][1]

    def _variant(self, level: str) -> str | None:
        """The claim's variant at a level; descent is on inner products where a system has it: any width costs alike."""
        names = self.system.levels[level].names if level in self.system.levels else ()
        return self.variants.get(level) or ("gram" if level == "L0" and "gram" in names else None)

    def time(self, when: str | float, **options: Any) -> float:
        """When something happens; inf if it does not before the run ends."""
        if not isinstance(when, str):
            return float(when)
        factor, event, sign, lag = self._parts(when)
        found = self.run(event, **({"observe": ()} | options)).at(event)
        t = found["t"] if found["reached"] else np.inf
        return factor * t + (lag if sign != "-" else -lag)

    @staticmethod
    def _parts(when: str) -> tuple[float, str, str, float]:
        found = _TIME.fullmatch(when)
        if not found:
            raise InputError(f"time {when} is not understood: write an event, EVENT + LAG or FACTOR EVENT.")
        factor, event, sign, lag = found.groups()
        return float(factor or 1), event, sign or "+", float(lag or 0)

    def reached(self, when: str | float, **options: Any) -> float:
        """The time of what a measurement cannot do without."""
        t = self.time(when, **options)
        if not np.isfinite(t):
            raise NotReached(f"{when} is not reached before t = {self.setup['t_max']:g}.")
        return t

    def values(self, at: str | float, **options: Any) -> dict[str, float]:
        """Observables at an event or a time."""
        if isinstance(at, str) and at in self.system.events:
            row = self.run(at, **options).at(at)
            if not row["reached"]:
                raise NotReached(f"{at} is not reached before t = {self.setup['t_max']:g}.")
            return row["values"]
        return self.run(self.reached(at), **options).rows[-1]["values"]

    def times(self, start: str | float, end: str | float, n: int = 120, log: bool = False) -> np.ndarray:
        """Times from after `start` to `end`, evenly or by their logarithm (from `start`); a window without a length
        has none."""
        first, last = self.reached(start), self.reached(end)
        if not last > first:
            return np.zeros(0)
        if log:
            return first + np.geomspace(1e-4 * (last - first), last - first, n)
        return np.linspace(first, last, n + 1)[1:]

    def course(self, start: str | float | Sequence[float] | np.ndarray, end: str | float | None = None, n: int = 120,
               log: bool = False, **options: Any) -> Trajectory:  # fmt: skip
        """A run recorded over a window, or at given times; descent at the steps next to them."""
        times = np.asarray(start, float) if end is None else self.times(cast(str | float, start), end, n, log)
        if not len(times):
            raise NotReached(f"the window from {start} to {end} is empty.")
        there = self.run(*map(float, times), **options)
        return there.nearest_to(times) if there.origin.level == "L0" else there

    def rates(self, trajectory: Trajectory, stage: int = 0) -> dict[str, np.ndarray]:
        """Time derivatives of the coordinates along a flow, under the arguments of a stage."""
        origin = trajectory.origin
        problem = self.system.problem(self.setup, origin.level, origin.variant, origin.mode)
        arguments = problem.stages[stage].arguments
        with double_precision(problem):
            if isinstance(problem.field, ProgramField):
                from flowsys.program.arrays import vector_field

                slope = vector_field(problem.field.program, "exact", np)
            else:
                slope = problem.field.rhs
            rows = np.array([np.asarray(slope(y, arguments)) for y in trajectory.states])
        return {name: rows[:, i] for i, name in enumerate(problem.field.names)}

    @staticmethod
    def local_exponents(x: Sequence[float], y: Sequence[float]) -> np.ndarray:
        """Exponents of y in x between neighbouring points."""
        return local_exponents(x, y)
