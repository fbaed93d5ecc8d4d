"""Where a run starts: the model's own start, or arrays that override some of it, checked block by block.

Weights are drawn by a NumPy generator of the seed and the block's name. Given weights are reduced to what the loss sees
where a level asks for that; what is seen may be given itself, a pair's product and self-products together.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.axes import numbers
from flowsys.model.blocks import ConcreteBlock
from flowsys.model.concrete import Concrete
from flowsys.model.pairs import PairBlock
from flowsys.runs.training import OF_WEIGHTS


class Given(dict):
    """Arrays by name from a file of weights: under a name that both have, they are weights, not what is seen."""


def load(path: str | Path) -> Given | dict[str, np.ndarray]:
    """The arrays of an NPZ file (nothing in it is executed)."""
    if not Path(path).is_file():
        raise InputError(f"start = {path} is no file.")
    if not zipfile.is_zipfile(path):
        raise InputError(f"start = {path} is no NPZ file, as numpy.savez and --save-weights write them.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        with zipfile.ZipFile(path) as archive:
            return Given(arrays) if archive.comment == OF_WEIGHTS else arrays
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"start = {path} cannot be read as an NPZ file of arrays: {said}.") from None


def generator(seed: int, block: str) -> np.random.Generator:
    return np.random.default_rng([int(seed), *block.encode()])


def own_weights(concrete: Concrete, seed: int | None = None) -> dict[str, np.ndarray]:
    """The weights a run of this seed starts from."""
    seed = concrete.values["seed"] if seed is None else seed
    found: dict[str, np.ndarray] = {}
    for name, block in concrete.blocks.items():
        found |= block.initial(generator(seed, name), concrete.values["width"])
    return found


def seen_by_numpy(concrete: Concrete, weights: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What the loss sees of the weights, in double precision."""
    import jax

    with jax.enable_x64(True):
        return {k: np.asarray(a) for b in concrete.blocks.values() for k, a in b.seen(weights).items()}


def given_arrays(start: Mapping[str, Any] | None) -> dict[str, Any]:
    if start is not None and not isinstance(start, Mapping):
        raise InputError(f"start is a {type(start).__name__}, but it must be arrays by name.")
    return dict(start or {})


def weights_from(concrete: Concrete, start: Mapping[str, Any] | None, seed: int | None = None) -> dict[str, np.ndarray]:
    """The weights of a run, some of them given."""
    found = own_weights(concrete, seed)
    for name, array in given_arrays(start).items():
        if name not in found:
            known = ", ".join(found)
            raise InputError(f"start: {name} is not a weight of {concrete.declaration.name}; there are {known}.")
        found[name] = numbers(array, f"start: {name}")
    for block in concrete.blocks.values():
        _check_weights(block, found)
    return found


def _check_weights(block: ConcreteBlock, weights: Mapping[str, np.ndarray]) -> None:
    if not isinstance(block, PairBlock):
        _check_shape(block.name, weights[block.name], block.shape)
        return
    block.check_factors(weights, "start: ")


def seen_from(concrete: Concrete, start: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """What the loss sees at the start of a run at finite width, some weights or some of it given."""
    given, weights, seen = given_arrays(start), {}, {}
    for block in concrete.blocks.values():
        for name in block.weight_rates():
            if name in given and _are_weights(block, given, name, start):
                weights[name] = given.pop(name)
    for name in list(given):
        if name in concrete.coordinates.shapes:
            seen[name] = given.pop(name)
    for name in given:
        known = ", ".join(dict.fromkeys([*concrete.coordinates.shapes, *own_weights(concrete)]))
        raise InputError(f"start: {name} is not a block of {concrete.declaration.name}; there are {known}.")
    return seen_by_numpy(concrete, weights_from(concrete, weights)) | checked_seen(concrete, seen)


def _are_weights(block: ConcreteBlock, given: Mapping[str, Any], name: str, start: Any) -> bool:
    """Whether an array under a block's name is its weights: by its shape, or by where it comes from."""
    if isinstance(block, PairBlock):
        return True
    if block.read is None:
        return False
    shape = np.shape(given[name])
    return shape == block.shape and (isinstance(start, Given) or shape != block.arrays[name])


def checked_seen(concrete: Concrete, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays of what the loss sees, checked: shapes, symmetry, and Gram matrices without negative eigenvalues."""
    found = {name: numbers(array, f"start: {name}") for name, array in given.items()}
    for block in concrete.blocks.values():
        mine = [name for name in block.arrays if name in found]
        for name in mine:
            _check_shape(name, found[name], block.arrays[name])
        if not isinstance(block, PairBlock) or not mine:
            continue
        if len(mine) < 3:
            missing = ", ".join(name for name in block.names if name not in found)
            raise InputError(
                f"start: {', '.join(mine)} is given without {missing}: give {', '.join(block.names)} together."
            )
        block.check_gram(found, "start")
    return found


def check_grams(concrete: Concrete, seen: Mapping[str, np.ndarray]) -> None:
    """Refuse a whole start whose Gram matrices have negative eigenvalues."""
    for block in concrete.pairs:
        block.check_gram(seen, "start")


def one_number(value: Any, what: str) -> float:
    found = numbers(value, what)
    if found.ndim:
        raise InputError(f"{what} has shape {found.shape}, but it must be one number.")
    return float(found)


def _check_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"start: {name} has shape {array.shape}, but it must be {shape}.")
