"""Stages that hold their velocity (gradient steps): straight lines, which need no solver."""

from collections.abc import Sequence

import numpy as np

from flowsys.integrate.outcome import Ending, Outcome
from flowsys.integrate.record import Finished, Record, Statistics
from flowsys.system.problem import Problem


def is_straight(problem: Problem) -> bool:
    """Whether every stage says how fast it moves, and there is no event to look for."""
    return not problem.events and all(hasattr(stage.arguments, "velocity") for stage in problem.stages)


def walk(problem: Problem, times: Sequence[float], events: Sequence[str]) -> Finished:
    """The states at the times and marks asked for; a mark belongs to the stage it ends."""
    asked = sorted({*map(float, times), *(float(problem.marks[name]) for name in events)})
    t, y, records = float(problem.start), np.asarray(problem.initial, dtype=float), []
    for number, stage in enumerate(problem.stages):
        end = problem.t_max if stage.until is None else min(stage.until, problem.t_max)
        while asked and asked[0] <= end:
            at = asked.pop(0)
            records.append(Record(None, at, y + (at - t) * stage.arguments.velocity, number))
        t, y = end, y + (end - t) * stage.arguments.velocity
    statistics = Statistics(steps=len(problem.stages), solvers=["straight"])
    if asked:
        sentence = f"t = {asked[0]:g} lies beyond t_max = {problem.t_max:g}."
        return Finished(records, Outcome(Ending.NOT_REACHED, sentence), statistics)
    return Finished(records, Outcome(Ending.COMPLETED, f"stepped to t = {t:.10g}"), statistics)
