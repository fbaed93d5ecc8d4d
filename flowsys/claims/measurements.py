"""What a measurement hands to its kind: two sides over a window, a series, a count; and what the kind makes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flowsys.claims.regime import Values
from flowsys.claims.verdict import Word
from flowsys.laws.fits import Fit


class Sides:
    """The two sides of an identity or inequality at one place or along a window (`at`, of the variable `along`)."""

    def __init__(self, left: Any, right: Any, at: Any = None, along: str = "t"):
        left, right = np.broadcast_arrays(
            np.atleast_1d(np.asarray(left, float)), np.atleast_1d(np.asarray(right, float))
        )
        self.left, self.right, self.along = left, right, along
        self.at = None if at is None else np.asarray(at, float)

    def place(self, row: int) -> dict[str, float]:
        return {} if self.at is None else {self.along: float(self.at[row])}


class Series:
    """A quantity y along x within one run, x running towards the limit."""

    def __init__(self, x: Any, y: Any, along: str = "t"):
        self.x, self.y, self.along = np.asarray(x, float), np.asarray(y, float), along


@dataclass(frozen=True)
class Point:
    """One place of a claim: what it sets, all its parameters, and what was measured there.

    `branch` names the path it lies on, where a claim has several.
    """

    sets: Mapping[str, Any]
    p: Values
    measured: Any
    margin: float
    branch: str = ""

    def parts(self) -> dict[str, Any]:
        """What was measured, by name; one thing alone has no name."""
        return dict(self.measured) if isinstance(self.measured, Mapping) else {"": self.measured}


@dataclass(frozen=True)
class Finding:
    """What a kind makes of its points; `by_point` says where the claim holds, where that can be said point by point."""

    word: Word
    measured: str
    note: str = ""
    constant: float | tuple[float, float] | None = None
    breaks_at: Mapping[str, Any] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    fits: Mapping[str, Fit] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    tolerance: float | None = None
    by_point: Sequence[bool] | None = None


def branches(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The points by the path they lie on."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.branch, []).append(point)
    return found


def number(value: Any, run: Any) -> float:
    """A number, or a function of the kit that gives one."""
    return float(value(run)) if callable(value) else float(value)


Tolerance = float | Callable[[Any], float]


def shown(x: float | np.number) -> str:
    return format(float(x), ".4g")


def placed(place: Mapping[str, Any] | None) -> str:
    """A place in words: "omega = 0.1, t = 3"."""
    named = {name: value for name, value in (place or {}).items() if name != "part"}
    text = ", ".join(
        f"{name} = {shown(x) if isinstance(x, float | int | np.number) else x}" for name, x in named.items()
    )
    part = (place or {}).get("part", "")
    return ": ".join(filter(None, (part, text)))


def together(texts: Sequence[str]) -> str:
    return "; ".join(filter(None, texts))


def mixed(words: Sequence[Word]) -> Word:
    """Some parts hold and others do not: in part; what is not decided leaves the whole undecided, unless one fails."""
    if Word.FAILS in words or Word.IN_PART in words:
        return Word.IN_PART if any(word in (Word.HOLDS, Word.IN_PART) for word in words) else Word.FAILS
    return Word.NOT_TESTABLE


def few(ratio: np.ndarray) -> np.ndarray:
    return ratio if len(ratio) <= 8 else ratio[np.unique(np.linspace(0, len(ratio) - 1, 8).round().astype(int))]


def with_sets(part: str, sets) -> str:
    named = ", ".join(f"{name} = {shown(x)}" for name, x in sets.items() if isinstance(x, float | int))
    return ", ".join(filter(None, (part, named)))
