"""Gradient steps as stages of a flow: each moves along a straight line, at the velocity of the point it starts from.

A step of rate η takes the time η, so the map of a few steps is a flow whose velocity is held in each stage, and every
level of flow has it too. In descent a step takes one learning rate of time, whatever its own rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.model.declaration import Stage as DeclaredStage
from flowsys.model.declared import Declaration
from flowsys.system.problem import Field, FunctionField, Problem, ProgramField, Stage


class Held(NamedTuple):
    """The velocity of a stage, and the arguments that observables read."""

    velocity: Any
    arguments: Any


def are_steps(stages: Sequence[DeclaredStage]) -> bool:
    return stages[0].step is not None


def rates_of_steps(declaration: Declaration, values: Mapping[str, Any], mode: str) -> dict[str, float]:
    """The rate of each step of a mode, by the name of its stage."""
    return {
        stage.name: declaration.number(stage.step, values, f"stage {stage.name}: step")
        for stage in declaration.stages[mode]
        if stage.step is not None
    }


@lru_cache(maxsize=64)
def held(field: Field) -> FunctionField:
    """The field with its velocity given."""

    def observed(y, arguments, wanted):
        return dict(zip(wanted, field.observe(wanted)(y, arguments.arguments)))

    return FunctionField(field.names, lambda y, held: held.velocity, observed, field.observables, takes_names=True)


@lru_cache(maxsize=64)
def _velocity(field: Field):
    import jax

    return jax.jit(field.rhs)


def in_steps(problem: Problem, declaration: Declaration, values: Mapping[str, Any], mode: str) -> Problem:
    """The steps of a mode in place of the flow of its stages; a mode without steps is left as it is.

    A field of functions has to read kinks as they are; a program is made to.
    """
    if not are_steps(declaration.stages[mode]):
        return problem
    import jax

    field = problem.field
    field = replace(field, kinks="exact") if isinstance(field, ProgramField) else field
    rates = rates_of_steps(declaration, values, mode)
    stages, ends, y = [], np.cumsum(list(rates.values())), np.asarray(problem.initial)
    with jax.enable_x64(True):
        for stage, rate, end in zip(problem.stages, rates.values(), ends):
            velocity = np.asarray(_velocity(field)(y, stage.arguments))
            stages.append(Stage(stage.name, Held(velocity, stage.arguments), until=float(end)))
            y = y + rate * velocity
    marks = dict(zip(rates, map(float, ends)))
    return replace(
        problem, field=held(field), stages=tuple(stages), marks=marks, events=(), conserved=None,
        t_max=float(ends[-1]), default_at=tuple(rates),
    )  # fmt: skip
