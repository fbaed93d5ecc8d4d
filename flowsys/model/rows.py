"""Whether a loss looks at its samples one by one: merged samples would give other numbers otherwise."""

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Arguments, Concrete, Rows, View
from flowsys.model.gates import GatedOps

if TYPE_CHECKING:
    from flowsys.model.lumping import Lumping

_TOLERANCE = 1e-9


def check_rows(lumping: "Lumping", groups: tuple[np.ndarray, ...]) -> None:
    """Refuse a loss or an observable that differs between all samples and one of each group, at a random point."""
    rng, draw = np.random.default_rng(4), lumping.draws[0]
    y = lumping.lifted(rng)
    for j, labels in enumerate(groups):
        if len(labels) == 1:
            continue
        every = np.arange(len(labels))
        _, first, some = np.unique(labels, return_index=True, return_inverse=True)
        is_merged = len(first) < len(labels)
        chosen = first if is_merged else rng.permutation(len(labels))[: len(labels) // 2]
        with jax.enable_x64(True):
            whole = _values(lumping.concrete, j, y, draw.stages[0], every, every, is_merged)
            merged = _values(lumping.concrete, j, y, draw.stages[0], chosen, some if is_merged else None, is_merged)
        for what, values in whole.items():
            there = values[chosen] if np.ndim(values) else values
            if not np.allclose(merged[what], there, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
                raise InputError(
                    f"{what} of {lumping.concrete.declaration.name} mixes samples: its numbers change with the samples "
                    "beside them, but alike samples are merged in the limit; give one number for each sample, weigh "
                    "sums over samples with X.weight, and read X.weight in nothing else."
                )


def _values(
    concrete: Concrete, j: int, y: np.ndarray, arguments: Arguments, chosen: np.ndarray, merged: Any, observes: bool
) -> dict[str, np.ndarray]:
    """The loss of a population (and what is observed of the first) on some of its samples, with merged weights."""
    population = concrete.populations[j]
    weight = concrete.populations[j].samples.weight
    weight = weight[chosen] if merged is None else np.bincount(merged, weight)
    arrays = {k: a[chosen] for k, a in {**population.whole_numbers(), **arguments.data[j]}.items()}
    functions = {"the loss": population.loss}
    if j == 0 and observes:
        functions |= {f"observable {name}": f for name, f in concrete.declaration.observe.items()}

    @jax.jit
    def evaluated(y, reals):
        w, X, p = View(concrete.coordinates.split(y)), Rows(arrays, weight), concrete.p(reals)
        return {what: function(GatedOps(), w, X, p) for what, function in functions.items()}

    return {what: np.asarray(value) for what, value in evaluated(y, arguments.reals).items()}
