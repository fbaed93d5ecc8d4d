"""A model's exact lumping: which coordinates stay equal up to sign, which have equal slopes, which samples are alike.

The partition is found jointly over all stages of a mode, at the values asked for and at random draws of every real
parameter, so that it holds at every value of them. At points of the lumped subspace, coordinates of one class whose
slopes ∂L/∂x agree form a *slope class*; samples with equal losses and observables there are merged. The field is
evaluated by JAX on the full model, so size costs little. What is equal at a few random points is equal where the field
is analytic; between kinks it is another one in every pattern of gates, so there many points are looked at.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, islice

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Arguments, Concrete
from flowsys.model.flows import count_gates, rates_of, slopes_of
from flowsys.model.gates import GatedOps
from flowsys.model.pairs import PairBlock
from flowsys.symbolic.lumping import Partition, from_starts, refined, separated

_TOLERANCE = 1e-9
_LEAVES = 1e3 * _TOLERANCE  # a control has to stand clear of what counts as equal
_MOST_PAIRS, _POINTS, _POINTS_AT_KINKS, _SCALE = 300, 3, 24, 0.7


@dataclass(frozen=True)
class Draw:
    """The model at one set of real parameters, with the start there."""

    concrete: Concrete
    start: np.ndarray
    stages: tuple[Arguments, ...]


class Lumping:
    """The full model on its lumped subspace. `draws` are values of the reals, those asked for first."""

    def __init__(self, draws: list[Draw]):
        self.draws, self.concrete = draws, draws[0].concrete
        self.coordinates = self.concrete.coordinates
        self.grams = [positions for _, positions in self.coordinates.grams()]
        self.diagonals = np.array([i for positions in self.grams for i in np.diagonal(positions)], dtype=int)

    @cached_property
    def points(self) -> int:
        """How many random points of every draw are looked at."""
        with jax.enable_x64(True):
            return _POINTS_AT_KINKS if count_gates(self.concrete) else _POINTS

    @cached_property
    def partition(self) -> Partition:
        """The coarsest signed partition that the flow preserves, at every draw and in every stage."""
        rng = np.random.default_rng(0)

        def rates(partition: Partition) -> np.ndarray:
            return np.concatenate([rates for rates, _ in self._everywhere(partition, rng)], axis=1)

        return refined(from_starts(np.array([draw.start for draw in self.draws])), rates)

    def _everywhere(
        self, partition: Partition, rng, points: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rates and slopes of every stage, a column each, at random points of the subspace."""
        for draw in self.draws:
            for _ in range(points or self.points):
                yield self.at_random(partition, draw, rng)[1:]

    def at_random(self, partition: Partition, draw: Draw, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A random point, shrunk towards the start until the field is finite there, with rates and slopes."""
        z, centre = self._point(partition, rng), partition.project(draw.start)
        for shrink in 2.0 ** -np.arange(40):
            y = partition.lift(centre + shrink * (z - centre))
            rates, slopes = self._evaluate(y, draw)
            if np.isfinite(rates).all() and np.isfinite(slopes).all():
                return y, rates, slopes
        raise InputError(
            f"model {self.concrete.declaration.name}: the flow is not finite anywhere near its start"
            f" ({self._culprit(draw)})."
        )

    def _culprit(self, draw: Draw) -> str:
        """What is not finite at the start of a draw, and where the draw is."""
        asked, there = self.concrete.reals(), draw.concrete.reals()
        values = "".join(f", at {name} = {value:.6g}" for name, value in there.items() if value != asked[name])
        losses = self._of_samples(draw.start, draw)
        for stage in self.concrete.stages:
            if not np.isfinite(losses[self.concrete.population_of(stage)][0]).all():
                shared = ", and every stage's loss is evaluated throughout" if len(self.concrete.stages) > 1 else ""
                return f"the loss of stage {stage.name} is not{values}{shared}"
        rates, _ = self._evaluate(draw.start, draw)
        wrong = np.flatnonzero(~np.isfinite(rates).all(axis=1))
        return f"d {self.coordinates.names[wrong[0]]}/dt is not{values}" if len(wrong) else "at random points"

    def _point(self, partition: Partition, rng) -> np.ndarray:
        """Random class values; diagonals so large that the Gram matrices are positive definite (Gershgorin)."""
        z = _SCALE * rng.standard_normal(partition.n_classes)
        y = partition.lift(z)
        of_diagonal = np.unique(partition.labels[self.diagonals])
        sizes = [np.abs(y[positions]).sum(axis=1).max() for positions in self.grams]
        z[of_diagonal[of_diagonal >= 0]] += 2.0 * max(sizes, default=0.0)
        return z

    def _evaluate(self, y: np.ndarray, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            found = [self.rates_and_slopes(y, arguments) for arguments in draw.stages]
        rates, slopes = (np.array([np.asarray(pair[i]) for pair in found]).T for i in (0, 1))
        return rates, slopes

    @cached_property
    def rates_and_slopes(self) -> Callable:
        return jax.jit(partial(rates_and_slopes, self.concrete))

    # -- slopes and samples -------------------------------------------------------------------------------------

    @cached_property
    def slopes(self) -> Partition:
        """Slope classes: members of one class have equal slopes (with the signs of the class) on the subspace."""
        rng, partition = np.random.default_rng(2), self.partition
        slopes = np.concatenate([slopes for _, slopes in self._everywhere(partition, rng)], axis=1)
        allowed = _TOLERANCE * np.maximum(np.abs(slopes).max(axis=0), 1e-300)
        signs = partition.signs.copy()
        live = (np.abs(slopes) > allowed).any(axis=1)
        still = live & (partition.labels < 0)
        scaled = slopes[still] / allowed
        leads = np.argmax(np.abs(scaled) > 0.1 * np.abs(scaled).max(axis=1, keepdims=True), axis=1)
        signs[still] = np.sign(scaled[np.arange(len(scaled)), leads])
        labels = np.full(len(signs), -1)
        labels[live] = separated(partition.labels[live], (slopes * signs[:, None])[live], allowed)
        _, first, inverse = np.unique(labels[live], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=int)
        rank[np.argsort(first)] = np.arange(len(first))
        labels[live] = rank[inverse]
        return Partition(labels, signs)

    @cached_property
    def needed_zeros(self) -> np.ndarray:
        """Slope classes of coordinates that stay 0, whose slopes nevertheless move others."""
        from flowsys.model.lumped import reads_of_rates

        still = np.unique(self.slopes.labels[self.partition.labels < 0])
        return np.intersect1d(still[still >= 0], sorted(reads_of_rates(self)))

    def lifted(self, rng) -> np.ndarray:
        """A point on which every slope class has a value of its own: what the loss is written on."""
        base = self.partition.lift(self._point(self.partition, rng))
        noise = 0.1 * rng.standard_normal(self.slopes.n_classes + 1)
        moves = self.slopes.labels >= 0
        moves &= (self.partition.labels >= 0) | np.isin(self.slopes.labels, self.needed_zeros)
        return base + np.where(moves & self._several, self.slopes.signs * noise[self.slopes.labels], 0.0)

    @cached_property
    def _several(self) -> np.ndarray:
        """Which coordinates belong to classes of several slopes, or stay 0."""
        pairs = np.unique(np.stack([self.partition.labels, self.slopes.labels]), axis=1)
        counts = np.bincount(pairs[0][pairs[0] >= 0], minlength=self.partition.n_classes + 1)
        return (self.partition.labels < 0) | (counts[self.partition.labels] > 1)

    @cached_property
    def groups(self) -> tuple[np.ndarray, ...]:
        """Of every population, which samples are alike: a label each."""
        rng = np.random.default_rng(3)
        columns: list[list] = [[] for _ in self.concrete.populations]
        for draw in self.draws:
            for _ in range(self.points):
                for found, values in zip(columns, self._of_samples(self.lifted(rng), draw)):
                    found += values
        return tuple(self._alike(np.array(found).T) for found in columns)

    @staticmethod
    def _alike(values: np.ndarray) -> np.ndarray:
        """Labels in order of appearance of rows that agree."""
        if not np.isfinite(values).all():
            return np.arange(len(values))
        allowed = _TOLERANCE * np.maximum(np.abs(values).max(axis=0), 1e-300)
        labels = separated(np.zeros(len(values), dtype=int), values, allowed)
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=int)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse]

    def _of_samples(self, y: np.ndarray, draw: Draw) -> list[list[np.ndarray]]:
        """Of every population, losses and observables sample by sample."""
        with jax.enable_x64(True):
            found = self._compiled_samples(y, draw.stages[0])
        return [[np.asarray(values) for values in of_population] for of_population in found]

    @cached_property
    def _compiled_samples(self) -> Callable:
        return jax.jit(partial(of_samples, self.concrete))

    # -- certificates -------------------------------------------------------------------------------------------

    def leaves(self, partition: Partition, seed: int = 1, points: int | None = None) -> float:
        """How far the full field leaves the subspace of a partition at random points of it, relative to its size."""
        rng, left = np.random.default_rng(seed), []
        for rates, _ in self._everywhere(partition, rng, points):
            lumped = np.stack([partition.lift(partition.project(rate)) for rate in rates.T], axis=1)
            size = np.maximum(np.abs(rates).max(axis=0), 1e-300)
            left.append(float((np.abs(rates - lumped).max(axis=0) / size).max()))
        return max(left)

    def control(self) -> tuple[float, tuple[int, int]] | None:
        """Two classes that must not be merged, and how far the field leaves if they are; None if none is noticed."""
        from flowsys.symbolic.lumping import merged

        for a, b in islice(combinations(range(self.partition.n_classes), 2), _MOST_PAIRS):
            if (left := self.leaves(merged(self.partition, a, b), points=_POINTS)) > _LEAVES:
                return left, (a, b)
        return None


def rates_and_slopes(concrete: Concrete, y, arguments: Arguments):
    """The full field and the loss's slopes in flat coordinates: an entry off the diagonal stands for two."""
    seen = concrete.coordinates.split(y)
    slopes = slopes_of(concrete, seen, arguments, "exact")
    rates = concrete.coordinates.join(rates_of(concrete, seen, slopes, arguments), jnp)
    flat = dict(slopes)
    for block in concrete.blocks.values():
        if isinstance(block, PairBlock):
            for name in block.names[1:]:
                both = slopes[name] + slopes[name].swapaxes(-1, -2)
                flat[name] = both - both * jnp.eye(both.shape[-1]) / 2
    return rates, concrete.coordinates.join(flat, jnp)


def of_samples(concrete: Concrete, y, arguments: Arguments):
    """Of every population, its losses and (of the first) the observables, sample by sample."""
    seen, ops = concrete.coordinates.split(y), GatedOps("exact")
    found = [[jnp.broadcast_to(x, p.n)] for x, p in zip(concrete.losses(ops, seen, arguments), concrete.populations)]
    found[0] += concrete.sample_observables(ops, seen, arguments)
    return found
