"""Exact lumping: the coarsest signed partition of coordinates that a flow preserves from an initial condition.

Coordinates that start equal up to sign, and whose derivatives agree up to that sign wherever their classes do, stay
equal for ever. The partition is found by refinement: begin with the classes the initial condition allows (all zeros in
one), evaluate the field at random points of the lumped subspace, split classes whose derivatives differ, repeat until
nothing splits. Refinement only ever separates what must be separate, so the result is the coarsest, and it does not
depend on the seed (up to probability zero). A class of coordinates that never leave 0 is kept apart.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

_TOLERANCE = 1e-9
_MOST_LISTED = 8


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

    Labels are alike that occur in the same places, and in coordinates of the same classes equally often.
    """
    parts = [_labels(name) for name in names]
    classes_of: dict[str, Counter[tuple[str, int]]] = {}
    places: dict[str, set[tuple[str, int]]] = {}
    for name, c in zip(parts, partition.labels):
        for slot, label in enumerate(name):
            head = name[0] if slot else ""
            classes_of.setdefault(label, Counter())[head, int(c)] += 1
            places.setdefault(label, set()).add((head, slot))
    alike: dict[tuple[frozenset, frozenset], list[str]] = {}
    for label in sorted(places, key=_numbers_by_size):
        if any(c >= 0 for _, c in classes_of[label]):
            alike.setdefault((frozenset(classes_of[label].items()), frozenset(places[label])), []).append(label)
    groups = [group for group in alike.values() if len(group) > 1]
    flipped = _flipped(partition, parts, groups)
    signed = lambda group: " (some coordinates up to sign)" if flipped & {*group} else ""
    sentences = [f"{_listed(group)} are alike{signed(group)}" for group in groups]
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


def _labels(name: str) -> tuple[str, ...]:
    """The parts of a name; a number counts within what it stands after: W_3_1 is W, W_3, W_*_1."""
    found, before = [], ""
    for part in name.split("_"):
        found.append(f"{before}_{part}" if part.isdecimal() else part)
        before = f"{before}_*" if part.isdecimal() else part
    return tuple(found)


def _flipped(partition: Partition, names: Sequence[tuple[str, ...]], groups: Sequence[list[str]]) -> set[str]:
    """Labels that stand in a coordinate for which another label of their group has the opposite one."""
    place = {name: i for i, name in enumerate(names)}
    following = {a: b for group in groups for a, b in pairwise(group)}
    found = set()
    for i, name in enumerate(names):
        for slot, label in enumerate(name):
            j = place.get((*name[:slot], following.get(label, label), *name[slot + 1 :]), i)
            if partition.labels[i] == partition.labels[j] >= 0 and partition.signs[i] != partition.signs[j]:
                found.add(label)
    return found


def _numbers_by_size(label: str) -> list[tuple[int, str]]:
    """What sorts 2b before 10a."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", label) if part]


def _listed(labels: Sequence[str]) -> str:
    """All of a few labels; of many the first and the last, and their number."""
    if len(labels) <= _MOST_LISTED:
        return ", ".join(labels)
    return f"{', '.join(labels[:3])}, …, {labels[-1]} ({len(labels)} labels)"
