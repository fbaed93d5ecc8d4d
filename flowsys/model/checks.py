"""A model tried once before anything is made of it: what is wrong is said in a sentence that names the culprit."""

from typing import Any

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Arguments, Concrete, View
from flowsys.model.flows import seen_of, weight_shapes
from flowsys.model.gates import GatedOps
from flowsys.model.pairs import PairBlock


def tried(concrete: Concrete) -> frozenset[str]:
    """What the losses read of the blocks; InputError if the model is ill-posed. Tried once for a structure."""
    return concrete.declaration.compiled(("tried", concrete.structure), lambda: _tried(concrete))


def keeps_spectra(concrete: Concrete) -> bool:
    """Whether the loss reads of its pairs only the products."""
    selfs = {name for block in concrete.blocks.values() if isinstance(block, PairBlock) for name in block.names[1:]}
    return not selfs & tried(concrete)


def _tried(concrete: Concrete) -> frozenset[str]:
    _check_names(concrete)
    rng = np.random.default_rng(0)
    weights = {k: rng.standard_normal(shape) for k, shape in weight_shapes(concrete, 3).items()}
    with jax.enable_x64(True):
        # NumPy arrays refuse an index beyond their end, where those of JAX would take the last entry
        view = View({k: np.asarray(array) for k, array in concrete.told(seen_of(concrete, weights)).items()})
        arguments = concrete.arguments(0)
        for i in range(len(concrete.populations)):
            jax.eval_shape(lambda i=i: _loss(concrete, view, arguments, i))
        reads = frozenset(view.reads)
        for name in concrete.observe:
            jax.eval_shape(lambda name=name: _observed(concrete, view, arguments, name))
    _check_events(concrete)
    _check_reads(concrete, reads)
    return reads


def _check_names(concrete: Concrete) -> None:
    """Refuse an entry whose name is taken: by another entry, by an observable, an integral or a parameter."""
    declared, names = concrete.declaration, concrete.coordinates.names
    if len(concrete.coordinates.index) < len(names):
        twice = next(name for i, name in enumerate(names) if concrete.coordinates.index[name] != i)
        raise InputError(f"two entries of the blocks of {declared.name} have the name {twice}: choose other labels.")
    for kind, taken in (
        ("an observable", concrete.observe), ("an integral", declared.integrals), ("a parameter", concrete.values)
    ):  # fmt: skip
        for name in taken:
            if name in concrete.coordinates.index:
                raise InputError(f"the name {name} is used twice: for {kind} and for an entry of a block.")


def _loss(concrete: Concrete, view: View, arguments: Arguments, number: int) -> Any:
    """The loss of a population: one number a sample."""
    population, name = concrete.populations[number], concrete.declaration.name
    rows = population.rows(arguments.data[number], arguments.weight[number])
    values = population.loss(GatedOps(), view, rows, concrete.p(arguments.reals))
    shape, n = _shape(f"the loss of {name}", values), population.n
    if population.samples is None and shape != ():
        raise InputError(f"the loss of {name} is an array of shape {shape}: without samples it must be one number.")
    if population.samples is not None and shape != (n,):
        raise InputError(f"the loss of {name} has shape {shape}, but it must be one number for each of {n} samples.")
    return values


def _observed(concrete: Concrete, view: View, arguments: Arguments, name: str) -> Any:
    """One observable, as one number."""
    X = concrete.populations[0].rows(arguments.data[0], arguments.share)
    moving = View(view.arrays, lambda: view.arrays)  # rates have the shapes of what moves
    value = concrete.observe[name](GatedOps(), moving, X, concrete.p(arguments.reals))
    _shape(f"observable {name}", value)
    return concrete.mean(name, value, arguments.share)


def _shape(what: str, values: Any) -> tuple[int, ...]:
    """The shape of numbers; InputError if they are none."""
    if not isinstance(values, int | float | np.number | np.ndarray | jax.Array):
        raise InputError(f"{what} is a {type(values).__name__}, but it must be a number.")
    return np.shape(values)


def _check_events(concrete: Concrete) -> None:
    known = {*concrete.observable_names, *concrete.declaration.integrals}
    for event in concrete.events():
        if event.observable not in known and event.observable not in concrete.coordinates.index:
            raise InputError(
                f"event {event.name} watches {event.observable}, which is no observable or entry of "
                f"{concrete.declaration.name}; there are {', '.join(sorted(known))} and the entries of its blocks."
            )


def _check_reads(concrete: Concrete, reads: frozenset[str]) -> None:
    for name, block in concrete.blocks.items():
        if not reads & set(block.names if isinstance(block, PairBlock) else (name,)):
            raise InputError(
                f"block {name} is never read by the loss of {concrete.declaration.name} in mode {concrete.mode}."
            )
