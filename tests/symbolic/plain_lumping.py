"""Lumping of a plain field, not of a model: the engine's refinement at random points, and how well it stands."""

from collections.abc import Callable

import numpy as np

from flowsys.symbolic.lumping import Partition, from_starts, refined


def lump(
    field: Callable[[np.ndarray], np.ndarray], initial: np.ndarray, seed: int = 0, points: int = 4, scale: float = 0.7
) -> Partition:
    """The coarsest signed partition that the flow of `field` preserves from `initial`."""
    rng = np.random.default_rng(seed)

    def rates(partition: Partition) -> np.ndarray:
        samples = [partition.lift(scale * rng.standard_normal(partition.n_classes)) for _ in range(points)]
        found = np.array([field(y) for y in samples]).T
        if not np.isfinite(found).all():
            raise ValueError("the field is not finite at a random point of the lumped subspace")
        return found

    return refined(from_starts(np.asarray(initial, dtype=float)[None]), rates)


def certificate(
    field: Callable[[np.ndarray], np.ndarray], partition: Partition, seed: int = 1, points: int = 5, scale: float = 0.7
) -> float:
    """How far the full field leaves the lumped subspace at random points of it, relative to its size.

    About 1e-16 for an exact lumping; of order one if classes are merged that must not be.
    """
    rng = np.random.default_rng(seed)
    left = []
    for _ in range(points):
        rate = field(partition.lift(scale * rng.standard_normal(partition.n_classes)))
        lumped = partition.lift(partition.project(rate))
        left.append(np.abs(rate - lumped).max() / max(np.abs(rate).max(), 1e-300))
    return float(np.max(left))  # NaN if the field is not finite somewhere
