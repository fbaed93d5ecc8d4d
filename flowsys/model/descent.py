"""Gradient descent (L0) on the weights, or on what the loss sees of them at a cost that does not know the width.

    weights, sgd          w ← w - η ∂L/∂w by autodiff, on the population or on a fresh batch each step
    gram, sgd_gram        the same descent, exactly, on inner products: M ← (I - ηCΓ) M (I - ηΓC)

The state of a descent is {"weights" or "seen": arrays by name, "integrals": sums, "key": of the next batch}.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.model.averages import Averages
from flowsys.model.concrete import Arguments, Concrete, Rows, View
from flowsys.model.declaration import Samples
from flowsys.model.flows import flow_of_weights, seen_of, slopes_of
from flowsys.model.gates import GatedOps
from flowsys.runs.training import Descent
from flowsys.system.lazy import first_of

ON_SEEN = ("gram", "sgd_gram")
IN_BATCHES = ("sgd", "sgd_gram")


def descent(concrete: Concrete, variant: str) -> Descent:
    """The descent of a variant, compiled once for a structure."""
    declared, entries = concrete.observable_names, concrete.coordinates
    integrals = tuple(concrete.declaration.integrals.items())
    on_seen, in_batches = variant in ON_SEEN, variant in IN_BATCHES

    def seen(state):
        return state["seen"] if on_seen else seen_of(concrete, state["weights"])

    def values(state, arguments, wanted) -> dict[str, Any]:
        return concrete.observed(GatedOps("exact"), seen(state), arguments, wanted)

    def step(state, arguments, learning_rate):
        new = dict(state)
        of_step, model = arguments, concrete
        if in_batches:
            key, new["key"] = jax.random.split(state["key"])
            of_step, model = with_batch(concrete, arguments, key)
        if on_seen:
            slopes = slopes_of(model, state["seen"], of_step, "exact")
            new["seen"] = {}
            for name, block in model.blocks.items():
                η = learning_rate * arguments.trains[name]
                new["seen"] |= block.step(state["seen"], slopes, η, arguments.rates)
        else:
            rates = flow_of_weights(model, state["weights"], of_step, "exact")
            new["weights"] = {name: w + learning_rate * rates[name] for name, w in state["weights"].items()}
        if integrals:
            now = values(state, arguments, tuple(dict.fromkeys(o for _, o in integrals)))
            new["integrals"] = {k: state["integrals"][k] + learning_rate * now[o] for k, o in integrals}
        return new

    def observe(state, arguments, wanted):
        found = values(state, arguments, tuple(name for name in wanted if name in declared))
        flat = None
        for name in wanted:
            if name in entries.index:
                flat = entries.join(seen(state), jnp) if flat is None else flat
                found[name] = flat[entries.index[name]]
        return found | dict(state["integrals"])

    names = tuple(dict.fromkeys((*declared, *(name for name, _ in integrals), *entries.names)))
    hidden = frozenset((*names, *entries.averages)) - frozenset(concrete.default_names())
    flat = lambda state, _: entries.join({name: np.asarray(array) for name, array in seen(state).items()})
    measures = {
        name: lambda state, arguments, name=name: concrete.measured(seen(state), arguments, name)
        for name in concrete.declaration.measures
    }
    further = first_of(measures, Averages(concrete, flat))
    return Descent(step, observe, names, further, hidden, takes_names=True, arrays=seen if on_seen else _weights)


def _weights(state: Mapping[str, Any]) -> Mapping[str, Any]:
    return state["weights"]


def with_batch(concrete: Concrete, arguments: Arguments, key: Any) -> tuple[Arguments, "_OfBatch"]:
    """The model with a fresh batch in place of its own samples."""
    batch = concrete.declaration.batches(key, concrete.p(arguments.reals))
    if not isinstance(batch, Samples):
        raise InputError(f"batches gives a {type(batch).__name__}, but it must give fs.Samples(…).")
    return arguments._replace(weight=(batch.weight,), data=(batch.arrays,)), _OfBatch(concrete, batch)


class _OfBatch:
    """A concrete model whose one population is a batch."""

    def __init__(self, concrete: Concrete, batch: Samples):
        self.blocks, self._concrete, self._batch = concrete.blocks, concrete, batch

    def loss(self, ops: Any, seen: Mapping[str, Any], arguments: Arguments) -> Any:
        X = Rows(self._batch.arrays, self._batch.weight)
        found = self._concrete.populations[0].loss(ops, View(seen), X, self._concrete.p(arguments.reals))
        return (self._batch.weight * found).sum()


def initial_state(concrete: Concrete, variant: str, weights: Mapping[str, np.ndarray], seed: int) -> dict[str, Any]:
    """The state of a descent from given weights (or, for the variants on what is seen, from what is seen)."""
    state: dict[str, Any] = {"integrals": {name: jnp.zeros(()) for name in concrete.declaration.integrals}}
    if variant in ON_SEEN:
        is_seen = set(weights) == set(concrete.coordinates.shapes)
        state["seen"] = {k: jnp.asarray(v) for k, v in (weights if is_seen else seen_of(concrete, weights)).items()}
    else:
        state["weights"] = {name: jnp.asarray(array) for name, array in weights.items()}
    if variant in IN_BATCHES:
        state["key"] = jax.random.key(seed)
    return state
