"""Filippov's field on any number of switching surfaces, in JAX.

On surfaces h = 0 with shares λ of their open gates the field is f_0 + Σ λ_j c_j, and the surfaces move with
dh/dt = a + B λ (`Affine`, from the field under closed gates and with one surface's gates open at a time). The flow
slides where B λ = -a; it leaves surface i where λ_i reaches 0 or 1. What drifts off the surfaces is pulled back along
the c_j. A stepper needs `rhs` and `pulled_back` alone, explicit or implicit: both are smooth, also beyond the end of a
slide.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from flowsys.integrate.compiling import jit
from flowsys.integrate.complementarity import REFINEMENTS, YIELD
from flowsys.integrate.stepper_values import Slide
from flowsys.system.problem import Field


class Affine(NamedTuple):
    """f_0 (dim) and the columns c (surfaces × dim); a, B and the values h of the surfaces."""

    closed: Any
    columns: Any
    a: Any
    B: Any
    h: Any


def affine(field: Field, y, arguments, slide: Slide) -> Affine:
    """Field and velocities as affine functions of the shares; rows of padding hold their share at 1/2."""
    is_slid, is_surface = slide.groups.any(axis=0), slide.groups.any(axis=1)
    closed = jnp.where(is_slid, 0.0, arguments.gates)

    def corner(gates):
        at = arguments._replace(gates=gates)
        f = field.rhs(y, at)
        h, v = jax.jvp(lambda z: field.switching(z, at)[slide.representatives], (y,), (f,))
        return f, h, v

    f, h, v = jax.vmap(corner)(closed + jnp.concatenate([jnp.zeros((1, len(closed))), slide.groups]))
    real = is_surface[:, None] & is_surface[None, :]
    B = jnp.where(real, (v[1:] - v[0]).T, -jnp.eye(len(is_surface)))
    return Affine(f[0], f[1:] - f[0], jnp.where(is_surface, v[0], 0.5), B, jnp.where(is_surface, h[0], 0.0))


def _inverse(B):
    return jnp.linalg.inv(B - YIELD * jnp.diag(jnp.abs(jnp.diagonal(B))))


def slid_shares(on: Affine):
    """λ with B λ = -a (see `complementarity.slid_shares`)."""
    inverse, shares = _inverse(on.B), jnp.full(len(on.a), 0.5)
    for _ in range(REFINEMENTS):
        shares = shares - inverse @ (on.a + on.B @ shares)
    return shares


def rhs(field: Field, y, arguments, slide: Slide):
    """The field that stays on the surfaces."""
    on = affine(field, y, arguments, slide)
    return on.closed + slid_shares(on) @ on.columns


def leaving(field: Field, y, arguments, slide: Slide):
    """What turns positive where a surface lets go: λ (λ - 1), times B_ii², which also is finite where φ_i vanishes."""
    on = affine(field, y, arguments, slide)
    width = jnp.diagonal(on.B)
    open_part = width * slid_shares(on)
    return jnp.where(slide.groups.any(axis=1), open_part * (open_part - width), -1.0)


def pulled_back(field: Field, y, arguments, slide: Slide):
    """The state moved onto the surfaces, along the columns."""
    on = affine(field, y, arguments, slide)
    moved = y - (_inverse(on.B) @ on.h) @ on.columns
    return jnp.where(jnp.isfinite(moved).all(), moved, y)


@lru_cache(maxsize=64)
def affine_parts(field: Field) -> Callable:
    """`affine`, compiled."""
    return jit(lambda y, arguments, slide: affine(field, y, arguments, slide))


@lru_cache(maxsize=64)
def rate_and_velocity(field: Field) -> Callable:
    """dy/dt under the gates given, whatever they are, and dh/dt of every switching function along it."""

    def parts(y, arguments):
        rate = field.rhs(y, arguments)
        return rate, jax.jvp(lambda z: field.switching(z, arguments), (y,), (rate,))[1]

    return jit(parts)
