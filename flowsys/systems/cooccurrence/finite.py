"""Finite width: gradient flow on the weights (L1) and on their inner products (L2), small or in the paper's families.

Both reduced systems close exactly at every width (`closure`). Every state ends with the two clocks tau = βt and
clock = ∫(c + |a|² α)dt; symmetric matrices are kept by their distinct entries.
"""

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model.gram import SymmetricLayout
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem, Stage
from flowsys.systems.cooccurrence import closure as cl
from flowsys.systems.cooccurrence.measured import MEASURED, observations
from flowsys.systems.cooccurrence.network import (
    FiniteArguments,
    Structure,
    experiment,
    finite_arguments,
    initial_weights,
)
from flowsys.systems.cooccurrence.phases import DEFAULT, events_of
from flowsys.systems.cooccurrence.weights import Weights, weight_loss

_SYMMETRIC = ("B", "VV", "KK", "QQ")


class Layout:
    """A state as a flat vector: the members of a named tuple in order (symmetric ones once), then the clocks."""

    def __init__(self, kind: type, shapes: dict[str, tuple[int, ...]]):
        self.kind, self.shapes = kind, shapes
        self.symmetric = {name: SymmetricLayout(shapes[name][0]) for name in kind._fields if name in _SYMMETRIC}
        sizes = [self._size(name) for name in kind._fields]
        self.ends = np.cumsum(sizes).tolist()

    def _size(self, name: str) -> int:
        return len(self.symmetric[name]) if name in self.symmetric else int(np.prod(self.shapes[name], dtype=int))

    @property
    def names(self) -> tuple[str, ...]:
        inner = [f"{name}_{i}" for name in self.kind._fields for i in range(self._size(name))]
        return (*inner, "tau", "clock")

    def split(self, y):
        """(state, clocks)."""
        parts, start = [], 0
        for name, end in zip(self.kind._fields, self.ends):
            part = y[start:end]
            symmetric = self.symmetric.get(name)
            parts.append(symmetric.matrix(part) if symmetric else part.reshape(self.shapes[name]))
            start = end
        return self.kind(*parts), y[start:]

    def join(self, state, clocks):
        parts = []
        for name, part in zip(self.kind._fields, state):
            symmetric = self.symmetric.get(name)
            parts.append(symmetric.vector(part) if symmetric else jnp.reshape(part, -1))
        return jnp.concatenate([*parts, *(jnp.reshape(jnp.asarray(x, dtype=float), 1) for x in clocks)])


@lru_cache(maxsize=32)
def layout(structure: Structure, form: str) -> Layout:
    """The layout of `weights`, `small` or `six_families`."""
    _, _, d, m, m1 = structure
    square = dict.fromkeys(("VV", "S", "KK", "QQ"), (d, d))
    if form == "weights":
        return Layout(Weights, {"W": (m1, m)} | dict.fromkeys(("W_V", "W_K", "W_Q"), (m, d)))
    if form == "small":
        return Layout(cl.Small, {"G": (d,), "c": ()} | square)
    return Layout(cl.SixFamilies, {"A": (m1, d), "B": (m1, m1)} | square)


def in_small_coordinates(form: str, state, a) -> cl.Small:
    """The inner products of any form."""
    if form == "weights":
        return cl.small_coordinates(state, a)
    return state if form == "small" else cl.small_from_six(state, a)


def velocity(form: str, state, arguments: FiniteArguments):
    """dstate/dt of a form."""
    train, a = arguments.train, arguments.a
    if form == "weights":
        return jax.tree.map(jnp.negative, jax.grad(weight_loss)(state, a, train))
    if form == "small":
        return cl.small_field(0.0, state, train)
    return cl.six_families_field(0.0, state, cl.SixFamiliesArgs(train, a))


def _squared_u(form: str, state, a):
    """c = |Wᵀa|²."""
    if form == "weights":
        return jnp.sum((a @ state.W) ** 2)
    return state.c if form == "small" else a @ state.B @ a


@lru_cache(maxsize=32)
def field(structure: Structure, form: str) -> FunctionField:
    """The gradient flow of a form, observed under the limit's names."""
    flat = layout(structure, form)

    def rhs(y, arguments):
        state, _ = flat.split(y)
        clock = _squared_u(form, state, arguments.a) + arguments.train.output_norm * arguments.alpha
        return flat.join(velocity(form, state, arguments), (arguments.beta, clock))

    def observed(y, arguments):
        state, clocks = flat.split(y)
        return observations(structure, in_small_coordinates(form, state, arguments.a), clocks, arguments)

    return FunctionField(flat.names, rhs, observed, MEASURED)


def finite_problem(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    """Gradient flow from the random weights of `seed`: on the weights (L1), small or six_families (L2)."""
    form = "weights" if level == "L1" else variant
    ready = experiment(setup, mode)
    structure = ready.structure.seen_by(form)
    with jax.enable_x64(True):
        weights, a = initial_weights(ready, setup["seed"])
        state = weights
        if form != "weights":
            state = cl.small_coordinates(weights, a) if form == "small" else cl.six_families(weights)
        initial = np.asarray(layout(structure, form).join(state, (0.0, 0.0)))
        arguments = finite_arguments(ready, a, form)
    mark = setup["C_T_1"] / ready.scales.beta
    return Problem(
        field=field(structure, form),
        initial=initial,
        stages=(Stage("training", arguments),),
        events=events_of(setup),
        marks={"T_1_clock": mark} if mark <= setup["t_max"] else {},
        conserved=_invariants(structure, form, arguments),
        scale=min(1.0, ready.scales.alpha * setup["width"] ** -0.5),
        t_max=setup["t_max"],
        default_at=DEFAULT,
    )


def _invariants(structure: Structure, form: str, arguments: FiniteArguments) -> Callable[[np.ndarray], np.ndarray]:
    """The first traces of the conserved spectra, relative to their size at the start."""
    flat = layout(structure, form)

    def of_one(y):
        small = in_small_coordinates(form, flat.split(y)[0], arguments.a)
        return jnp.stack(list(cl.invariants(small, arguments.train.output_norm).values()))

    def of_all(states: np.ndarray) -> np.ndarray:
        values = np.array([np.asarray(of_one(jnp.asarray(y))) for y in states])
        return values / np.maximum(np.abs(values[0]), 1.0)

    return of_all
