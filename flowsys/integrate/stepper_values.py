"""What steppers take and give, whichever library steps: what is watched, where a call stopped and why."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

# values at 0, 1/3, 2/3, 1 of a step -> the cubic through them at 13 interior points
NODES = np.array([0.0, 1 / 3, 2 / 3, 1.0])
_INTERIOR = np.linspace(0, 1, 15)[1:-1]
CUBIC = np.array([[np.prod([(x - b) / (a - b) for b in NODES if b != a]) for a in NODES] for x in _INTERIOR])


# a gate said to lie on a surface is off it once its switching function is this large
OFF_SURFACE = 1e-8


class Status(IntEnum):
    """Why a call of `advance` stopped."""

    REACHED = 0
    WATCHED = 1
    TOO_MANY_STEPS = 2
    STEP_TOO_SMALL = 3
    NOT_FINITE = 4
    STIFF = 5
    LOOKED = 6
    CALM = 7


class Watch(NamedTuple):
    """What to stop for, as data: thresholds and directions of events (0 = off), orientation of kinks (0 = off)."""

    thresholds: Any
    directions: Any
    orientations: Any


class Slide(NamedTuple):
    """Surfaces to slide on: which gates share each (surfaces × gates, 0 or 1; rows of zeros are padding), and the gate
    whose switching function represents it; `loose` gates lie on surfaces without representing one."""

    groups: Any
    representatives: Any
    loose: Any


class Advance(NamedTuple):
    """Where a call of `advance` stopped, and the start of its last step."""

    status: Any
    t: Any
    y: Any
    t_before: Any
    y_before: Any
    dt: Any
    accepted: Any
    rejected: Any
    evidence: Any = 0


class Patience(NamedTuple):
    """Evidence of stiffness so far, and how much ends a call: steps beyond stability add two, calm ones take one."""

    evidence: Any
    limit: Any
