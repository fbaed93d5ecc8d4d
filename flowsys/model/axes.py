"""Labelled axes of blocks, and the linear maps through which a loss may see them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.declaration import Axis


def labels_of(axis: Axis, where: str) -> tuple[str, ...]:
    """The labels of an axis; an int counts from 0."""
    if isinstance(axis, int | np.integer) and not isinstance(axis, bool):
        labels = tuple(map(str, range(int(axis))))
    else:
        labels = tuple(map(str, axis))
    if not labels:
        raise InputError(f"{where} has an axis without labels: give at least one.")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"{where} has the label {twice} twice on one axis.")
    for label in labels:
        if not f"x_{label}".isidentifier():
            raise InputError(f"{where} has the label {label!r}: labels are made of letters, digits and underscores.")
    return labels


def linear(read: Any, where: str) -> Callable:
    """The map `read` as a function: it is one already, or a matrix that acts on the last axis."""
    if callable(read):
        return read
    matrix = np.asarray(read, dtype=float)
    if matrix.ndim != 2:
        raise InputError(f"{where}: read is a linear function or a matrix, not an array of shape {matrix.shape}.")
    return lambda x: x @ matrix.T


def check_linear(read: Callable, shape: tuple[int, ...], where: str) -> None:
    """Refuse a `read` that is not linear, at random points."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        x, y = (jnp.asarray(rng.standard_normal(shape)) for _ in range(2))
        try:
            together, apart = read(2.0 * x - 3.0 * y), 2.0 * read(x) - 3.0 * read(y)
        except (TypeError, ValueError) as error:
            said = str(error).splitlines()[0]
            raise InputError(f"{where}: read cannot be applied to an array of shape {shape}: {said}") from None
        wrong = float(jnp.abs(together - apart).max() / (1.0 + jnp.abs(apart).max()))
    if not wrong <= 1e-9:
        raise InputError(f"{where}: read is not linear: read(2x - 3y) and 2 read(x) - 3 read(y) differ by {wrong:.1e}.")


def product_names(name: str, axes: Sequence[tuple[str, ...]]) -> list[str]:
    """name_label_label of every entry, the last axis fastest."""
    names = [name]
    for labels in axes:
        names = [f"{stem}_{label}" for stem in names for label in labels]
    return names


def seen_axes(axes: tuple[tuple[str, ...], ...], seen: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """The labels of what is seen: those of the block where the shape is the same, else counted from 0."""
    if tuple(map(len, axes)) == seen:
        return axes
    return tuple(tuple(map(str, range(n))) for n in seen)


def seen_shape(read: Callable, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what `read` gives."""
    import jax

    return tuple(jax.eval_shape(read, jax.ShapeDtypeStruct(shape, np.float32)).shape)
