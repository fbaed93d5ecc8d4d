"""The closed flow of the coordinates (p, q, a): exact at any width and for any embeddings (level L2).

Weights move along token vectors only, ∂L/∂W_r = Σ_t ∂L/∂p_{r,t} e_t, so with G the Gram matrix of the tokens

    dp/dt = -∂_pL G,      dq/dt = -∂_qL G,      da/dt = -G ∂_aL G,

and gradient descent is the Euler map of the same field. A coordinate that stands for n equal ones carries 1/n in G,
and a neuron that stands for others a mobility, which is how the symmetric and the infinite-width forms fit in.
Time is gradient-flow time (learning rate × steps).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from flowsys.systems.parity import model
from flowsys.systems.parity.data import Table
from flowsys.systems.parity.model import Coordinates, FrozenCoordinates


class Metric(NamedTuple):
    """Gram matrices of key and query tokens, and the mobility of the neurons."""

    keys: Any
    queries: Any
    mobility: Any = 1.0


class Flow(NamedTuple):
    """What the field needs besides the state: table, output weights, metric."""

    table: Table
    h: Any
    metric: Metric


def gram_metric(embeddings: jax.Array, n_query_tokens: int) -> Metric:
    """The metric of a finite model with the given embeddings."""
    with jax.enable_x64(True):
        gram = embeddings @ embeddings.T
        return Metric(keys=gram, queries=gram[-n_query_tokens:, -n_query_tokens:])


def field(t, y: Coordinates, args: Flow, kind: str = "linear") -> Coordinates:
    """Velocity of (p, q, a)."""
    table, h, metric = args
    return velocity(jax.grad(model.loss)(y, h, table, kind), metric)


def velocity(slope: Coordinates, metric: Metric) -> Coordinates:
    """Velocity of (p, q, a), given the slope of a loss in them."""
    return Coordinates(
        p=-metric.mobility * slope.p @ metric.queries,
        q=-metric.mobility * slope.q @ metric.keys,
        a=-metric.keys @ slope.a @ metric.queries,
    )


class FrozenFlow(NamedTuple):
    """What the frozen-gate field needs: table, gate overlaps Γ, metric."""

    table: Table
    overlaps: Any
    metric: Metric


def gate_overlaps(gates: jax.Array, h: jax.Array, mobility: float = 1.0) -> jax.Array:
    """Γ_{ib,i'b'} = Σ_r h_r² 1(ν_{r,ib} > 0) 1(ν_{r,i'b'} > 0), from gates (2m × queries) of zeros and ones."""
    active = gates * h[:, None]
    return mobility * active.T @ active


def limit_overlaps(n_query_tokens: int, m: float) -> jax.Array:
    """Γ at infinite width, (I + 11ᵀ)/(8m): m is left as the ratio of the time scales of W and A."""
    with jax.enable_x64(True):
        return (jnp.eye(n_query_tokens) + 1.0) / (8 * m)


def freeze(y: Coordinates, gates: jax.Array, h: jax.Array) -> FrozenCoordinates:
    """(P, K, a): each query token's active neurons summed with their output weights."""
    active = gates * h[:, None]
    return FrozenCoordinates(P=(active * y.p).sum(axis=0), K=active.T @ y.q, a=y.a)


def frozen_field(t, y: FrozenCoordinates, args: FrozenFlow, kind: str = "linear") -> FrozenCoordinates:
    """Velocity of (P, K, a) while no gate flips; P feels Γ only between tokens that are not orthogonal."""
    table, overlaps, metric = args
    return frozen_velocity(jax.grad(model.loss)(y, None, table, kind), overlaps, metric)


def frozen_velocity(slope: FrozenCoordinates, overlaps, metric: Metric) -> FrozenCoordinates:
    """Velocity of (P, K, a), given the slope of a loss in them."""
    return FrozenCoordinates(
        P=-(overlaps * metric.queries) @ slope.P,
        K=-overlaps @ slope.K @ metric.keys,
        a=-metric.keys @ slope.a @ metric.queries,
    )


def euler_step(y, velocity, learning_rate: float):
    """One step of gradient descent: closed in these coordinates."""
    return jax.tree.map(lambda value, rate: value + learning_rate * rate, y, velocity)
