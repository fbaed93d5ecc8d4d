"""Directions in which a flow is varied: a parameter, or a coordinate of the start.

A problem is built from its parameters by arbitrary code, so what a parameter moves (start, program parameters, table
columns, stage ends, thresholds, marks) is found by building it at five values of it: differences of fourth order, exact
to about 1e-12, of closed formulas; the flow itself is never differenced. A direction is scaled by the parameter's size.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.program import Program
from flowsys.runs.flow import Flow
from flowsys.system.problem import Apart, Problem, ProgramField

START = "start:"
STEP = 1e-3
_CENTRAL = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
_ONE_SIDED = {0: -25 / 12, 1: 48 / 12, 2: -36 / 12, 3: 16 / 12, 4: -3 / 12}


@dataclass(frozen=True)
class Direction:
    """Derivatives of everything a problem is made of; `size` is what they are divided by in the end."""

    name: str
    size: float
    initial: np.ndarray
    parameters: tuple[np.ndarray, ...]
    tables: tuple[Mapping[str, np.ndarray], ...]
    until: tuple[float, ...]
    thresholds: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, float] = field(default_factory=dict)

    def moving(self, program: Program) -> frozenset[str]:
        """The parameters and table columns of a program that it changes."""
        of_tables = ((names, tables.get(name)) for tables in self.tables for name, names in program.tables.items())
        moved = [(program.parameters, row != 0) for row in self.parameters]
        moved += [(names, (rows != 0).any(axis=1)) for names, rows in of_tables if rows is not None]
        return frozenset(name for names, move in moved for name, moves in zip(names, move.tolist()) if moves)


def check_direction(flow: Flow, name: str) -> None:
    """Refuse what is neither a real parameter nor a coordinate of the start of a derived program."""
    if not isinstance(flow.problem.field, ProgramField):
        form = f"{flow.level} ({flow.variant}) of {flow.system.name}"
        raise InputError(f"no derivative in {name}: that needs a derived program, which {form} is not.")
    if name.startswith(START):
        names, coordinate = flow.problem.field.names, name.removeprefix(START)
        if coordinate not in names:
            hint = did_you_mean(coordinate, names)
            raise InputError(
                f"{name}: {coordinate} is not a coordinate here; there are {', '.join(names[:8])}, ….{hint}"
            )
        return
    declared = next((p for p in flow.system.parameters if p.name == name), None)
    if declared is None:
        known = [p.name for p in flow.system.parameters]
        raise InputError(
            f"no derivative in {name}: {flow.system.name} has no parameter {name!r}; it has {', '.join(known)}."
            + did_you_mean(name, known)
        )
    value = flow.setup[name]
    if declared.integer or isinstance(value, str | bool):
        raise InputError(f"no derivative in {name}: {name} = {value} is no real number.")


def direction_of(flow: Flow, name: str) -> Direction:
    """The direction a name stands for: a parameter, or a coordinate of the start as start:NAME."""
    check_direction(flow, name)
    return _along_start(flow, name.removeprefix(START)) if name.startswith(START) else _along_parameter(flow, name)


def _along_start(flow: Flow, coordinate: str) -> Direction:
    """One coordinate of the start moves."""
    problem = flow.problem
    names = problem.field.names
    initial = (np.arange(len(names)) == names.index(coordinate)).astype(float)
    still = [np.zeros_like(np.asarray(stage.arguments.parameters, dtype=float)) for stage in problem.stages]
    n = len(problem.stages)
    return Direction(f"{START}{coordinate}", 1.0, initial, tuple(still), ({},) * n, (0.0,) * n)


def _along_parameter(flow: Flow, name: str) -> Direction:
    """A real parameter moves."""
    declared = next(p for p in flow.system.parameters if p.name == name)
    value = flow.setup[name]
    size = abs(float(value)) or 1.0
    h = STEP * size
    try:
        weights, there = _CENTRAL, [flow.at(**{name: value + i * h}) for i in _CENTRAL]
    except InputError:
        way = 1 if value + h <= declared.high else -1
        weights = {way * i: way * w for i, w in _ONE_SIDED.items()}
        there = [flow.at(**{name: value + i * h}) for i in weights]
    problem = flow.problem
    built = _Built(problem, there)
    of = lambda part: built.slope(part, list(weights.values()))
    n = range(len(problem.stages))
    nearest = list(weights).index(1 if 1 in weights else -1)
    for part in (_start_of, *(_parameters_of(i) for i in n)):
        if not _is_near(built.each(part)[nearest], part(problem)):
            raise InputError(f"no derivative in {name}: the setup does not say which of its parameters were given.")
    if any(
        np.any(of(lambda p, k=k, i=i: p.stages[i].arguments.links[k]))
        for i in n
        for k in problem.stages[i].arguments.links
    ):
        raise InputError(f"no derivative in {name}: it changes how tables are linked.")
    return Direction(
        name,
        size,
        of(lambda p: p.initial),
        tuple(of(lambda p, i=i: p.stages[i].arguments.parameters) for i in n),
        tuple({t: of(lambda p, i=i, t=t: p.stages[i].arguments.tables[t]) for t in problem.stages[i].arguments.tables}
              for i in n),
        tuple(0.0 if problem.stages[i].until is None else float(of(lambda p, i=i: p.stages[i].until)) for i in n),
        {e.name: float(of(lambda p, k=k: p.events[k].threshold)) for k, e in enumerate(problem.events)},
        {mark: float(of(lambda p, k=mark: p.marks[k])) for mark in problem.marks},
    )  # fmt: skip


def _start_of(problem: Problem) -> np.ndarray:
    return problem.initial


def _parameters_of(stage: int) -> Callable[[Problem], np.ndarray]:
    return lambda problem: problem.stages[stage].arguments.parameters


def _is_near(x: np.ndarray, of: np.ndarray) -> bool:
    """Whether numbers differ by no more than a small step of a parameter can explain."""
    return bool(np.abs(x - of).max(initial=0.0) <= 100 * STEP * np.abs(of).max(initial=1.0))


class _Built:
    """The problems of flows that differ in one parameter, and in what is derived from it.

    Where the system takes these as arrays there is one problem for all, whose parts may have a leading axis.
    """

    def __init__(self, plain: Problem, flows: Sequence[Flow]):
        self.plain, self.n, first = plain, len(flows), flows[0]
        form = first.level, first.variant, first.mode
        each = [flow.setup.values for flow in flows]
        moved = {name for name, x in each[0].items() if any(values[name] != x for values in each)}
        self.joint: Problem | None = None
        if moved <= set(first.system.columns(first.setup, *form)):
            columns = {name: np.array([values[name] for values in each]) for name in moved}
            setup = replace(first.setup, values={**first.setup.values, **columns})
            with suppress(Apart):
                self.joint = first.system.build(setup, *form)
        self.problems = [] if self.joint is not None else [flow.problem for flow in flows]

    def each(self, part: Callable[[Problem], Any]) -> Sequence[Any]:
        """A part of every problem; the very same object where they share it."""
        if self.joint is None:
            return [part(problem) for problem in self.problems]
        found = part(self.joint)
        return found if np.ndim(found) > np.ndim(part(self.plain)) else [found] * self.n

    def slope(self, part: Callable[[Problem], Any], weights: Sequence[float]) -> Any:
        """The derivative of a part times the parameter's size."""
        each = self.each(part)
        if all(x is each[0] for x in each):
            return np.zeros(np.shape(each[0]))
        return _difference(np.array(each, dtype=float), weights)


def _difference(each: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """The derivative times the parameter's size; what differs by rounding alone does not move."""
    with np.errstate(invalid="ignore"):
        found = np.tensordot(weights, each, axes=1) / STEP
        moves = np.abs(found) * STEP > 1e-14 * np.abs(each).max(axis=0)
    return np.where(moves, found, 0.0)
