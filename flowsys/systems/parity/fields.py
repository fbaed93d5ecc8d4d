"""Vector fields of the finite and of the enumerated limit levels, one per structure.

weights   gradient flow of (W, A) by autodiff                       (L1)
live      (p, q, a), every neuron with its gate                     (L2, and L3 with the balanced design)
frozen    (P, K, a), gates as they were at the start                (L2, and L3 with the limit's gate overlaps)
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from flowsys.system.problem import FunctionField
from flowsys.systems.parity import closure, gated
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates, Weights

OBSERVED = (
    *("g", "u", "v", "w", "s_target", "one_hot_error", "margin", "entropy", "accuracy", "loss"),
    *("margin_min", "margin_max", "margin_i_min", "s_min", "one_hot_error_max"),
    *("accuracy_all", "accuracy_mean", "common_mode", "score_target_min", "score_other_max", "P_max"),
)


@dataclass(frozen=True)
class Structure:
    """What a compiled field depends on: its coordinates, their sizes, and how the loss and its kinks are read."""

    kind: str
    n_neurons: int
    n_keys: int
    k: int
    dimension: int = 0
    loss: str = "linear"
    kinks: str = "frozen"

    @property
    def has_kinks(self) -> bool:
        return self.kinks == "frozen" and (self.kind != "frozen" or self.loss == "hinge")

    def n_gates(self, n_rows: int) -> int:
        hinges = n_rows if self.loss == "hinge" else 0
        return hinges + (0 if self.kind == "frozen" else n_rows * self.n_neurons)

    def zeros(self) -> Weights | Coordinates | FrozenCoordinates:
        """The shape of a state."""
        N, T, Q, d = self.n_neurons, self.n_keys, 2 * self.k, self.dimension
        if self.kind == "weights":
            return Weights(W=np.zeros((N, 2 * d)), A=np.zeros((d, d)))
        if self.kind == "live":
            return Coordinates(p=np.zeros((N, Q)), q=np.zeros((N, T)), a=np.zeros((T, Q)))
        return FrozenCoordinates(P=np.zeros(Q), K=np.zeros((Q, T)), a=np.zeros((T, Q)))

    @property
    def observables(self) -> tuple[str, ...]:
        return OBSERVED if self.kind == "frozen" else (*OBSERVED, "flipped", "gate_slack")


@lru_cache(maxsize=64)
def unraveller(structure: Structure):
    """Flat vector -> state."""
    with jax.enable_x64(True):
        return ravel_pytree(structure.zeros())[1]


def flat(state) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(ravel_pytree(state)[0])


def slope_to_velocity(structure: Structure, arguments: gated.GatedArguments):
    """-(metric)·slope for the structure's coordinates."""
    metric = arguments.metric
    if structure.kind == "weights":
        return lambda slope: Weights(W=-metric.mobility * slope.W, A=-slope.A)
    if structure.kind == "live":
        return lambda slope: closure.velocity(slope, metric)
    return lambda slope: closure.frozen_velocity(slope, arguments.overlaps, metric)


def coordinates_of(structure: Structure, state, arguments: gated.GatedArguments):
    """The coordinates the loss is written in."""
    return gated.seen(state, arguments) if structure.kind == "weights" else state


def velocity(structure: Structure, state, arguments: gated.GatedArguments):
    """The gradient flow's velocity of a state (weights, or coordinates of either kind)."""

    def loss(z):
        return gated.total_loss(coordinates_of(structure, z, arguments), arguments, structure.loss, structure.kinks)

    return slope_to_velocity(structure, arguments)(jax.grad(loss)(state))


def observe(structure: Structure, state, arguments: gated.GatedArguments):
    """Everything observable of a state; frozen gates are read as they are."""
    kinks = "smooth" if structure.kinks == "smooth" else "exact"
    return gated.observations(
        coordinates_of(structure, state, arguments), arguments, structure.k, structure.loss, kinks
    )


def state_names(structure: Structure) -> tuple[str, ...]:
    return tuple(
        f"{part}_{'_'.join(map(str, place))}"
        for part, shape in zip(structure.zeros()._fields, structure.zeros())
        for place in np.ndindex(shape.shape)
    )


@lru_cache(maxsize=64)
def field(structure: Structure) -> FunctionField:
    """The field of a structure on flat vectors."""
    state = unraveller(structure)

    def rhs(y, arguments):
        return ravel_pytree(velocity(structure, state(y), arguments))[0]

    def observed(y, arguments):
        return observe(structure, state(y), arguments)

    def switching(y, arguments):
        coordinates = coordinates_of(structure, state(y), arguments)
        return gated.switching(coordinates, arguments, structure.loss, structure.kinks)

    if not structure.has_kinks:
        return FunctionField(state_names(structure), rhs, observed, structure.observables)
    smooth = lambda: field(replace(structure, kinks="smooth"))
    return FunctionField(state_names(structure), rhs, observed, structure.observables, switching, smooth)
