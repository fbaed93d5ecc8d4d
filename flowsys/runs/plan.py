"""What a training records: how many steps, which of them, which events it looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowsys.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from flowsys.runs.training import Training
    from flowsys.system import System

MOST_STEPS = 10**10  # weeks of the smallest network


@dataclass(frozen=True)
class Plan:
    """How many steps, which of them to record (with the names of marks), and which events to look for."""

    total: int
    wanted: Mapping[int, str]
    asked: frozenset[int]
    events: frozenset[str]


def plan_of(
    system: System,
    training: Training,
    steps: int | None,
    at: Sequence[str | float] | None,
    records: int,
    η: float,
    t_max: float,
) -> Plan:
    events = {e.name for e in training.events}
    for request in at or ():
        if isinstance(request, str) and request not in events | set(training.marks):
            known = ", ".join([*events, *training.marks]) or "none"
            raise InputError(f"at = {request} is not an event of {system.name} in training; there are {known}."
                             + did_you_mean(request, [*events, *training.marks]))  # fmt: skip
        if not isinstance(request, str) and not training.start <= request <= t_max:
            raise InputError(
                f"at: t = {request:g} is not allowed: it must lie between the start, t = {training.start:g}, "
                f"and t_max = {t_max:g}."
            )
    times = {round(s / η): "" for s in at or () if not isinstance(s, str)}
    times |= {round(training.marks[s] / η): s for s in at or () if isinstance(s, str) and s in training.marks}
    named = frozenset(s for s in at or () if s in events)
    if steps is not None and not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps = {steps} is not allowed: it must be at least 1 and at most {MOST_STEPS}.")
    first = round(training.start / η)
    if steps is not None:
        total = first + int(steps)
    else:
        # what stands at a time of its own is no reason to stop before an event
        total = max([first + 1, *times] if times and not named else [first + training.default_steps, *times])
    even = np.linspace(first, total, min(records, total - first) + 1).round().astype(int).tolist()
    wanted = dict.fromkeys([*even, total], "") | times
    return Plan(total, wanted, frozenset(times), named)
