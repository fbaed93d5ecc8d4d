"""A flow to analyse: the problem of a level, and its states where they are asked for, each with the stage it is in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.integrate.record import Finished, Tolerances
from flowsys.runs.automatic import integrate
from flowsys.runs.requests import plain_requests
from flowsys.runs.trajectory import Origin
from flowsys.system import Setup, System
from flowsys.system.problem import Field, Problem
from flowsys.version import VERSION

MAX_STEPS = 1_000_000


@dataclass(frozen=True)
class State:
    """A state of a flow: the event or time it was asked for by, and the stage that brought it there."""

    at: str
    t: float
    y: np.ndarray
    stage: int


@dataclass(frozen=True)
class Flow:
    """A system at a level, its setup as that level reads it; `built` is its problem, if there is one already."""

    system: System
    setup: Setup
    level: str
    variant: str
    mode: str
    built: Problem | None = field(default=None, compare=False, repr=False)

    @cached_property
    def problem(self) -> Problem:
        return self.built or self.system.build(self.setup, self.level, self.variant, self.mode)

    def at(self, **changes: Any) -> "Flow":
        """The same elsewhere: some parameters changed."""
        given = {name: self.setup[name] for name in self.setup.given} | changes
        return flow_of(self.system, self.system.setup(self.mode, **given), self.level, self.variant, self.mode)

    def origin(self, command: str = "") -> Origin:
        system = self.system
        parameters = dict(self.setup)
        return Origin(system.name, self.level, self.variant, self.mode, parameters, VERSION, command, system.place)

    def requests(self, at: Sequence[str | float] | None) -> tuple[str | float, ...]:
        """What is asked for, checked; by default the system's own events."""
        problem = self.problem
        asked = plain_requests(at if at is not None else problem.default_at)
        if not asked:
            raise InputError("at is empty: name an event or a time (t=NUMBER) to look at.")
        for request in asked:
            if isinstance(request, str) and request not in problem.event_names:
                known = ", ".join(problem.event_names) or "none"
                raise InputError(f"at = {request} is not an event of {self.system.name} here; there are {known}.")
            if not isinstance(request, str) and not problem.start <= request <= problem.t_max:
                raise InputError(f"at: t = {request:g} must lie between {problem.start:g} and {problem.t_max:g}.")
        return asked

    def run(self, asked: Sequence[str | float], rtol: float, solver: str = "auto") -> Finished:
        """Integrate to all that is asked for."""
        from flowsys.runs.solving import double_precision

        problem = self.problem
        events = [request for request in asked if isinstance(request, str)]
        times = [request for request in asked if not isinstance(request, str)]
        tolerances = Tolerances(rtol, 1e-4 * rtol * problem.scale, MAX_STEPS)
        with double_precision(problem):
            return integrate(problem, times, events, tolerances, solver)

    def states(self, at: Sequence[str | float] | None, rtol: float) -> tuple[list[State], list[str]]:
        """The states asked for that are reached, in time; and what was not, in words."""
        asked = self.requests(at)
        done = self.run(asked, rtol)
        marks = self.problem.marks
        found, missing = [], []
        for request in asked:
            t = marks.get(request, request) if isinstance(request, str) else request
            record = next((r for r in done.records if r.label == request or (r.label is None and r.t == t)), None)
            if record is None:
                missing.append(f"{spoken(request)} is not reached: {done.outcome.sentence}")
            else:
                found.append(State(spoken(request), record.t, np.asarray(record.y), record.stage))
        return sorted(found, key=lambda state: state.t), missing

    def stages_at(self, state: State) -> list[int]:
        """The stage a state is in; both where one ends and the next begins there."""
        stages = self.problem.stages
        ends = [
            i
            for i, s in enumerate(stages[:-1])
            if s.until == state.t or (s.ends_on is not None and s.ends_on == state.at)
        ]
        return [ends[0], ends[0] + 1] if ends else [state.stage]


def flow_of(
    system: System, setup: Setup | None, level: str | None = None, variant: str | None = None, mode: str | None = None
) -> Flow:
    """The flow of a level; descent (L0) is none."""
    if not isinstance(system, System):
        raise InputError(f"system = {system!r} is none: flowsys.load(name) gives one.")
    level = level or system.default_level
    if level == "L0":
        raise InputError("level = L0 has no flow to analyse: it is descent; L1 is its flow.")
    form = level, system.variant(level, variant), system.mode(mode)
    setup = system.setup_in(mode, setup)
    settled = system.settled(setup, *form)
    if not settled.given and setup.given:
        settled = Setup(settled.system, settled.values, settled.mode, setup.given)
    return Flow(system, settled, *form)


def spoken(request: str | float) -> str:
    """An event's name, or a time as it is written on the command line."""
    return request if isinstance(request, str) else f"t={request:g}"


@lru_cache(maxsize=64)
def jacobian(field: Field):
    """∂(dy/dt)/∂y under frozen gates, compiled."""
    import jax

    from flowsys.integrate.compiling import jit

    return jit(jax.jacfwd(field.rhs))


@lru_cache(maxsize=64)
def sliding_jacobian(field: Field):
    """The same of the field that stays on switching surfaces."""
    import jax

    from flowsys.integrate import sliding
    from flowsys.integrate.compiling import jit

    return jit(jax.jacfwd(lambda y, arguments, slide: sliding.rhs(field, y, arguments, slide)))
