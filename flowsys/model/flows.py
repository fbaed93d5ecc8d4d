"""Gradient flow at finite width: on the weights (L1) and on what the loss sees of them (L2), from one declaration.

Both are JAX functions on flat states, with the ReLUs as gates that a solver freezes, flips and slides on. Observables
that are integrated in time stand at the end of the state.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model.concrete import Arguments, Concrete
from flowsys.model.gates import GatedOps
from flowsys.system.problem import FunctionField


class Weights:
    """The weights of a model as one flat vector: names, shapes, and the way there and back."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]):
        self.shapes = dict(shapes)
        ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in self.shapes.values()])
        self.size = int(ends[-1])
        self._places = dict(zip(self.shapes, zip([0, *ends[:-1].tolist()], ends.tolist())))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}[{i}]" for name, (a, b) in self._places.items() for i in range(b - a))

    def split(self, y: Any) -> dict[str, Any]:
        return {name: y[..., a:b].reshape(*y.shape[:-1], *self.shapes[name]) for name, (a, b) in self._places.items()}

    def join(self, weights: Mapping[str, Any], xp: Any = np) -> Any:
        return xp.concatenate([xp.reshape(weights[name], -1) for name in self.shapes])


def seen_of(concrete: Concrete, weights: Mapping[str, Any]) -> dict[str, Any]:
    """What the loss sees of the weights."""
    return {name: array for block in concrete.blocks.values() for name, array in block.seen(weights).items()}


def slopes_of(concrete: Concrete, seen: Mapping[str, Any], arguments: Arguments, kinks: str) -> dict[str, Any]:
    """The loss's slopes in what it sees."""

    def loss(arrays):
        return concrete.loss(GatedOps(kinks, arguments.gates, arguments.kink_width), arrays, arguments)

    return jax.grad(loss)(dict(seen))


def rates_of(
    concrete: Concrete, seen: Mapping[str, Any], slopes: Mapping[str, Any], arguments: Arguments
) -> dict[str, Any]:
    """d/dt of what the loss sees."""
    found: dict[str, Any] = {}
    for name, block in concrete.blocks.items():
        found |= block.rates(seen, slopes, arguments.trains[name], arguments.rates)
    return found


def flow_of_weights(concrete: Concrete, weights: Mapping[str, Any], arguments: Arguments, kinks: str) -> dict[str, Any]:
    """Gradient flow on the weights themselves, by autodiff."""

    def loss(arrays):
        gated = GatedOps(kinks, arguments.gates, arguments.kink_width)
        return concrete.loss(gated, seen_of(concrete, arrays), arguments)

    slopes = jax.grad(loss)(dict(weights))
    rate = {
        name: arguments.trains[block.name] * arguments.rates[name]
        for block in concrete.blocks.values()
        for name in block.weight_rates()
    }
    return {name: -rate[name] * slope for name, slope in slopes.items()}


def count_gates(concrete: Concrete) -> int:
    """How many ReLUs one evaluation of the loss holds."""
    arguments = concrete.arguments(0)

    def switching(seen):
        gated = GatedOps("exact")
        concrete.loss(gated, seen, arguments)
        return gated.switching

    shapes = {name: jax.ShapeDtypeStruct(shape, np.float64) for name, shape in concrete.coordinates.shapes.items()}
    return int(jax.eval_shape(switching, shapes).size)


def reduced_field(concrete: Concrete, kinks: str = "frozen") -> FunctionField:
    """L2: what the loss sees moves by itself."""
    coordinates = concrete.coordinates

    def rates(y, arguments):
        seen = coordinates.split(y)
        slopes = slopes_of(concrete, seen, arguments, kinks)
        return coordinates.join(rates_of(concrete, seen, slopes, arguments), jnp)

    return _field(concrete, coordinates.names, coordinates.size, rates, coordinates.split, kinks, reduced_field)


def weights_field(concrete: Concrete, weights: Weights, kinks: str = "frozen") -> FunctionField:
    """L1: every weight moves by autodiff."""

    def rates(y, arguments):
        return weights.join(flow_of_weights(concrete, weights.split(y), arguments, kinks), jnp)

    def split(y):
        return seen_of(concrete, weights.split(y))

    again = lambda concrete, kinks: weights_field(concrete, weights, kinks)
    return _field(concrete, weights.names, weights.size, rates, split, kinks, again)


def weight_shapes(concrete: Concrete, width: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the weights, as they start."""
    found: dict[str, tuple[int, ...]] = {}
    for block in concrete.blocks.values():
        if block.is_pair and block.block.start is not None:
            start = block.initial(np.random.default_rng(0), width)
            found |= {name: array.shape for name, array in start.items()}
        else:
            found |= block.weight_shapes(width) if block.is_pair else block.weights
    return found


def _field(concrete: Concrete, names, size: int, rates, split, kinks: str, again) -> FunctionField:
    """The field with its observables, integrals and switching functions."""
    declared, entries = concrete.observable_names, concrete.coordinates
    integrals = tuple(concrete.declaration.integrals.items())
    exact = "smooth" if kinks == "smooth" else "exact"

    def observing(y, arguments, wanted):
        gated = GatedOps(exact, None, arguments.kink_width)
        return concrete.observed(gated, split(y[:size]), arguments, wanted)

    def rhs(y, arguments):
        moving = rates(y[:size], arguments)
        if not integrals:
            return moving
        values = observing(y, arguments, tuple(dict.fromkeys(observable for _, observable in integrals)))
        return jnp.concatenate([moving, jnp.stack([jnp.asarray(values[o], dtype=float) for _, o in integrals])])

    def observed(y, arguments, wanted):
        found = observing(y, arguments, tuple(name for name in wanted if name in declared))
        flat = None
        for name in wanted:
            if name in entries.index:
                flat = entries.join(split(y[:size]), jnp) if flat is None else flat
                found[name] = flat[entries.index[name]]
        return found | {name: y[size + i] for i, (name, _) in enumerate(integrals)}

    def switching(y, arguments):
        gated = GatedOps(kinks, arguments.gates, arguments.kink_width)
        concrete.loss(gated, split(y[:size]), arguments)
        return gated.switching

    all_names = (*names, *(name for name, _ in integrals))
    everything = tuple(dict.fromkeys((*declared, *(name for name, _ in integrals), *entries.names)))
    if kinks == "smooth" or count_gates(concrete) == 0:
        return FunctionField(all_names, rhs, observed, everything, takes_names=True)
    smooth = partial(again, concrete, kinks="smooth")
    return FunctionField(all_names, rhs, observed, everything, switching, smooth, takes_names=True)
