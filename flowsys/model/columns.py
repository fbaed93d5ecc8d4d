"""Points of a sweep in columns: reals that change nothing of a found limit but numbers.

What the blocks read enters a found limit as its start, what the samples read as parameters of its program; any other
real is such a parameter itself, a threshold or a time. Points that differ in reals alone are one problem, in which
these are arrays. Blocks and samples are declared at numbers: once for all points that agree in what they read. Points
at which another limit is found are posed apart; so are those whose samples stand in tables, where these differ.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.declared import Declaration
from flowsys.model.keeping import Found
from flowsys.model.limit import limit_of, limit_problem
from flowsys.model.values import arrays_of, told_apart
from flowsys.system.problem import Apart, Problem


def column_names(declaration: Declaration, mode: str) -> tuple[str, ...]:
    """The reals that may be columns."""
    if any(stage.step is not None for stage in declaration.stages[mode]):
        return ()
    return (*(p.name for p in declaration.reals), "t_max")


def in_points(declaration: Declaration, values: Mapping[str, Any], mode: str) -> Problem:
    """The problem of the first point with the numbers of all points in place of its own."""
    columns = arrays_of(values)
    own = {name: float(column[0]) for name, column in columns.items()}
    try:
        first = Concrete(declaration, {**values, **own}, mode, at_limit=True)
        problem = limit_problem(first)
    except InputError:
        others = np.arange(len(next(iter(columns.values())))) > 0
        if others.any():
            raise Apart(others) from None  # it may be refused alone
        raise
    found = limit_of(first)
    starts = _distinct(first, columns, first.block_reads, found)
    data = _distinct(first, columns, declaration.sample_reads(first), found)
    if found.slots.tables and len(data.models) > 1:
        raise Apart(data.of != data.of[0])
    stages = []
    for number, (declared, stage) in enumerate(zip(declaration.stages[mode], problem.stages, strict=True)):
        rows = _parameters(found, starts, data, columns, number)
        until = declaration.until(declared, values)
        stages.append(replace(stage, arguments=stage.arguments._replace(parameters=rows), until=until))
    seen = [model.seen_at_limit() for model in starts.models]
    initial = np.repeat(problem.initial[None], len(seen), axis=0)
    initial[:, : found.partition.n_classes] = [found.partition.project(first.coordinates.join(each)) for each in seen]
    scales = [declaration.scale(model.blocks, each) for model, each in zip(starts.models, seen)]
    return replace(
        problem,
        initial=initial[starts.of],
        stages=tuple(stages),
        events=declaration.events_at(values, mode),
        marks=declaration.marks_at(values, mode),
        scale=np.array(scales)[starts.of],  # type: ignore[arg-type]  # of every point
        t_max=values["t_max"],
    )


class _Distinct(NamedTuple):
    """The model at the distinct values of some columns, and which of them every point has."""

    models: list[Concrete]
    of: np.ndarray


def _distinct(first: Concrete, columns: Mapping[str, np.ndarray], read: Collection[str], found: Found) -> _Distinct:
    """The points told apart by the columns that are read; Apart where the limit found is another, or there is none."""
    each, of = told_apart(columns, read)
    models = [_at(first, changes, found) for changes in each]
    apart = np.array([model is None for model in models])[of]
    if apart.any():
        raise Apart(apart)
    return _Distinct([model for model in models if model is not None], of)


def _at(first: Concrete, changes: Mapping[str, float], found: Found) -> Concrete | None:
    """The model with some reals changed, if its limit is this one."""
    try:
        model = Concrete(first.declaration, {**first.values, **changes}, first.mode, at_limit=True)
        for number in range(len(model.stages)):
            model.weights(number)
        return model if limit_of(model) is found else None
    except InputError:
        return None


def _parameters(
    found: Found, starts: _Distinct, data: _Distinct, columns: Mapping[str, np.ndarray], stage: int
) -> np.ndarray:
    """The program's parameters in a stage, a row for every point."""
    of_starts, of_data = ([found.slots.parameters(model, stage) for model in each.models] for each in (starts, data))
    rows = np.empty((len(starts.of), len(found.program.parameters)))
    for place, name in enumerate(found.program.parameters):
        if name in columns:
            rows[:, place] = columns[name]
            continue
        each, distinct = (of_data, data) if name in found.slots.of_data else (of_starts, starts)
        rows[:, place] = np.array([parameters[name] for parameters in each])[distinct.of]
    return rows
