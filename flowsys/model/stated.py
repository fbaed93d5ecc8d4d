"""A form of a model that is stated, not found, in the model's own stages: a limit with sizes as symbols, a surrogate.

It is a flow, or descent on its coordinates. What is known of the declaration (stages, events, horizon, what a run looks
at) is taken from it; the samples are never enumerated, so a stated limit serves sizes that a found one cannot reach.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.conserved import kept_by
from flowsys.model.declaration import Stage as DeclaredStage
from flowsys.model.declared import Declaration
from flowsys.model.starts import given_arrays, one_number
from flowsys.model.steps import in_steps
from flowsys.program import Program
from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.runs.training import Descent, Training
from flowsys.system.parameters import Setup
from flowsys.system.problem import Field, Problem, ProgramField, Stage


def stated_problem(
    declaration: Declaration,
    setup: Setup,
    mode: str,
    field: Field,
    initial: np.ndarray,
    arguments: Callable[[DeclaredStage], Any],
    **more: Any,
) -> Problem:
    """The problem of a stated field; `arguments(stage)` gives the data of a declared stage.

    Events of the declaration that watch what the field does not have are left out, and times before a later `start`.
    What a program says that its flow keeps is watched.
    """
    stages, start = declaration.stages[mode], more.get("start", 0.0)
    seen = {*field.observables, *more.get("derived", ())}
    more = {"default_at": declaration.default_at(setup, mode)} | more
    if isinstance(field, ProgramField):
        more = {"conserved": kept_by(field.program.state, field.program.spectra)} | more
    problem = Problem(
        field=field,
        initial=initial,
        stages=tuple(Stage(s.name, arguments(s), declaration.until(s, setup), s.ends_on) for s in stages),
        events=tuple(event for event in declaration.events_at(setup, mode) if event.observable in seen),
        marks={name: t for name, t in declaration.marks_at(setup, mode).items() if start == 0 or t > start},
        t_max=setup["t_max"],
        **more,
    )
    return in_steps(problem, declaration, setup, mode)


def program_problem(
    declaration: Declaration,
    setup: Setup,
    mode: str,
    program: Program,
    initial: np.ndarray,
    values: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    links: Mapping[str, Any] | None = None,
    **more: Any,
) -> Problem:
    """The problem of a stated program whose data, its parameters by name, tables and links, is that of every stage."""
    numbers = arguments(program, values, tables, links)
    return stated_problem(declaration, setup, mode, ProgramField(program), initial, lambda stage: numbers, **more)


def started_from(problem: Problem, start: Mapping[str, Any] | None, where: str) -> Problem:
    """The problem of a stated form with some coordinates of its state started at given numbers."""
    initial, names = np.array(problem.initial, dtype=float), tuple(problem.field.names)
    for name, value in given_arrays(start).items():
        if name not in names:
            known = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            raise InputError(f"start: {name} is not a coordinate of the state at {where}; there are {known}.")
        initial[..., names.index(name)] = one_number(value, f"start: {name}")
    return problem if start is None else replace(problem, initial=initial)


@lru_cache(maxsize=16)
def _descent(text: str) -> Descent:
    import jax.numpy as jnp

    program = Program.parse(text)
    names = tuple(program.observables)
    velocity, values = vector_field(program, "exact", jnp), observed(program, names, "exact", jnp)
    return Descent(
        lambda y, arguments, learning_rate: y + learning_rate * velocity(y, arguments),
        lambda y, arguments: dict(zip(names, values(y, arguments))),
        names,
    )


def stated_training(problem: Problem, seeds: int | None, steps: int) -> Training:
    """Descent on the coordinates of a stated program, from the start of its flow and over its stages."""
    if not isinstance(problem.field, ProgramField):
        raise TypeError(f"{type(problem.field).__name__} is not a program: its descent is not stated.")
    initial = np.asarray(problem.initial)
    return Training(
        descent=_descent(str(problem.field.program)),
        initial=initial if seeds is None else np.tile(initial, (seeds, 1)),
        stages=problem.stages,
        events=problem.events,
        marks=problem.marks,
        default_steps=steps,
    )
