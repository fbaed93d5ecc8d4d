"""Points of a sweep in columns: reals that change nothing of a found limit but numbers.

A real that neither the blocks nor the samples read enters a found limit only as a parameter of its program, as a
threshold and as a time. Points that differ in such reals alone are one problem, in which these are arrays. What a
function reads to take a decision it reads, so all points of a column take the same way through it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.declared import Declaration
from flowsys.program.arrays import in_columns
from flowsys.system.problem import Problem, ProgramField


def column_names(declaration: Declaration, values: Mapping[str, Any], mode: str) -> tuple[str, ...]:
    """The reals that may be columns at these values of the others."""
    stages = declaration.stages[mode]
    times = [stage.until for stage in stages]
    events = declaration.events_in(mode).values()
    times += [getattr(event, "threshold", getattr(event, "time", None)) for event in events]
    if any(map(callable, times)) or any(stage.step is not None for stage in stages):
        return ()
    try:
        at = Concrete(declaration, values, mode, at_limit=True)
    except InputError:
        return ()
    read = {*at.block_reads, *declaration.sample_reads(at)}
    return tuple(name for name in (*(p.name for p in declaration.reals), "t_max") if name not in read)


def arrays_of(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The values that are columns."""
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def in_points(problem: Problem, declaration: Declaration, values: Mapping[str, Any], mode: str) -> Problem:
    """The problem of the first point with the columns' numbers in place of its own."""
    assert isinstance(problem.field, ProgramField)
    columns, stages = arrays_of(values), []
    for declared, stage in zip(declaration.stages[mode], problem.stages, strict=True):
        own = zip(problem.field.program.parameters, np.asarray(stage.arguments.parameters))
        parameters = in_columns([columns.get(name, value) for name, value in own])
        until = declaration.until(declared, values)
        stages.append(replace(stage, arguments=stage.arguments._replace(parameters=parameters), until=until))
    return replace(
        problem,
        stages=tuple(stages),
        events=declaration.events_at(values, mode),
        marks=declaration.marks_at(values, mode),
        t_max=values["t_max"],
    )
