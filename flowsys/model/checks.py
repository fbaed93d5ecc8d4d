"""A model tried once before anything is made of it: what is wrong is said in a sentence that names the culprit."""

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete, Population, View
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
    rng = np.random.default_rng(0)
    weights = {k: rng.standard_normal(shape) for k, shape in weight_shapes(concrete, 3).items()}
    with jax.enable_x64(True):
        # NumPy arrays refuse an index beyond their end, where those of JAX would take the last entry
        view = View({k: np.asarray(array) for k, array in seen_of(concrete, weights).items()})
        arguments = concrete.arguments(0)
        losses = _called(concrete, "loss", lambda: concrete.losses(GatedOps(), view, arguments))
        for population, values in zip(concrete.populations, losses):
            _check_loss(concrete.declaration.name, population, values)
        reads = frozenset(view.reads)
        for name in concrete.declaration.observe:
            _check_observable(concrete, view, arguments, name)
    _check_events(concrete)
    _check_reads(concrete, reads)
    return reads


def _called(concrete: Concrete, what: str, call):
    """The shapes of what a call gives: it is traced, not compiled."""
    name = concrete.declaration.name
    try:
        return jax.eval_shape(call)
    except IndexError as error:
        raise InputError(f"the {what} of {name} uses an index beyond the labels of a block: {error}.") from None
    except (TypeError, ValueError, AttributeError, KeyError, ZeroDivisionError) as error:
        said = " ".join(str(error).split())[:300]
        raise InputError(f"the {what} of {name} cannot be evaluated: {type(error).__name__}: {said}.") from None


def _check_loss(name: str, population: Population, values) -> None:
    shape, n = tuple(getattr(values, "shape", ())), population.n
    if population.samples is None and shape != ():
        raise InputError(f"the loss of {name} is an array of shape {shape}: without samples it must be one number.")
    if population.samples is not None and shape != (n,):
        raise InputError(f"the loss of {name} has shape {shape}, but it must be one number for each of {n} samples.")


def _check_observable(concrete: Concrete, view: View, arguments, name: str) -> None:
    found = _called(concrete, f"observable {name}", lambda: _observed(concrete, view, arguments, name))
    kind = getattr(found, "dtype", np.asarray(found).dtype).kind
    if kind not in "iufb":
        raise InputError(f"observable {name} is a {type(found).__name__}, but it must be a number.")


def _check_events(concrete: Concrete) -> None:
    known = {*concrete.declaration.observable_names, *concrete.declaration.integrals}
    for event in concrete.events():
        if event.observable not in known and event.observable not in concrete.coordinates.index:
            raise InputError(
                f"event {event.name} watches {event.observable}, which is no observable or entry of "
                f"{concrete.declaration.name}; there are {', '.join(sorted(known))} and the entries of its blocks."
            )


def _observed(concrete: Concrete, view: View, arguments, name: str):
    """One observable, as one number."""
    X = concrete.populations[0].rows(arguments.data[0], arguments.share)
    value = concrete.declaration.observe[name](GatedOps(), view, X, concrete.p(arguments.reals))
    return concrete.mean(name, value, arguments.share)


def _check_reads(concrete: Concrete, reads: frozenset[str]) -> None:
    for name, block in concrete.blocks.items():
        if not reads & set(block.names if isinstance(block, PairBlock) else (name,)):
            raise InputError(f"block {name} is never read by the loss of {concrete.declaration.name}: take it away.")
