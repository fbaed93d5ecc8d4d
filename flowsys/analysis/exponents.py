"""Exponents: the law in a small (or large) parameter of every event time and of every observable at every event.

The flow is solved along the parameter; each quantity's law is that of the law fitter (`flowsys.laws.law`): constant,
power, logarithm or power × logarithm, with the interval of its exponent (or of its leading coefficient) and the local
exponents between neighbouring points. Where they still drift, or no law predicts the held-out points, it is not yet
asymptotic; a law that has settled only beyond a crossover says from where on it holds. Observables are joined by the
coordinates of the state; what stays below the solver's tolerance is 0.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from flowsys.analysis.result import Analysis, origin_of
from flowsys.errors import InputError
from flowsys.laws.law import FEWEST, Law, law, local_exponents
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup, System

PER_DECADE = 4
NOISE = 100.0  # a value below so many absolute tolerances is 0
LARGEST_ERROR = 0.05  # of a law at points that it was not fitted to
DRIFT = 0.05  # local exponents that change by more over the last third drift; logarithms may add their 1/log
TAIL = 6  # fewest points of a law beyond a crossover
WIDEST = 0.1  # half of an exponent's interval beyond which it is not known


@dataclass(frozen=True)
class Measured:
    """A quantity along the parameter, from the far end towards the limit, and its law (None: 0 at every point)."""

    name: str
    at: str
    x: np.ndarray
    y: np.ndarray
    law: Law | None

    @property
    def is_settled(self) -> bool:
        """Whether the law may be read as the asymptotic one."""
        if self.law is None:
            return True
        last = max(2, len(self.law.local) // 3)
        slower = abs(self.law.logarithms) * np.ptp(1 / np.log(self.x[-last:]))
        drifts = np.ptp(self.law.local[-last:]) > DRIFT + slower
        is_wide = self.law.kind.startswith("power") and np.ptp(self.law.interval) > 2 * WIDEST
        return bool(self.law.is_settled and self.law.error <= LARGEST_ERROR and not drifts and not is_wide)

    @property
    def row(self) -> dict[str, Any]:
        assert self.law is not None
        return {
            "quantity": self.name,
            "at": self.at,
            "law": self.law.kind,
            "exponent": self.law.exponent + 0.0,
            "coefficient": self.law.coefficient * (-1.0 if self.y[-1] < 0 else 1.0),
            "interval": _signed(self.law.interval, self.law.kind, self.y[-1]),
            "from": float(self.law.x[0]),
            "local_exponents": local_exponents(self.x, self.y).tolist(),
            "state": "" if self.is_settled else "not yet asymptotic",
            "held_out_error": self.law.error,
        }


@dataclass(frozen=True, kw_only=True)
class Exponents(Analysis):
    """The laws of all quantities in `parameter`, towards its last value."""

    parameter: str
    values: np.ndarray
    quantities: tuple[Measured, ...]

    @property
    def title(self) -> str:
        end = "0" if self.values[-1] < self.values[0] else "infinity"
        spans = f"{self.values.min():g} … {self.values.max():g}"
        return f"{self.origin.system}: laws as {self.parameter} → {end}, over {spans} ({len(self.values)} points)"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [quantity.row for quantity in self.quantities if quantity.law is not None]

    def details(self) -> dict[str, Any]:
        zero = [f"{quantity.name}@{quantity.at}" for quantity in self.quantities if quantity.law is None]
        return {"parameter": self.parameter, "values": self.values, "zero": zero}

    def __getitem__(self, name: str) -> Measured:
        """One quantity: `T_2-T_1`, `w_c@T_2`."""
        for quantity in self.quantities:
            if name in (f"{quantity.name}@{quantity.at}", quantity.name):
                return quantity
        raise KeyError(name)

    def figure(self) -> Any:
        from flowsys.analysis.pictures.exponents import exponents

        return exponents(self)


def exponents(
    system: System,
    setup: Setup | None,
    along: str,
    *,
    at: Sequence[str | float] | None = None,
    observe: Sequence[str] | None = None,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-10,
    command: str = "",
) -> Exponents:
    """Laws along NAME=low:high[:count] (or NAME=a,b,c) of what is observed at the events `at` (default: all)."""
    name, values = axis_of(along, {parameter.name for parameter in system.parameters if parameter.integer})
    level = level or system.default_level
    setup = system.setup_in(mode, setup)
    given = {key: setup[key] for key in setup.given if key != name}
    setups = [system.setup(setup.mode, **given, **{name: x}) for x in values]
    towards = np.array([there[name] for there in setups], dtype=float)
    problem = system.problem(setups[0], level, variant, mode)
    if at is None:
        at = [request for request in problem.event_names if not problem.marks.get(request, 0.0) > problem.t_max]
    own = [n for n in problem.field.names if n not in problem.observable_names and (observe is None or n in observe)]
    named = observe if observe is None else [n for n in observe if n not in own]
    runs = [
        solve(system, there, level=level, variant=variant, mode=mode, at=at, observe=named, rtol=rtol)
        for there in setups
    ]
    asked = tuple(runs[0].requested)
    found = [*_times(asked, towards, runs), *_values(asked, towards, runs, own)]
    form = level, system.variant(level, variant), system.mode(mode)
    names = {name, *(m.name for m in found), *(m.at for m in found), *setup}
    return Exponents(
        origin=origin_of(system, *form, {k: v for k, v in setup.items() if k != name}, command),
        symbols=system.names.symbols(names, mode),
        remarks=tuple(_unreached(asked, name, towards, runs)),
        parameter=name,
        values=towards,
        quantities=tuple(found),
    )


def axis_of(text: str, whole: Collection[str] = ()) -> tuple[str, list[float]]:
    """A parameter and its values towards the limit: to 0 where most of the range lies below 1, else to infinity.

    Ranges of a parameter that is `whole` consist of integers.
    """
    name, separator, spec = (part.strip() for part in text.partition("="))
    refusal = InputError(f"exponents = {text} is not understood: write NAME=low:high[:count] or NAME=a,b,….")
    if not separator or not name or not spec:
        raise refusal
    try:
        numbers = [float(part) for part in spec.replace(":", ",").split(",")]
    except ValueError:
        raise refusal from None
    if ":" in spec:
        if len(numbers) not in (2, 3) or not 0 < numbers[0] < numbers[1] < np.inf:
            raise InputError(f"exponents = {text} is not allowed: a range needs 0 < low < high.")
        low, high = numbers[:2]
        usual = max(round(PER_DECADE * np.log10(high / low)) + 1, FEWEST + 1)
        count = int(numbers[2]) if len(numbers) == 3 else usual
        numbers = np.geomspace(low, high, max(count, 0)).tolist()
        numbers = [float(round(x)) for x in numbers] if name in whole else numbers
    if len(set(numbers)) < FEWEST + 1 or min(numbers) <= 0:
        raise InputError(f"exponents = {text} is not allowed: a law needs at least {FEWEST + 1} values above 0.")
    numbers = sorted(set(numbers))
    return name, numbers[::-1] if np.log(numbers[0]) + np.log(numbers[-1]) < 0 else numbers


def _times(asked: Sequence[str | float], x: np.ndarray, runs: Sequence[Trajectory]) -> list[Measured]:
    """Event times, and the time between each event and the next."""
    events = [request for request in asked if isinstance(request, str)]
    times = {e: np.array([_or_nan(run.at(e)["t"]) for run in runs]) for e in events}
    ordered = sorted(events, key=lambda e: np.nanmedian(times[e]) if np.isfinite(times[e]).any() else np.inf)
    found = [_measured("t", e, x, times[e], 0.0) for e in ordered]
    gaps = pairwise(ordered)
    return [m for m in [*found, *(_measured(f"{b}-{a}", b, x, times[b] - times[a], 0.0) for a, b in gaps)] if m]


def _values(asked: Sequence[str | float], x: np.ndarray, runs: Sequence[Trajectory], own: Sequence[str]):
    """Observables, and the coordinates of the state that are `own`, at every event or time."""
    noise = NOISE * np.array([run.statistics["atol"] for run in runs])
    for request in asked:
        rows = [run.at(request)["values"] for run in runs]
        where = request if isinstance(request, str) else f"t={request:g}"
        for name in runs[0].series:
            y = np.array([_or_nan(row and row[name]) for row in rows])
            yield from filter(None, [_measured(name, where, x, y, noise)])
        for name in own:
            y = np.array([_coordinate(run, request, name) for run in runs])
            yield from filter(None, [_measured(name, where, x, y, noise)])


def _coordinate(run: Trajectory, request: str | float, name: str) -> float:
    rows = [i for i, (label, t) in enumerate(zip(run.labels, run.t)) if request in (label, t)]
    return float(run.states[rows[0], run.state_names.index(name)]) if rows else np.nan


def _measured(name: str, at: str, x: np.ndarray, y: np.ndarray, noise: float | np.ndarray) -> Measured | None:
    """The law of one quantity where it has values; None where these are too few.

    Where it has not settled over all of them, but has over the last ones, these give the law: beyond a crossover.
    """
    known = np.isfinite(y)
    if known.sum() <= FEWEST:
        return None
    is_zero = (np.abs(y) <= noise)[known].all()
    x, y = x[known], y[known]
    if is_zero:
        return Measured(name, at, x, y, None)
    sign, whole = np.sign(y[-1]) or 1.0, None
    for first in (0, len(x) // 3, len(x) // 2):
        if first and len(x) - first < TAIL:
            break
        found = Measured(name, at, x, y, law(x[first:], sign * y[first:]))
        whole = whole or found
        if found.is_settled:
            return found
    return whole


def _signed(interval: tuple[float, float], kind: str, y: float) -> list[float]:
    return list(interval) if kind.startswith("power") or y >= 0 else [-interval[1], -interval[0]]


def _or_nan(value: Any) -> float:
    return np.nan if value is None else float(value)


def _unreached(asked: Sequence[str | float], name: str, x: np.ndarray, runs: Sequence[Trajectory]) -> list[str]:
    """Which events lack at which values."""
    found = []
    for request in asked:
        lacking = [value for value, run in zip(x, runs) if not run.at(request)["reached"]]
        if lacking:
            found.append(f"{request} is not reached at {name} = {', '.join(f'{value:.4g}' for value in lacking)}")
    return found
