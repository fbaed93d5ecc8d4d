"""A run over a stretch of time: evenly spaced points up to a horizon, and the events met on the way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending, Outcome
from flowsys.system.problem import Problem

POINTS = 200
MOST_POINTS = 10_000_000


@dataclass(frozen=True)
class Horizon:
    """Up to when, and at how many points; of the events only those `asked` for by name have to be reached."""

    until: float
    points: int = POINTS
    asked: tuple[str | float, ...] | None = None

    def __post_init__(self):
        if not (np.isfinite(self.until) and self.until > 0):
            raise InputError(f"until = {self.until:g} is not allowed: it must be a positive time.")
        check_points(self.points)

    def cut(self, problem: Problem) -> Problem:
        """The problem that ends at the horizon."""
        if not problem.start < self.until <= problem.t_max:
            raise InputError(
                f"until = {self.until:g} is not allowed: it must lie between {problem.start:g}, where the run starts, "
                f"and t_max = {problem.t_max:g}."
            )
        marks = {name: t for name, t in problem.marks.items() if t <= self.until}
        return replace(problem, t_max=self.until, marks=marks)

    def requests(self, problem: Problem) -> tuple[str | float, ...]:
        """What to look at in the cut problem: what was asked for, else every event; and the points."""
        first = problem.event_names if self.asked is None else self.asked
        return (*first, *np.linspace(problem.start, self.until, self.points).tolist())

    def outcome(self, outcome: Outcome, reached: Sequence[str]) -> Outcome:
        """A run that came to its horizon is complete, whatever event it did not meet unless that was asked for."""
        missing = [name for name in self.asked or () if isinstance(name, str) and name not in reached]
        if outcome.ending is not Ending.NOT_REACHED or missing:
            return outcome
        return replace(outcome, ending=Ending.COMPLETED, sentence=f"integrated to t = {self.until:.10g}")


def check_points(points: int) -> None:
    """Refuse a number of points that makes no curve."""
    if not isinstance(points, int | np.integer) or not 2 <= points <= MOST_POINTS:
        raise InputError(f"points = {points} is not allowed: it must be a whole number from 2 to {MOST_POINTS}.")
