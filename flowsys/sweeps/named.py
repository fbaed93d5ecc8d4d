"""Named phase diagrams: the sweeps a paper's system is best looked at through, with the theory's boundary.

A system lists them in `SYSTEM.diagrams`; the first is drawn when nothing else is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.sweeps.axes import Axis, cell_edges
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.system import Setup, System
from flowsys.system.names import in_symbols


class Line(NamedTuple):
    """A predicted boundary in the plane of the first two axes."""

    x: np.ndarray
    y: np.ndarray
    label: str

    def within(self, *plane: np.ndarray) -> "Line":
        """The part of the line that lies in the plane drawn, to the edges of its outermost cells; NaN parts pieces."""
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        kept = np.isfinite(x) & np.isfinite(y)
        gaps = ~kept
        for places, values in zip((x, y), plane):
            low, high = outer_edges(values)
            kept &= (places >= low) & (places <= high)
        kept |= gaps if kept.any() else False
        return Line(x[kept], y[kept], self.label)


def outline(x: np.ndarray, y: np.ndarray, inside: np.ndarray, label: str) -> Line:
    """The edges between cells of a plane where `inside[x, y]` changes, piece by piece."""
    X, Y = cell_edges(x), cell_edges(y)
    upright = [((X[i + 1],) * 2, (Y[j], Y[j + 1])) for i, j in np.argwhere(inside[1:] != inside[:-1])]
    level = [((X[i], X[i + 1]), (Y[j + 1],) * 2) for i, j in np.argwhere(inside[:, 1:] != inside[:, :-1])]
    drawn = np.array([[(*ends, np.nan) for ends in piece] for piece in (*upright, *level)]).reshape(-1, 2, 3)
    return Line(drawn[:, 0].ravel(), drawn[:, 1].ravel(), label)


def upright(x: float, across: np.ndarray, label: str) -> Line:
    """A line at one x, over all values of the other axis."""
    return Line(np.full(2, x), np.array(outer_edges(across)), label)


def outer_edges(values: np.ndarray) -> tuple[float, float]:
    """Where the outermost cells of an axis end."""
    edges = cell_edges(values)
    return float(edges.min()), float(edges.max())


def along(values: np.ndarray, n: int = 400) -> np.ndarray:
    """Many places along an axis of numbers, out to the edges of its outermost cells; positive ones stay positive."""
    low, high = outer_edges(values)
    if low <= 0 < values.min():
        low = values.min() / 2
    return np.geomspace(low, high, n) if getattr(values, "by_factors", False) else np.linspace(low, high, n)


class Contour(NamedTuple):
    """Where another measured quantity of the diagram takes a value."""

    quantity: str
    level: float
    label: str


class Phases(NamedTuple):
    """Values told apart as phases: below the first edge the first words, and so on."""

    edges: tuple[float, ...]
    words: tuple[str, ...]

    def number(self, values: np.ndarray) -> np.ndarray:
        """The phase of each value, counted from 0; NaN stays NaN."""
        return np.where(np.isfinite(values), np.searchsorted(self.edges, values, side="right"), np.nan)


Boundary = Callable[..., Sequence[Line]]
"""(what is fixed in the diagram, x values, y values if any) to theory's lines; what leaves the plane is not drawn.

The values come as `Places`, so that `along` knows a logarithmic axis."""


@dataclass(frozen=True)
class NamedDiagram:
    """A sweep with a title, over which `boundary` draws the theory's lines, `contours` those of measured quantities.

    What is fixed may be set otherwise when the diagram is asked for: lines follow it, and the picture's title names it.

    With `seeds`, every point is run from so many random starts, and its quantities are statistics over them; with
    `fresh_seeds` no two points share a start.
    `over_seeds` says what the picture shows of an axis of seeds: their median, or the share of seeds whose value is
    above 0 (a seed that never comes to the event asked for counts as one whose value is not). `phases` gives stretches
    of values names; `words` says what an outcome means in this diagram ("above 150" for "quantity not finite").
    `guide` is a power of the one axis of a curve, drawn through its last value for the eye.
    `logarithmic` is chosen by the values unless it is said.
    """

    title: str
    axes: Sequence[str]
    observables: Sequence[str]
    mode: str | None = None
    level: str | None = None
    variant: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    kink_width: float | None = None
    seeds: int = 1
    fresh_seeds: bool = False
    logarithmic: bool | None = None
    boundary: Boundary | None = None
    contours: Callable[[Setup], Sequence[Contour]] | None = None
    over_seeds: Literal["median", "share above 0"] = "median"
    phases: Phases | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    guide: float | None = None

    def with_axes(self, x: str | None, *others: str | None) -> list[str]:
        """The axes that are asked for, or its own; without an x but with others its own x stays."""
        texts = [text for text in others if text]
        return [x or self.axes[0], *texts] if x or texts else list(self.axes)

    def lines(self, setup: Setup, *axes: Axis) -> list[Line]:
        """The theory's lines, as far as they lie in the plane of the axes."""
        plane = [axis.places for axis in axes]
        found = [line.within(*plane) for line in (self.boundary(setup, *plane) if self.boundary else ())]
        return [line for line in found if len(line.x)]

    def overlay(self, diagram: PhaseDiagram, system: System) -> dict[str, Any]:
        """What is drawn over a computed diagram and beside it; lines only if its axes are the diagram's own."""
        origin = diagram.origin
        setup = system.setup(origin["mode"], **origin["fixed"])
        own = [axis.name for axis in diagram.axes] == [text.partition("=")[0] for text in self.axes]
        return {
            "boundary": [*self.lines(setup, *diagram.axes[:2]), *self._guide(diagram)] if own else (),
            "contours": self.contours(setup) if self.contours and own else (),
            "over_seeds": self.over_seeds,
            "phases": self.phases,
            "words": self.words,
            "title": "\n".join(filter(None, (in_symbols(self.title, system.names), diagram.subtitle))),
        }

    def _guide(self, diagram: PhaseDiagram) -> list[Line]:
        """The power through the last value of the first quantity."""
        if self.guide is None or len(diagram.axes) != 1:
            return []
        (axis,), values = diagram.axes, next(iter(diagram.quantities.values()))
        x, power = np.array(axis.values, dtype=float), Fraction(self.guide).limit_denominator(100)
        symbol = diagram.symbol(axis.name).strip("$")
        return [Line(x, values[-1] * (x / x[-1]) ** self.guide, f"guide: ${symbol}^{{{power}}}$")]


def named_diagram(system: System, name: str | None) -> NamedDiagram | None:
    """The system's diagram of a name, or its first; None if it has none."""
    if name is None:
        return next(iter(system.diagrams.values()), None)
    if name not in system.diagrams:
        known = ", ".join(system.diagrams) or "none"
        raise InputError(
            f"diagram = {name} is not one of {system.name}'s: {known}.{did_you_mean(name, system.diagrams)}"
        )
    return system.diagrams[name]


def named_alike(diagram: PhaseDiagram, system: System) -> NamedDiagram | None:
    """The named diagram of a system whose axes and observables a computed one has, for its boundary."""
    dims, observables = [axis.name for axis in diagram.axes], list(diagram.quantities)
    for candidate in system.diagrams.values():
        if [a.partition("=")[0] for a in candidate.axes] == dims and list(candidate.observables) == observables:
            return candidate
    return None
