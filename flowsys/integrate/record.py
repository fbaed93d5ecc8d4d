"""What a run is asked to keep to, what it keeps, and what it cost."""

from dataclasses import dataclass, field

import numpy as np

from flowsys.integrate.outcome import Outcome
from flowsys.integrate.stretches import Stretch


@dataclass(frozen=True)
class Tolerances:
    """Relative and absolute tolerance of a step, and how many steps a run may take."""

    rtol: float
    atol: float
    max_steps: int

    def first_step(self, y: np.ndarray, rate: np.ndarray, span: float) -> float:
        """A step over which the state changes by about a hundredth of its size, at least by its tolerance.

        It must not grow with the span: a saturating flow that starts at 0 would leap over all that happens.
        """
        size = self.atol + self.rtol * np.abs(y)
        speed = np.sqrt(np.mean((rate / size) ** 2))
        length = np.sqrt(np.mean((y / size) ** 2))
        return min(span, max(0.01 * length, 1.0) / speed) if speed > 0 else span


@dataclass(frozen=True)
class Record:
    """A state worth keeping: why, when, and in which stage."""

    label: str | None
    t: float
    y: np.ndarray
    stage: int


@dataclass
class Statistics:
    """What a run cost and met; `implicit` of the steps were implicit ones of the native solver.

    `turns`, of the native solver too, are when the field changed its form: switches, slides that begin, change or end;
    `slid` are the stretches of slides.
    """

    steps: int = 0
    rejected: int = 0
    kinks: int = 0
    slides: int = 0
    implicit: int = 0
    switch_times: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    slid: list[Stretch] = field(default_factory=list)
    solvers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Finished:
    """A run that has ended: what it recorded, how it ended, what it cost; `smoothed` if not all kinks were exact."""

    records: list[Record]
    outcome: Outcome
    statistics: Statistics
    smoothed: bool = False
