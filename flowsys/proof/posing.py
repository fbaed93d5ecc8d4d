"""A problem posed exactly: program, data, start, stages and events with rational numbers instead of floats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.proof.choices import with_gates
from flowsys.proof.exact import Exact, exactly
from flowsys.proof.flow import Flow
from flowsys.proof.stating import Stated, with_statements
from flowsys.proof.unrolled import Data, Unrolled
from flowsys.system.problem import Problem, ProgramField


@dataclass(frozen=True)
class Watched:
    """An event: direction · (observable - threshold) becomes positive."""

    name: str
    observable: str
    threshold: Exact
    direction: int

    def values(self, flow: Flow) -> Callable[[Sequence], list]:
        read, threshold = flow.reader([self.observable]), self.threshold.arb()
        return lambda y: [self.direction * (read(y)[0] - threshold)]


@dataclass(frozen=True, eq=False)
class PosedStage:
    """A stage: its program at exact data; it ends at a time or on an event."""

    name: str
    unrolled: Unrolled
    until: Fraction | None
    ends_on: str | None


@dataclass(frozen=True, eq=False)
class Posed:
    """An initial-value problem in exact numbers. `stated` is the program as it stands, `program` the same in ReLUs."""

    stated: Program
    program: Program
    initial: tuple[Exact, ...]
    stages: tuple[PosedStage, ...]
    events: tuple[Watched, ...]
    marks: Mapping[str, Fraction]
    t_max: Fraction


def posed_exactly(problem: Problem, statements: Sequence[Stated] = ()) -> Posed:
    """The problem with the exact numbers behind its floats, and what is stated observed."""
    if not isinstance(problem.field, ProgramField):
        raise InputError("only derived programs can be proven: this level is given by functions, not by a program.")
    if problem.start != 0:
        raise InputError(f"the run starts at t = {problem.start:g}, but a proof starts at 0.")
    stated = problem.field.program
    program, stages = None, []
    for stage in problem.stages:
        data = Data(
            tuple(exactly(float(x)) for x in stage.arguments.parameters),
            {name: _rows(table) for name, table in stage.arguments.tables.items()},
            {name: _rows(matrix) for name, matrix in stage.arguments.links.items()},
        )
        until = None if stage.until is None else _dyadic(stage.until, f"the end of {stage.name}")
        if program is None:
            observed = with_statements(stated, statements)
            program = with_gates(observed, Unrolled(observed, data).tops)
        stages.append(PosedStage(stage.name, Unrolled(program, data), until, stage.ends_on))
    assert program is not None
    own = set(program.observables)
    return Posed(
        stated,
        program,
        tuple(exactly(float(x)) for x in problem.initial),
        tuple(stages),
        tuple(
            Watched(e.name, e.observable, exactly(float(e.threshold)), e.direction)
            for e in problem.events
            if e.observable in own
        ),
        {name: _dyadic(t, name) for name, t in problem.marks.items() if np.isfinite(t)},
        Fraction(float(problem.t_max)),
    )


def _rows(array: np.ndarray) -> tuple[tuple[Exact, ...], ...]:
    return tuple(tuple(exactly(float(x)) for x in row) for row in np.atleast_2d(np.asarray(array)))


def _dyadic(t: float, what: str) -> Fraction:
    """A time as it is in float: an exact dyadic."""
    if not np.isfinite(t):
        raise InputError(f"{what} is not finite.")
    return Fraction(float(t))
