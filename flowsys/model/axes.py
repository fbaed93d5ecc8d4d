"""Labelled axes of blocks, and the linear maps through which a loss may see them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.calling import Told
from flowsys.model.declaration import Axis


def labels_of(axis: Axis, where: str) -> tuple[str, ...]:
    """The labels of an axis; an int counts from 0."""
    counted = range(int(axis)) if isinstance(axis, int | np.integer) and not isinstance(axis, bool) else axis
    if not isinstance(counted, Iterable):
        raise InputError(f"{where} has the axis {axis!r}: an axis is a whole number or a list of labels.")
    labels = tuple(map(str, counted))
    if not labels:
        raise InputError(f"{where} has the axis {axis!r}, which has no labels: give at least one.")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"{where} has the label {twice} twice on one axis.")
    for label in labels:
        if not f"x_{label}".isidentifier():
            raise InputError(f"{where} has the label {label!r}: labels are made of letters, digits and underscores.")
    return labels


class OnAxes:
    """The linear map that applies a matrix along each of some axes: {axis: matrix}."""

    def __init__(self, matrices: Mapping[int, np.ndarray]):
        self.matrices = dict(matrices)

    def __call__(self, x: Any) -> Any:
        for axis, matrix in self.matrices.items():
            x = (x.swapaxes(axis, -1) @ matrix.T).swapaxes(axis, -1)
        return x

    def shape(self, shape: tuple[int, ...], where: str) -> tuple[int, ...]:
        """The shape of what an array of `shape` is mapped to."""
        found = list(shape)
        for axis, matrix in self.matrices.items():
            if axis >= len(shape) or not shape or matrix.shape[1] != shape[axis]:
                raise InputError(
                    f"{where}: read cannot be applied to an array of shape {shape}: a matrix of shape {matrix.shape} "
                    "has to act on one of its axes."
                )
            found[axis] = matrix.shape[0]
        return tuple(found)

    @property
    def mark(self) -> bytes:
        return repr(sorted(self.matrices)).encode() + b"".join(matrix.tobytes() for matrix in self.matrices.values())


def linear(read: Any, where: str) -> Callable:
    """The map `read` as a function: it is one already, a matrix that acts on the last axis, or a matrix an axis.

    Of several matrices, None leaves its axis as it is.
    """
    if callable(read):
        return Told(f"read of {where}", read)
    several = {-1: read} if not isinstance(read, tuple) else {i: M for i, M in enumerate(read) if M is not None}
    matrices = {axis: numbers(matrix, f"{where}: read") for axis, matrix in several.items()}
    for matrix in matrices.values():
        if matrix.ndim != 2:
            raise InputError(f"{where}: read is a linear function or a matrix, not an array of shape {matrix.shape}.")
    return OnAxes(matrices)


def numbers(values: Any, what: str) -> np.ndarray:
    """An array of finite numbers."""
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} does not hold numbers.") from None
    if not np.isfinite(found).all():
        raise InputError(f"{what} holds {found[~np.isfinite(found)].flat[0]}, but numbers must be finite.")
    return found


def check_rate(rate: Any, where: str) -> None:
    if not (isinstance(rate, int | float | np.number) and np.isfinite(rate) and rate >= 0):
        raise InputError(f"{where}: rate = {rate!r} must be a number that is not negative.")


def seen_through(read: Callable, shape: tuple[int, ...], where: str) -> tuple[bytes, tuple[int, ...]]:
    """What a `read` gives at a random point, where no two linear maps agree, and its shape; refused if not linear.

    A map that takes NumPy's arrays is tried with them: a model whose maps do is declared without JAX.
    """
    if isinstance(read, OnAxes):
        return read.mark, read.shape(shape, where)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *shape))
    found = _by_numpy(read, x, y)
    if found is None:
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            try:
                found = _compared(read, jnp.asarray(x), jnp.asarray(y))
            except InputError:
                raise
            except (TypeError, ValueError) as error:
                said = str(error).splitlines()[0]
                raise InputError(f"{where}: read cannot be applied to an array of shape {shape}: {said}") from None
    mark, wrong = found
    if not wrong <= 1e-9:
        raise InputError(f"{where}: read is not linear: read(2x - 3y) and 2 read(x) - 3 read(y) differ by {wrong:.1e}.")
    return mark.tobytes(), mark.shape


def _by_numpy(read: Callable, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The same with NumPy's arrays; None where `read` wants those of JAX, or does not give an array of NumPy's back."""
    try:
        return _compared(read, x, y) if type(read(x)) is np.ndarray else None
    except Exception:  # whatever it is, JAX's arrays will say it in a sentence
        return None


def _compared(read: Callable, x: Any, y: Any) -> tuple[np.ndarray, float]:
    """read(x), and how far the map is from being linear."""
    mark = read(x)
    together, apart = read(2.0 * x - 3.0 * y), 2.0 * mark - 3.0 * read(y)
    return np.asarray(mark), float(abs(together - apart).max() / (1.0 + abs(apart).max()))


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
