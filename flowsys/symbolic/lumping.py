"""Exact lumping: the coarsest signed partition of coordinates that a flow preserves from an initial condition.

Coordinates that start equal up to sign, and whose derivatives agree up to that sign wherever their classes do, stay
equal for ever. The partition is found by refinement: begin with the classes the initial condition allows (all zeros in
one), evaluate the field at random points of the lumped subspace, split classes whose derivatives differ, repeat until
nothing splits. Refinement only ever separates what must be separate, so the result is the coarsest, and it does not
depend on the seed (up to probability zero). A class of coordinates that never leave 0 is kept apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_TOLERANCE = 1e-9
_MOST_DESCRIBED = 3000


@dataclass(frozen=True)
class Partition:
    """Coordinate i equals sign_i · z_(label_i); label -1 marks coordinates that stay 0."""

    labels: np.ndarray
    signs: np.ndarray

    @cached_property
    def n_classes(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_classes)

    @cached_property
    def representatives(self) -> np.ndarray:
        """The first coordinate of each class."""
        live = np.flatnonzero(self.labels >= 0)
        return live[np.unique(self.labels[live], return_index=True)[1]]

    def lift(self, z: np.ndarray) -> np.ndarray:
        """The full state of class values."""
        padded = np.append(z, 0.0)
        return self.signs * padded[self.labels]

    def project(self, y: np.ndarray) -> np.ndarray:
        """Class values of a full state on the lumped subspace."""
        return self.signs[self.representatives] * y[self.representatives]

    def average(self, y: np.ndarray) -> np.ndarray:
        """Class averages of any full state."""
        live = self.labels >= 0
        return np.bincount(self.labels[live], (self.signs * y)[live], self.n_classes) / self.sizes


def refined(partition: Partition, rates: Callable[[Partition], np.ndarray]) -> Partition:
    """Split classes until none splits; `rates` gives derivatives at points of the lumped subspace, a column each."""
    while True:
        finer = _split(partition, rates(partition))
        if finer.n_classes == partition.n_classes:
            return finer
        partition = finer


def from_starts(starts: np.ndarray) -> Partition:
    """Classes of equal absolute values in every start (a row each); zeros stay apart until the field moves them."""
    live = np.flatnonzero((starts != 0).any(axis=0))
    labels, signs = np.full(starts.shape[1], -1), np.ones(starts.shape[1])
    values = starts[:, live]
    leads = np.argmax(values != 0, axis=0)
    signs[live] = np.sign(values[leads, np.arange(len(live))])
    oriented = (values * signs[live]).T
    with np.errstate(divide="ignore"):
        sizes = np.where(oriented != 0, np.log(np.abs(oriented)), 0.0)
    labels[live] = separated(np.zeros(len(live), dtype=int), np.hstack([np.sign(oriented), sizes]), 1e-12)
    return _in_order_of_appearance(labels, signs)


def separated(labels: np.ndarray, values: np.ndarray, tolerance: float | np.ndarray) -> np.ndarray:
    """Labels split where the values (a row each) differ in a column by more than the tolerance."""
    labels = labels.copy()
    tolerances = np.broadcast_to(tolerance, values.shape[1])
    for column, allowed in zip(values.T, tolerances):
        order = np.lexsort((column, labels))
        cut = (np.diff(labels[order]) != 0) | (np.diff(column[order]) > allowed)
        labels[order] = np.concatenate([[0], np.cumsum(cut)]) if len(order) else labels[order]
    return labels


def _split(partition: Partition, rates: np.ndarray) -> Partition:
    """Split every class by the (signed) derivatives of its members; `rates` has one column a sample point."""
    allowed = _TOLERANCE * np.maximum(np.abs(rates).max(axis=0, initial=0.0), 1e-300)
    labels, signs = partition.labels.copy(), partition.signs.copy()
    live = labels >= 0
    labels[live] = separated(labels[live], (rates * signs[:, None])[live], allowed)
    moving = np.flatnonzero(~live & (np.abs(rates) > allowed).any(axis=1))
    if len(moving):
        # a coordinate that leaves 0 takes the sign of its first sizeable derivative
        scaled = rates[moving] / allowed
        leads = np.argmax(np.abs(scaled) > 0.1 * np.abs(scaled).max(axis=1, keepdims=True), axis=1)
        signs[moving] = np.sign(scaled[np.arange(len(moving)), leads])
        fresh = separated(np.zeros(len(moving), dtype=int), rates[moving] * signs[moving, None], allowed)
        labels[moving] = fresh + labels.max(initial=-1) + 1
    return _in_order_of_appearance(labels, signs)


def _in_order_of_appearance(labels: np.ndarray, signs: np.ndarray) -> Partition:
    """The same classes numbered by their first members, which get the sign +1."""
    live = labels >= 0
    _, first, inverse = np.unique(labels[live], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=int)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered, oriented = np.full_like(labels, -1), signs.copy()
    numbered[live] = rank[inverse]
    oriented[live] *= signs[live][first][inverse]
    return Partition(numbered, oriented)


def merged(partition: Partition, a: int, b: int) -> Partition:
    """The partition with two classes made one: a negative control for a lumping."""
    labels = np.where(partition.labels == b, a, partition.labels)
    return _in_order_of_appearance(labels, partition.signs)


@dataclass(frozen=True)
class Description:
    """A lumping in words: which labels are alike, and the classes with representatives and sizes."""

    alike: tuple[str, ...]
    classes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*self.alike, *self.classes])


def describe(partition: Partition, names: Sequence[str]) -> Description:
    """What was merged. Names are read as parts joined by `_`, e.g. S_plus_c1_v2: matrix, head, tokens.

    Which labels are alike is told up to a few thousand coordinates: it would take longer than the lumping.
    """
    alike: dict[str, set[str]] = {}
    flipped: set[frozenset[str]] = set()
    by_name = {name: i for i, name in enumerate(names)}
    for name, i in by_name.items() if len(names) <= _MOST_DESCRIBED else ():
        parts = name.split("_")
        for slot in range(len(parts)):
            for other in _labels_in_slot(names, slot, len(parts)):
                j = by_name.get("_".join([*parts[:slot], other, *parts[slot + 1 :]]))
                if j is None or j == i or partition.labels[i] < 0 or partition.labels[i] != partition.labels[j]:
                    continue
                alike.setdefault(parts[slot], {parts[slot]}).add(other)
                if partition.signs[i] != partition.signs[j]:
                    flipped.add(frozenset((parts[slot], other)))
    groups = {frozenset(_closure(label, alike)) for label in alike}
    sentences = []
    for group in sorted(groups, key=sorted):
        signed = any(pair <= group for pair in flipped)
        sentences.append(f"{', '.join(sorted(group))} are alike{' (some coordinates up to sign)' if signed else ''}")
    classes = []
    for c, i in enumerate(partition.representatives):
        members = np.flatnonzero(partition.labels == c)
        negative = int((partition.signs[members] < 0).sum())
        sign_note = f", {negative} of them with opposite sign" if negative else ""
        classes.append(f"{names[i]} stands for {len(members)} coordinate{'s' * (len(members) > 1)}{sign_note}")
    zeros = int((partition.labels < 0).sum())
    if zeros:
        classes.append(f"{zeros} coordinate{'s' * (zeros > 1)} stay{'s' * (zeros == 1)} 0")
    return Description(tuple(sentences), tuple(classes))


def _labels_in_slot(names: Sequence[str], slot: int, length: int) -> set[str]:
    return {parts[slot] for name in names if len(parts := name.split("_")) == length}


def _closure(label: str, alike: dict[str, set[str]]) -> set[str]:
    seen, todo = set(), [label]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += alike.get(here, ())
    return seen
