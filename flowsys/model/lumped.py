"""How the classes of a lumping move, term by term: integer (or read) coefficients of slopes and entries.

With γ_k the slope of slope class k (its members have it with their signs) and z_c the entries' classes,

    direct   dz/dt = -train · rate · Σ_k P_k γ_k,          pair   dz/dt = -train · Σ coefficient · rate · γ_k z_c,

read at one representative of each class: the flow of every other member is the same by the certificate.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowsys.model.blocks import DirectBlock
from flowsys.model.pairs import PairBlock

if TYPE_CHECKING:
    from flowsys.model.lumping import Lumping


_ROUNDING = 1e-15


class Term(NamedTuple):
    """coefficient · rate · γ_slope (· z_entry): a part of -dz/dt; `rate` names the weights whose rate it carries."""

    coefficient: float
    rate: str
    slope: int
    entry: int | None = None


class Motion(NamedTuple):
    """A class, the block it belongs to, and the terms of -dz/dt."""

    block: str
    terms: tuple[Term, ...]


def motions(lumping: "Lumping") -> dict[int, Motion]:
    """The motion of every class of the partition."""
    partition, found = lumping.partition, {}
    place = {int(r): c for c, r in enumerate(partition.representatives)}
    for block in lumping.concrete.blocks.values():
        if isinstance(block, DirectBlock):
            positions = lumping.coordinates.positions[block.name].reshape(-1)
            for at, r in enumerate(positions.tolist()):
                if r in place:
                    found[place[r]] = Motion(block.name, tuple(_direct(lumping, block, positions, at)))
    for block, positions in lumping.coordinates.grams():
        upper = np.triu_indices(len(positions))
        for a, b, r in zip(*upper, positions[upper].tolist()):
            if r in place and place[r] not in found:
                found[place[r]] = Motion(block.name, tuple(_pair(lumping, block, positions, int(a), int(b))))
    return found


def _direct(lumping: "Lumping", block: DirectBlock, positions: np.ndarray, at: int) -> Iterator[Term]:
    slopes = lumping.slopes
    row = np.zeros(len(positions))
    row[at] = 1.0
    if block.read is not None:
        import jax

        with jax.enable_x64(True):
            row = np.asarray(block.spread(row.reshape(block.arrays[block.name]))).reshape(-1)
    labels, least = slopes.labels[positions], _ROUNDING * np.abs(row).sum()
    for k in np.unique(labels[(labels >= 0) & (row != 0)]).tolist():
        members = labels == k
        coefficient = float((row * slopes.signs[positions])[members].sum())
        if abs(coefficient) > least:  # what is less is what sums of entries that cancel leave
            yield Term(coefficient, block.name, k)


def _pair(lumping: "Lumping", block: PairBlock, positions: np.ndarray, a: int, b: int) -> Iterator[Term]:
    """(C Γ M + M Γ C)_ab."""
    n = len(block.sides[0])
    factor = lambda i: block.block.factors[0 if i < n else 1]
    C = block.metric
    for here, there in ((a, b), (b, a)):
        sums: dict[tuple[int, int], float] = {}
        for l in np.flatnonzero(C[here]).tolist():
            _add_product(lumping, positions, l, there, float(C[here, l]), sums)
        for (k, c), coefficient in sorted(sums.items()):
            if coefficient:
                yield Term(coefficient, factor(here), k, c)


def _add_product(lumping: "Lumping", positions: np.ndarray, l: int, b: int, scale: float, sums: dict) -> None:
    """Add scale · Σ_k Γ_lk M_kb."""
    slopes, partition = lumping.slopes, lumping.partition
    of_slope, of_entry = positions[l], positions[:, b]
    k, c = slopes.labels[of_slope], partition.labels[of_entry]
    both = (k >= 0) & (c >= 0)
    doubled = np.where(np.arange(len(positions)) == l, 2.0, 1.0)
    values = scale * doubled * slopes.signs[of_slope] * partition.signs[of_entry]
    pairs, inverse = np.unique(np.stack([k[both], c[both]]), axis=1, return_inverse=True)
    totals = np.bincount(inverse.reshape(-1), values[both], pairs.shape[1])
    for (slope, entry), total in zip(pairs.T.tolist(), totals.tolist()):
        sums[slope, entry] = sums.get((slope, entry), 0.0) + total


def reads_of_rates(lumping: "Lumping") -> set[int]:
    """The slope classes that move something."""
    return {term.slope for motion in motions(lumping).values() for term in motion.terms}
