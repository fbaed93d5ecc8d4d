"""What is traced: a quantity that equals a number, or two events that happen together; its value and its gradient.

    T_2=500   T_2-T_1=100   w_c@T_2=0.3   loss@t=300=0.1     as sweeps write quantities
    T_1=T_0.5                                                 two events at once

Of two events one crosses a threshold; they happen together where its observable is at the threshold when the other
happens, which is smooth also where it happens only later, or never.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.derivatives.base import base_run
from flowsys.derivatives.directions import direction_of
from flowsys.derivatives.variational import Varied, varied
from flowsys.errors import InputError
from flowsys.runs.flow import Flow, spoken
from flowsys.sweeps.quantities import Compared, Term, parse_quantity
from flowsys.system.names import told, typeset


class NotThere(Exception):
    """The quantity has no value at a point: what it asks for does not happen there."""


@dataclass(frozen=True)
class Target:
    """quantity = level, or with `event` the quantity equals that event's threshold."""

    text: str
    quantity: Compared
    level: float = 0.0
    event: str = ""

    @property
    def asked(self) -> list[str | float]:
        return list(dict.fromkeys(term.at for term in self.quantity.terms))

    @property
    def observe(self) -> list[str]:
        return list(dict.fromkeys(term.observable for term in self.quantity.terms if term.observable))

    def value(self, flow: Flow, rtol: float) -> float:
        """quantity - level."""
        base = base_run(flow, flow.requests(self.asked), rtol)
        from flowsys.runs.solving import observe_states

        seen = observe_states(flow.problem, base.records, self.observe)
        found: dict[Term, Any] = {}
        for term in self.quantity.terms:
            t = flow.problem.marks.get(term.at, term.at) if isinstance(term.at, str) else term.at
            rows = [i for i, r in enumerate(base.records) if r.label == term.at or (r.label is None and r.t == t)]
            if not rows:
                raise NotThere(spoken(term.at))
            found[term] = seen[term.observable][rows[0]] if term.observable else base.records[rows[0]].t
        return float(self.quantity.value(found)) - self._level(flow)

    def gradient(self, flow: Flow, names: Sequence[str], rtol: float) -> tuple[float, np.ndarray]:
        """quantity - level, and its derivatives in the parameters named."""
        value, slopes = np.nan, []
        directions = [direction_of(flow, name) for name in names]
        for direction, of_direction in zip(directions, varied(flow, self.asked, directions, rtol)):
            there = {v.at: v for v in of_direction}
            values: dict[Term, float] = {}
            changes: dict[Term, float] = {}
            for term in self.quantity.terms:
                if spoken(term.at) not in there:
                    raise NotThere(spoken(term.at))
                values[term], changes[term] = _of(term, there[spoken(term.at)])
            value = float(self.quantity.value(values)) - self._level(flow)
            moved = direction.thresholds.get(self.event, 0.0) / direction.size
            slopes.append(self.quantity.slope(values, changes) - moved)
        return value, np.array(slopes)

    def label(self, flow: Flow) -> str:
        """What a picture calls it."""
        names = flow.system.names
        if self.event:
            return " = ".join(typeset(names.symbol(part.strip())) for part in self.text.split("="))
        return f"{self.quantity.label(names, flow.mode)} = {told(self.level)}"

    def _level(self, flow: Flow) -> float:
        if not self.event:
            return self.level
        return float(next(e.threshold for e in flow.problem.events if e.name == self.event))


def parse_target(text: str, flow: Flow) -> Target:
    """The target a text describes."""
    left, separator, right = (part.strip() for part in text.rpartition("="))
    problem = flow.problem
    names, crossings = problem.event_names, {e.name: e for e in problem.events}
    if not separator or not left or not right:
        raise InputError(f"trace = {text} is not understood: write QUANTITY=NUMBER, e.g. T_2=500, or EVENT=EVENT.")
    if left in names and right in names:
        if left == right or not {left, right} & set(crossings):
            raise InputError(f"trace = {text} is not allowed: one of two different events must cross a threshold.")
        event, other = (right, left) if right in crossings else (left, right)
        return Target(text, Compared(text, Term(crossings[event].observable, other)), event=event)
    try:
        level = float(right)
    except ValueError:
        raise InputError(f"trace = {text} is not understood: {right} is neither a number nor an event.") from None
    quantity = parse_quantity(left, names)
    if not isinstance(quantity, Compared):
        raise InputError(
            f"trace = {text} is not allowed: {left} is a fit or a statistic, which has no derivative here."
        )
    for term in quantity.terms:
        if term.observable and term.observable not in problem.field.observables:
            raise InputError(f"trace = {text}: {term.observable} is not an observable of {flow.system.name} here.")
    return Target(text, quantity, level)


def _of(term: Term, there: Varied) -> tuple[float, float]:
    if not term.observable:
        return there.t, there.dt
    return there.values[term.observable], there.slopes[term.observable]
