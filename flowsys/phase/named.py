"""Named phase diagrams: the sweeps a paper's system is best looked at through, with the theory's boundary.

A system lists them in `SYSTEM.diagrams`; the first is drawn when nothing else is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np


class Line(NamedTuple):
    """A predicted boundary in the plane of the first two axes."""

    x: np.ndarray
    y: np.ndarray
    label: str


class Contour(NamedTuple):
    """Where another measured quantity of the diagram takes a value."""

    quantity: str
    level: float
    label: str


@dataclass(frozen=True)
class NamedDiagram:
    """A sweep with a title. `boundary` maps (x values, y values) to the theory's lines over the measured colour.

    With `seeds`, every point is run from so many random starts, and its quantities are statistics over them.
    `over_seeds` says what the picture shows of an axis of seeds: their median, or the share of seeds whose value is
    above 0 (a seed that never comes to the event asked for counts as one whose value is not).
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
    logarithmic: bool = False
    boundary: Callable[[np.ndarray, np.ndarray], Sequence[Line]] | None = None
    contours: Sequence[Contour] = ()
    over_seeds: Literal["median", "share above 0"] = "median"
