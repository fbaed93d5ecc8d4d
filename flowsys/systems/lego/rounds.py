"""Algorithms 1 and 2 in reduced coordinates, each stage integrated to its end by the engine.

Algorithm 1 needs the layer that stage 1 leaves; round k of Algorithm 2 needs the scores that round k - 1 leaves, for
it labels its data with them. Both are found here and handed on as an ordinary problem: the last round, which starts at
the τ its predecessors took.
"""

from functools import lru_cache

import numpy as np

from flowsys.automatic import integrate
from flowsys.errors import InputError
from flowsys.integrate.record import Tolerances
from flowsys.problem import Problem
from flowsys.system import Setup
from flowsys.systems.lego import groups
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.limits import ideal_features, stage_1_problem, stage_2_problem, trained_steps
from flowsys.systems.lego.measured import layer_nonlinearity
from flowsys.systems.lego.self_training import Layer, Round, recursive_self_training
from flowsys.systems.lego.stage_2 import Scores

RTOL = 1e-9


def run_to(problem: Problem, event: str) -> tuple[float, np.ndarray]:
    """When a problem reaches an event, and where."""
    import jax

    with jax.enable_x64(True):
        run = integrate(problem, (), (event,), Tolerances(RTOL, 1e-4 * RTOL * problem.scale, 1_000_000))
    found = [record for record in run.records if record.label == event]
    if not found:
        raise InputError(f"an earlier stage does not reach {event}: {run.outcome.sentence}")
    return found[0].t, found[0].y


@lru_cache(maxsize=64)
def _trained_features(items: tuple) -> Isotropic:
    _, y = run_to(stage_1_problem(Setup("lego", dict(items))), "stage_1_end")
    return Isotropic(*map(float, y))


def trained_features(setup: Setup) -> Isotropic:
    """a, b', c, e where stage 1 ends."""
    return _trained_features(tuple(setup.items()))
