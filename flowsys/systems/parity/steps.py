"""Three gradient steps as a problem in three stages, for any field of the system.

A gradient step of rate η moves along a straight line, at the velocity of its starting point, for the time η. So the map
is a flow whose velocity is held in each stage, t is the sum of the rates, and `step_1` … `step_3` are marks.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from flowsys.system import Setup
from flowsys.system.problem import Field, FunctionField, Problem, Stage
from flowsys.systems.parity.infinite import smallest_scale
from flowsys.systems.parity.three_step import Rates

STEPS = ("step_1", "step_2", "step_3")


class Held(NamedTuple):
    """The velocity of a stage, and the arguments observables read."""

    velocity: Any
    arguments: Any


def rates_of(setup: Setup) -> Rates:
    return Rates(setup["eta_0"], setup["eta_1"], setup["eta_2"])


@lru_cache(maxsize=64)
def held(field: Field) -> FunctionField:
    """The field with its velocity given."""

    def observed(y, arguments):
        return dict(zip(field.observables, field.observe(field.observables)(y, arguments.arguments)))

    return FunctionField(field.names, lambda y, arguments: arguments.velocity, observed, field.observables)


@lru_cache(maxsize=64)
def _velocity(field: Field):
    return jax.jit(field.rhs)


def three_step_problem(field: Field, initial: np.ndarray, arguments: Any, setup: Setup) -> Problem:
    """The three steps from `initial`."""
    stages, ends, y = [], np.cumsum(rates_of(setup)), np.asarray(initial)
    with jax.enable_x64(True):
        for name, rate, end in zip(STEPS, rates_of(setup), ends):
            velocity = np.asarray(_velocity(field)(y, arguments))
            stages.append(Stage(name, Held(velocity, arguments), until=float(end)))
            y = y + rate * velocity
    return Problem(
        field=held(field),
        initial=np.asarray(initial),
        stages=tuple(stages),
        marks=dict(zip(STEPS, map(float, ends))),
        scale=smallest_scale(setup),
        t_max=float(ends[-1]),
        default_at=STEPS,
    )
