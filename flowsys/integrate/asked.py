"""What a run was asked for, and what of it has been recorded: times, events, and how the run ends without them."""

from collections.abc import Sequence

import numpy as np

from flowsys.integrate.outcome import Ending, Outcome
from flowsys.integrate.record import Record
from flowsys.system.problem import Problem


class Asked:
    """Times and events still to come; `records` grows, `reached` names all events that came, asked for or not."""

    def __init__(self, problem: Problem, times: Sequence[float], events: Sequence[str]):
        marks = {float(problem.marks[e]) for e in events if e in problem.marks}
        self.times = sorted({float(s) for s in times} | marks)
        self.events = {e.name for e in problem.events if e.name in events}
        self.reached: set[str] = set()
        self.records: list[Record] = []

    @property
    def is_all_seen(self) -> bool:
        return not self.times and not self.events

    @property
    def next_time(self) -> float:
        return self.times[0] if self.times else np.inf

    def times_have_come(self, t: float, y: np.ndarray, stage: int) -> None:
        """Record the state for every time up to t."""
        while self.times and self.times[0] <= t:
            self.records.append(Record(None, t, y, stage))
            self.times.pop(0)

    def event_has_come(self, name: str, t: float, y: np.ndarray, stage: int) -> None:
        self.reached.add(name)
        if name in self.events:
            self.events.discard(name)
            self.records.append(Record(name, t, y, stage))

    def outcome(self, t: float, t_max: float, remarks: tuple[str, ...]) -> Outcome:
        """How a run ended that was not given up."""
        if missing := sorted(self.events):
            sentence = f"{', '.join(missing)} not reached by t = {t:.6g}; raise t_max to integrate further."
            return Outcome(Ending.NOT_REACHED, sentence, remarks)
        if self.times:
            return Outcome(Ending.NOT_REACHED, f"t = {self.times[0]:g} lies beyond t_max = {t_max:g}.", remarks)
        return Outcome(Ending.COMPLETED, f"integrated to t = {t:.10g}", remarks)
