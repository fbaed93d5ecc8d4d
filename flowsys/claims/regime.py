"""Regimes: where in the parameters a statement is made, and the path along which an asymptotic one is judged.

    Regime(Condition("n ≥ c L² log²L", lambda p, c: (p.n, c * p.L**2 * log(p.L) ** 2)), c=1.0)

A condition gives its two sides, the larger first; their ratio is its margin, so 1 is its edge. Hidden constants of the
paper are arguments with a value; what least constant works is found from where a claim breaks. `p` holds all parameters
of a set-up by name, as items and as attributes, and what a path adds to them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from math import exp, inf, log
from typing import Any

import numpy as np

from flowsys.system import System

DRAWS = 4096
DECADES = 3


class Values(dict):
    """Parameters by name, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class _Watched(Values):
    """Parameters that remember which of them were read."""

    def __init__(self, values: Mapping[str, Any]):
        super().__init__(values)
        self.__dict__["read"] = set()

    def __getitem__(self, name: str) -> Any:
        self.__dict__["read"].add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class Condition:
    """A condition in words, and its sides (larger, smaller) from the parameters and the hidden constants."""

    text: str
    sides: Callable[..., tuple[float, float]]

    def margin(self, p: Values, constants: Mapping[str, float]) -> float:
        named = signature(self.sides).parameters
        larger, smaller = self.sides(p, **{name: value for name, value in constants.items() if name in named})
        if smaller <= 0:
            return inf if larger >= smaller else 0.0
        return float(larger) / float(smaller)


def equals(name: str, value: Any) -> Condition:
    """A condition that fixes a parameter, for statements about one value of it."""
    return Condition(f"{name} = {value}", lambda p: (1.0, 0.0 if p[name] == value else 2.0))


class Regime:
    """Conditions with their hidden constants; `text` describes one that is not put in numbers."""

    def __init__(self, *conditions: Condition, text: str = "", **constants: float):
        self.conditions = conditions
        self.text = text or ", ".join(condition.text for condition in conditions)
        self.constants = constants

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def __str__(self) -> str:
        chosen = ", ".join(f"{name} = {value:g}" for name, value in self.constants.items())
        return self.text + (f" ({chosen})" if chosen else "")

    def margins(self, p: Mapping[str, Any]) -> dict[str, float]:
        """The margin of each condition, by its text."""
        values = p if isinstance(p, Values) else Values(p)
        return {condition.text: condition.margin(values, self.constants) for condition in self.conditions}

    def margin(self, p: Mapping[str, Any]) -> float:
        """The least margin: ≥ 1 inside."""
        return min(self.margins(p).values(), default=inf)

    def is_inside(self, p: Mapping[str, Any]) -> bool:
        return self.margin(p) >= 1

    def with_constant(self, name: str, value: float) -> "Regime":
        """The same regime with another value of a hidden constant."""
        return Regime(*self.conditions, text=self.text, **{**self.constants, name: value})

    def reads(self, p: Mapping[str, Any]) -> set[str]:
        """The parameters that decide whether a point lies inside."""
        watched = _Watched(p)
        self.margins(watched)
        return watched.read

    def over_box(self, system: System, mode: str | None = None, fixed: Mapping[str, Any] | None = None):
        """Margins at draws over the allowed box of the parameters that matter, `fixed` ones held."""
        base = {**system.setup(mode), **(fixed or {})}
        read = self.reads(base) - set(fixed or {})
        free = [p for p in system.parameters if p.name in read]
        found = []
        for draw in _draws(len(free)):
            given = {p.name: drawn_value(p, u, base[p.name]) for p, u in zip(free, draw)}
            found.append(self.margin({**base, **given}))
        return np.array(found)

    def share(self, system: System, mode: str | None = None) -> float:
        """The share of the allowed box that lies inside (numbers over decades drawn by their logarithm)."""
        return float((self.over_box(system, mode) >= 1).mean())


def _draws(n: int) -> np.ndarray:
    """Points of the unit cube: a low-discrepancy sequence, and its corners."""
    if n == 0:
        return np.zeros((1, 0))
    from scipy.stats import qmc

    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * min(n, 8))).reshape(min(n, 8), -1).T
    corners = np.hstack([corners, np.full((len(corners), n - corners.shape[1]), 0.5)])
    return np.vstack([corners, qmc.Sobol(n, seed=0).random(DRAWS)])


def drawn_value(parameter: Any, u: float, default: Any) -> Any:
    """A value of a parameter at a share of its range; a side without a bound ends some decades from the default."""
    if parameter.choices:
        return parameter.choices[min(int(u * len(parameter.choices)), len(parameter.choices) - 1)]
    reach = max(abs(float(default)), 1.0) * 10.0**DECADES if np.isfinite(float(default)) else 10.0**DECADES
    low = parameter.low if np.isfinite(parameter.low) else -reach
    high = parameter.high if np.isfinite(parameter.high) else reach
    if low >= 0 and high > 0 and (low == 0 or high / low > 30):
        start = low if low > 0 else min(float(default) if 0 < default < inf else 1.0, high) / 10.0**DECADES
        value = exp(log(start) + u * (log(high) - log(start)))
    else:
        value = low + u * (high - low)
    value = min(max(value, low), high)
    return round(value) if parameter.integer else value


@dataclass(frozen=True)
class Path:
    """The way into the regime: one parameter takes `values`, the last the deepest; `others` follow from it.

        Path("d", (1e2, 1e3, 1e4), tau=lambda p: p.d**2)

    What follows need not be a parameter of the system: a measurement reads it from its parameters.
    """

    name: str
    values: tuple[float, ...]
    others: Mapping[str, Callable[[Values], Any]]

    def __init__(self, name: str, values: Sequence[float], **others: Callable[[Values], Any]):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "others", others)

    @property
    def sets(self) -> set[str]:
        return {self.name, *self.others}

    def points(self, base: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What each point sets, given the parameters that do not change."""
        for value in self.values:
            point = {self.name: value}
            for name, follows in self.others.items():
                point[name] = follows(Values({**base, **point}))
            yield point
