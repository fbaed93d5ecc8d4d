"""The paper's own account of training: a lower bound on p driven by two exponents (Eqs. 156-159, 44).

    p = [1 + (K-1) e^-s + (1-α)/α ((K-1) e^-s + e^-u)]^-1,    ds/dt = 2α²/K³ (1-p)²,    du/dt = p (1-p)²/(K M).

s is the score of the query's step, u that of its pattern. The paper has ≳ in du/dt; the constant 1 is a choice made
here.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import stated_problem
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem
from flowsys.systems.prompt import SYSTEM

OBSERVABLES = (
    "s", "u", "mass_same_same", "p_min", "mass_other_step", "mass_other_step_max", "log_other_step_max",
    "log_missed_max",
)  # fmt: skip


def same_mass(ops, s, u, K, alpha):
    """p (Eq. 156 with s_1 = s_2)."""
    return 1 / (1 + (K - 1) * ops.exp(-s) + (1 - alpha) / alpha * ((K - 1) * ops.exp(-s) + ops.exp(-u)))


def other_step_mass(ops, s, u, K, alpha):
    """Attention on columns of other steps: p (K - 1) e^-s / α."""
    return same_mass(ops, s, u, K, alpha) * (K - 1) * ops.exp(-s) / alpha


def velocity(ops, s, u, M, K, alpha) -> tuple:
    """d(s, u)/dt."""
    p = same_mass(ops, s, u, K, alpha)
    unexplained = (1 - p) * (1 - p)
    return 2 * alpha * alpha / K**3 * unexplained, p * unexplained / (K * M)


class Sizes(NamedTuple):
    """Sizes, as data."""

    M: Any
    K: Any
    alpha: Any


@lru_cache(maxsize=1)
def surrogate_field() -> FunctionField:
    """d(s, u)/dt in JAX."""
    import jax.numpy as jnp

    from flowsys.model import ops

    def observed(y, arguments):
        _, K, alpha = arguments
        p, other = same_mass(ops, *y, K, alpha), other_step_mass(ops, *y, K, alpha)
        missed = other + p * (1 - alpha) / alpha * ops.exp(-y[1])
        return dict(zip(OBSERVABLES, (*y, p, p, other, other, ops.log(other), ops.log(missed))))

    return FunctionField(
        ("s", "u"), lambda y, a: jnp.stack(velocity(ops, y[0], y[1], a.M, a.K, a.alpha)), observed, OBSERVABLES
    )


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """L4: the paper's bound from s = u = 0."""
    if mode == "planar":
        raise InputError("mode = planar is not allowed at level L4: it is a limit of L3.")
    sizes = Sizes(*(np.float64(setup[name]) for name in Sizes._fields))
    return stated_problem(SYSTEM.declaration, setup, mode, surrogate_field(), np.zeros(2), lambda stage: sizes)
