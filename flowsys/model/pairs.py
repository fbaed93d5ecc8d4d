"""Pairs of factors that share an inner width, at given sizes: their product, their self-products, and how these move.

With M = (F R)ᵀ(F R), F = [W_K | W_Q], R the linear map `read`, C = R Rᵀ times the rates and Γ = ∂L/∂M + (∂L/∂M)ᵀ,

    dM/dt = -(C Γ M + M Γ C),        and a step of descent is        M ← (I - η C Γ) M (I - η Γ C),

exactly, at every width. Without `read` and with unit rates C = I: dM/dt = -(ΓM + MΓ).
"""

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.machine.memory import check_room
from flowsys.model.axes import (
    check_rate,
    labels_of,
    linear,
    numbers,
    product_names,
    seen_axes,
    seen_through,
)
from flowsys.model.calling import called
from flowsys.model.declaration import Pair


class PairBlock:
    """A pair at given sizes: the product and the self-products of its factors, a head after the other."""

    is_pair = True

    def __init__(self, name: str, block: Pair):
        where = f"block {name}"
        self.name, self.block = name, block
        for what in ("factors", "selfs", "scales", "rates"):
            if len(getattr(block, what)) != 2:
                raise InputError(f"{where}: {what} = {getattr(block, what)!r} must be two.")
        self.heads = None if block.heads is None else labels_of(block.heads, where)
        axes = labels_of(block.keys, where), labels_of(block.queries, where)
        self.names = (name, *block.selfs)
        maps = block.read if isinstance(block.read, tuple) else (block.read, block.read)
        if len(maps) != 2:
            raise InputError(f"{where}: read has {len(maps)} maps, but it is one, or two for keys and queries.")
        self.reads = tuple(None if read is None else linear(read, where) for read in maps)
        self.sizes = tuple(map(len, axes))
        sides, self.mark = [], b""
        for read, labels in zip(self.reads, axes):
            n = len(labels)
            mark, seen = (b"", (n,)) if read is None else seen_through(read, (3, n), where)
            self.mark += mark
            sides.append(seen_axes((labels,), seen[-1:])[0])
        self.sides = tuple(sides)
        for scale in block.scales:
            if not (isinstance(scale, int | float | np.number) and np.isfinite(scale) and scale >= 0):
                raise InputError(f"{where}: scale = {scale!r} must be a number that is not negative.")
        for rate in block.rates:
            check_rate(rate, where)
        lead = () if self.heads is None else (len(self.heads),)
        n, m = map(len, self.sides)
        self.arrays = dict(zip(self.names, ((*lead, n, m), (*lead, n, n), (*lead, m, m))))

    @property
    def has_closure(self) -> bool:
        return True

    @property
    def is_random(self) -> bool:
        return self.block.start is None or callable(self.block.start)

    @cached_property
    def metric(self) -> np.ndarray:
        """R Rᵀ as a matrix over [keys | queries]."""
        n, m = map(len, self.sides)
        if self.reads == (None, None):
            return np.eye(n + m)
        import jax

        parts = []
        for read, size in zip(self.reads, self.sizes):
            with jax.enable_x64(True):
                R = np.eye(size) if read is None else np.asarray(read(np.eye(size)))  # rows are read(e_i)
            parts.append(R.T @ R)
        found = np.zeros((n + m, n + m))
        found[:n, :n], found[n:, n:] = parts
        return np.where(np.abs(found) > 1e-14 * np.abs(found).max(), found, 0.0)  # rounding would break symmetries

    def weight_shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        lead = () if self.heads is None else (len(self.heads),)
        return {factor: (*lead, width, size) for factor, size in zip(self.block.factors, self.sizes)}

    def entry_axes(self) -> tuple:
        return (self.heads, *self.sides, *self.names, self.reads == (None, None), self.block.rates)

    @property
    def keeps_spectrum(self) -> bool:
        """Whether a loss that reads only the product keeps a spectrum: with rates that are not 0, and nothing read."""
        return self.reads == (None, None) and min(self.block.rates) > 0

    def entry_names(self) -> list[str]:
        heads = [""] if self.heads is None else [f"_{head}" for head in self.heads]
        found = []
        for head in heads:
            found += product_names(f"{self.name}{head}", self.sides)
            for name, labels in zip(self.names[1:], self.sides):
                i, j = np.triu_indices(len(labels))
                found += [f"{name}{head}_{labels[a]}_{labels[b]}" for a, b in zip(i, j)]
        return found

    def positions(self, first: int) -> dict[str, np.ndarray]:
        n, m = map(len, self.sides)
        one: dict[str, np.ndarray] = {self.name: np.arange(n * m).reshape(n, m)}
        size = n * m
        for name, side in zip(self.names[1:], (n, m)):
            i, j = np.triu_indices(side)
            one[name] = np.zeros((side, side), dtype=int)
            one[name][i, j] = one[name][j, i] = size + np.arange(len(i))
            size += len(i)
        if self.heads is None:
            return {name: first + at for name, at in one.items()}
        offsets = first + size * np.arange(len(self.heads))[:, None, None]
        return {name: offsets + at for name, at in one.items()}

    def packed(self, seen: Mapping[str, Any]) -> list[Any]:
        parts = [[seen[self.name].reshape(-1)]] if self.heads is None else [
            [seen[self.name][h].reshape(-1)] for h in range(len(self.heads))
        ]  # fmt: skip
        for name in self.names[1:]:
            i, j = np.triu_indices(seen[name].shape[-1])
            for h, part in enumerate(parts):
                part.append((seen[name] if self.heads is None else seen[name][h])[i, j])
        return [array for part in parts for array in part]

    def initial(self, rng: np.random.Generator, width: int) -> dict[str, np.ndarray]:
        block, shapes = self.block, self.weight_shapes(width)
        if block.start is None:
            check_room(sum(map(prod, shapes.values())), f"{' and '.join(block.factors)} of width = {width}")
            drawn = [s / np.sqrt(width) * rng.standard_normal(shape) for s, shape in zip(block.scales, shapes.values())]
            return dict(zip(block.factors, drawn))
        given = block.start
        if callable(given):
            given = called(f"the start of block {self.name}", given, rng)
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise InputError(f"block {self.name}: start gives the two factors ({', '.join(block.factors)}).")
        found = {
            factor: numbers(array, f"block {self.name}: the start of {factor}")
            for factor, array in zip(block.factors, given)
        }
        self.check_factors(found, f"block {self.name}: the start of ")
        return found

    def check_factors(self, weights: Mapping[str, np.ndarray], what: str) -> None:
        """Refuse factors of wrong shapes, or without a common inner width."""
        for factor, shape in self.weight_shapes(1).items():
            got = weights[factor].shape
            if len(got) != len(shape) or got[-1] != shape[-1] or got[:-2] != shape[:-2]:
                wanted = ", ".join(map(str, (*shape[:-2], "m", shape[-1])))
                raise InputError(f"{what}{factor} has shape {got}, but it must be ({wanted}).")
        K, Q = (weights[factor].shape[-2] for factor in self.block.factors)
        if K != Q:
            names = " and ".join(self.block.factors)
            raise InputError(f"{what}{names} have inner widths {K} and {Q}, which must be equal.")

    def check_gram(self, seen: Mapping[str, np.ndarray], what: str) -> None:
        """Refuse what are no inner products: shapes, symmetry, negative eigenvalues."""
        for name in self.names[1:]:
            if not np.allclose(seen[name], _swapped(seen[name]), rtol=1e-12, atol=0):
                raise InputError(f"{what}: {name} is not symmetric, but it holds inner products.")
        M = self.matrix(seen, np)
        least, trace = np.linalg.eigvalsh(M)[..., 0].min(), np.trace(M, axis1=-2, axis2=-1).max()
        if least < -1e-12 * max(trace, 0.0) or trace < 0:
            raise InputError(
                f"{what}: {', '.join(self.names)} are no inner products: their Gram matrix has the eigenvalue "
                f"{least:.3g}, but it must be positive semidefinite."
            )

    def limit(self) -> dict[str, np.ndarray]:
        """What is seen at infinite width: no product, and the self-products s² R Rᵀ of independent entries."""
        block = self.block
        if block.limit is not None:
            found = {name: self._of_limit(name) for name in self.names}
            self.check_gram(found, f"block {self.name}: limit")
            return found
        if callable(block.start):
            raise InputError(f"block {self.name} starts at random and has no limit: give limit={{'{self.name}': …}}.")
        if block.start is not None:
            return {k: np.asarray(v) for k, v in self.seen(self.initial(np.random.default_rng(0), 1)).items()}
        found = {self.name: np.zeros(self.arrays[self.name])}
        C, n = self.metric, len(self.sides[0])
        for name, scale, part in zip(self.names[1:], block.scales, (C[:n, :n], C[n:, n:])):
            found[name] = np.broadcast_to(scale**2 * part, self.arrays[name]).copy()
        return found

    def _of_limit(self, name: str) -> np.ndarray:
        limit = self.block.limit or {}
        if name not in limit:
            raise InputError(f"block {self.name}: limit does not give {name}; it gives {', '.join(limit)}.")
        found = numbers(limit[name], f"block {self.name}: limit of {name}")
        if found.ndim and found.shape != self.arrays[name]:
            raise InputError(f"block {self.name}: limit of {name} has shape {found.shape}, not {self.arrays[name]}.")
        return np.broadcast_to(found, self.arrays[name]).copy()

    def seen(self, weights: dict[str, Any]) -> dict[str, Any]:
        K, Q = (
            weights[factor] if read is None else read(weights[factor])
            for factor, read in zip(self.block.factors, self.reads)
        )
        return dict(zip(self.names, (_swapped(K) @ Q, _swapped(K) @ K, _swapped(Q) @ Q)))

    def unread(self) -> "PairBlock":
        """The pair without its `read`: all inner products of its factors are seen."""
        block = copy(self.block)
        block.read = None
        return PairBlock(self.name, block)

    def read_of(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        """What the loss sees of the inner products that are seen unread."""
        K, Q = ((lambda M: M) if read is None else read for read in self.reads)
        sides = ((K, Q), (K, K), (Q, Q))
        return {name: _swapped(left(_swapped(right(whole[name])))) for name, (left, right) in zip(self.names, sides)}

    def matrix(self, seen: Mapping[str, Any], xp: Any) -> Any:
        """M = [[KK, S], [Sᵀ, QQ]]."""
        S, KK, QQ = (seen[name] for name in self.names)
        return xp.concatenate(
            [xp.concatenate([KK, S], axis=-1), xp.concatenate([_swapped(S), QQ], axis=-1)], axis=-2
        )  # fmt: skip

    def split(self, M: Any) -> dict[str, Any]:
        n = len(self.sides[0])
        return dict(zip(self.names, (M[..., :n, n:], M[..., :n, :n], M[..., n:, n:])))

    def gamma(self, slopes: dict[str, Any], xp: Any) -> Any:
        """Γ from the slopes in S, KK and QQ, each taken as a free matrix."""
        S, KK, QQ = (slopes[name] for name in self.names)
        return xp.concatenate(
            [
                xp.concatenate([KK + _swapped(KK), S], axis=-1),
                xp.concatenate([_swapped(S), QQ + _swapped(QQ)], axis=-1),
            ],
            axis=-2,
        )

    def _spread(self, slopes, rates) -> Any:
        """Γ C."""
        import jax.numpy as jnp

        Γ = self.gamma(slopes, jnp)
        of_columns = [jnp.full(len(side), rates[factor]) for side, factor in zip(self.sides, self.block.factors)]
        return (Γ if self.reads == (None, None) else Γ @ self.metric) * jnp.concatenate(of_columns)

    def rates(self, seen, slopes, trains, rates) -> dict[str, Any]:
        import jax.numpy as jnp

        half = -trains * (self.matrix(seen, jnp) @ self._spread(slopes, rates))
        return self.split(half + _swapped(half))

    def step(self, seen, slopes, η, rates) -> dict[str, Any]:
        import jax.numpy as jnp

        M = self.matrix(seen, jnp)
        right = jnp.eye(M.shape[-1]) - η * self._spread(slopes, rates)
        return self.split(_swapped(right) @ M @ right)

    def weight_rates(self) -> dict[str, float]:
        return dict(zip(self.block.factors, self.block.rates))


def _swapped(matrix):
    return matrix.swapaxes(-1, -2)
