"""What the clauses hold, as tables: the configurations whose weighted sum is Loss_5^{L,ℓ} of an isotropic layer.

The loss reads a sentence only through the matrix of the right predicate, the count matrix of the L - 1 others, the
query's value and the counts of the earlier values. Relabelling classes by g_ℓ⁻¹ makes the first the identity, and by
transitivity the query's value is 0; then class 0 is the target. So a configuration is (distractors, past) with a
weight, where distractors = Σ_k Perm(h_k), h_k = g_ℓ⁻¹ g_k independent and uniform. For ℓ = 1 nothing is past; for ℓ = 2
the past value is y_0, uniform and independent of h_1. Rows equal up to a relabelling of 1 … n_y - 1 are merged.

A program's neuron sees a configuration only through (hit, distractors, current, past, ℓ), a class through the multiset
of its neurons, a configuration through its target class and the multiset of the others. Each of its tables lists what
is distinct; the links count how often.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import comb, factorial
from typing import NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.systems.lego.data import states
from flowsys.systems.lego.groups import GroupAction

LARGEST_TABLE = 1_000_000
LARGEST_RELABELLING = 120
LARGEST_LINK = 40_000_000  # 320 MB
LARGEST_SAMPLE = 1_000_000  # neurons looked at: more would not fit into the tables of a program


class Configurations(NamedTuple):
    """Step ℓ of length L: hit, distractors (rows, j, y); current, past (rows, y); weight (rows,). The target is 0."""

    L: int
    ell: int
    hit: np.ndarray
    distractors: np.ndarray
    current: np.ndarray
    past: np.ndarray
    weight: np.ndarray


def _check_step(L, ell):
    if not isinstance(L, (int, np.integer)) or L < 1:
        raise ValueError(f"L = {L}, but an integer of at least 1 is needed.")
    if not isinstance(ell, (int, np.integer)) or not 1 <= ell <= L:
        raise ValueError(f"ell = {ell}, but an integer from 1 to L = {L} is needed.")


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table of counts, in order, and which of them each row is.

    A row is read as the digits of a number, some columns at a time: sorting numbers is far cheaper than sorting rows.
    """
    base = int(rows.max()) + 1
    at_once = max(1, int(np.log(2.0**62 / len(rows)) / np.log(max(base, 2))))
    place, first = np.zeros(len(rows), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for start in range(0, rows.shape[1], at_once):
        digits = rows[:, start : start + at_once].astype(np.int64)
        powers = base ** np.arange(digits.shape[1], dtype=np.int64)[::-1]
        numbers = place * (powers[0] * base) + digits @ powers
        _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    return rows[first], place.ravel()


def _merged(rows, weight):
    """Equal rows as one, their weights added."""
    distinct, place = distinct_rows(rows)
    return distinct, np.bincount(place, weights=weight, minlength=len(distinct))


def distractor_counts(group: GroupAction, n: int):
    """The distribution of Σ_{k ≤ n} Perm(h_k) for independent uniform h_k: matrices (rows, j, y) and their weights.

    Added one element at a time and merged, so that the cost is that of the distinct count matrices: for C_n the
    multisets, for S_n fewer.
    """
    n_y, elements = group.n_y, group.matrices.reshape(group.n_g, -1).astype(np.int32)
    rows, weight = np.zeros((1, n_y * n_y), dtype=np.int32), np.ones(1)
    for _ in range(n):
        if len(rows) * group.n_g > LARGEST_TABLE:
            raise ValueError(
                f"group = {group.name} with {n} distractors has too many count matrices to list; use a fixed sample."
            )
        rows, weight = _merged(
            (rows[:, None] + elements[None]).reshape(-1, n_y * n_y), np.repeat(weight, group.n_g) / group.n_g
        )
    return rows.reshape(-1, n_y, n_y), weight


def n_multisets(group: GroupAction, L: int) -> int:
    """How many multisets of L - 1 distractors there are: what an exact expectation costs at most, for each value."""
    return comb(L - 2 + group.n_g, group.n_g - 1)


@lru_cache(maxsize=16)
def exact(group: GroupAction, L: int, ell: int) -> Configurations:
    """The whole distribution of configurations at ℓ = 1 or 2."""
    _check_step(L, ell)
    if ell > 2:
        raise ValueError(f"ell = {ell}, but the exact expectation is written for 1 and 2; use a fixed sample.")
    counts, weight = distractor_counts(group, L - 1)
    past = np.zeros((len(counts), group.n_y), dtype=np.int32)
    if ell == 2:
        # h_1 is one of the L - 1 distractors, and y_0 is uniform whatever h_1 is.
        past = np.tile(np.eye(group.n_y, dtype=np.int32), (len(counts), 1))
        counts, weight = np.repeat(counts, group.n_y, axis=0), np.repeat(weight, group.n_y) / group.n_y
    return _table(group.n_y, L, ell, counts, past, weight)


def _table(n_y, L, ell, counts, past, weight) -> Configurations:
    rows = np.concatenate([counts.reshape(len(counts), -1), past], axis=1)
    rows, weight = _merged(_canonical(rows, n_y), weight)
    if len(rows) > LARGEST_TABLE:
        raise ValueError(
            f"L = {L} gives {len(rows)} configurations, but at most {LARGEST_TABLE} are kept; use a fixed sample."
        )
    hit = np.broadcast_to(np.eye(n_y), (len(rows), n_y, n_y))
    current = np.broadcast_to(np.eye(n_y)[0], (len(rows), n_y))
    distractors = rows[:, : n_y * n_y].reshape(-1, n_y, n_y).astype(float)
    return Configurations(L, ell, hit, distractors, current, rows[:, n_y * n_y :].astype(float), weight)


def _canonical(rows, n_y):
    """The smallest relabelling of each row by permutations of 1 … n_y - 1 of classes and values together."""
    if factorial(n_y - 1) > LARGEST_RELABELLING:
        return rows
    relabellings = [(0, *rest) for rest in permutations(range(1, n_y))]
    smallest = rows
    matrix = np.arange(n_y * n_y).reshape(n_y, n_y)
    for relabel in relabellings[1:]:
        order = np.concatenate([matrix[np.ix_(relabel, relabel)].ravel(), n_y * n_y + np.array(relabel)])
        image = rows[:, order]
        first = np.argmax(image != smallest, axis=1)
        at = np.arange(len(rows))
        smaller = image[at, first] < smallest[at, first]
        smallest = np.where(smaller[:, None], image, smallest)
    return smallest


def from_sequences(group: GroupAction, actions, values, ell: int, labels=None) -> Configurations:
    """Configurations of given sequences at step ℓ, each with weight 1/N.

    `values` are y_0 … y_{ℓ-1} (or more) as they stand in the context; `labels` are the answers to be predicted,
    g_ℓ(y_{ℓ-1}) unless given (self-labels may be wrong).
    """
    L = actions.shape[1]
    _check_step(L, ell)
    n_y, size = group.n_y, len(actions)
    hit = group.matrices[actions[:, ell - 1]]
    distractors = np.einsum("ng,gjy->njy", occurrences(actions, group.n_g), group.matrices) - hit
    past = occurrences(values[:, : ell - 1], n_y)
    query = values[:, ell - 1]
    labels = group.action[actions[:, ell - 1], query] if labels is None else labels
    # Any relabelling of classes and any of values leaves the loss as it is: bring the label and the query's value to 0.
    swap_rows, swap_columns = _to_front(labels, n_y), _to_front(query, n_y)
    at = np.arange(size)
    relabelled = lambda matrix: matrix[at[:, None, None], swap_rows[:, :, None], swap_columns[:, None, :]]
    current = np.broadcast_to(np.eye(n_y)[0], (size, n_y))
    past = past[at[:, None], swap_columns]
    return Configurations(L, ell, relabelled(hit), relabelled(distractors), current, past, np.full(size, 1 / size))


def occurrences(rows: np.ndarray, n: int) -> np.ndarray:
    """How often each of 0 … n - 1 stands in each row: (rows, n)."""
    places = rows + n * np.arange(len(rows))[:, None]
    return np.bincount(places.ravel(), minlength=n * len(rows)).reshape(len(rows), n).astype(float)


def _to_front(index, n_y):
    """The transposition of 0 and index, per row."""
    order = np.tile(np.arange(n_y), (len(index), 1))
    order[np.arange(len(index)), index] = 0
    order[:, 0] = index
    return order


def sampled(group: GroupAction, L: int, ell: int, size: int = 1024, seed: int = 0) -> Configurations:
    """A fixed sample: common random numbers make the sampled loss a deterministic smooth function."""
    if not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size = {size}, but a positive integer is needed.")
    actions, values = sequences(group, L, size, seed)
    return from_sequences(group, actions, values, ell)


def check_sample(group: GroupAction, n_steps: int, size: int) -> None:
    """Refuse samples that could not become tables before they are drawn."""
    if n_steps * size * group.n_y**2 > LARGEST_SAMPLE:
        raise InputError(
            f"n_samples = {size} is not allowed for {n_steps} trained steps of group {group.name}: "
            f"it must be at most {LARGEST_SAMPLE // (n_steps * group.n_y**2)}."
        )


def sequences(group: GroupAction, L: int, size: int, seed: int):
    """`size` random action sequences g_1 … g_L and their states y_0 … y_L."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(group.n_g, size=(size, L))
    return actions, states(group, actions, rng.integers(group.n_y, size=size))


# -- tables of the stage-2 program ------------------------------------------------------------------------------------


def program_tables(steps: Sequence[Configurations]) -> tuple[dict, dict]:
    """Tables and links of the loss Σ over the given steps (their weights as they are)."""
    n_rows, n_y = sum(len(step.weight) for step in steps), steps[0].hit.shape[-1]
    columns, kind = _distinct_neurons(steps)
    is_target = np.tile(np.arange(n_y) == 0, n_rows).astype(int)
    multisets = np.sort(kind.reshape(-1, n_y), axis=1)
    classes, of_class = distinct_rows(np.column_stack([is_target, multisets]))
    weight = np.concatenate([step.weight for step in steps])
    ell = np.repeat([step.ell for step in steps], [len(step.weight) for step in steps])
    held = np.sort(of_class.reshape(n_rows, n_y)[:, 1:], axis=1)
    held = np.column_stack([np.minimum(ell, 3), of_class.reshape(n_rows, n_y)[:, 0], held])
    configurations, of_row = distinct_rows(held)
    merged = np.bincount(of_row, weight, len(configurations))
    step = configurations[:, 0]
    tables = {
        "neurons": columns,
        "classes": {"is_target": classes[:, 0].astype(float)},
        "configurations": {
            "weight": merged,
            "share": merged / merged.sum(),
            "weight_1": np.where(step == 1, merged, 0.0),
            "weight_2": np.where(step == 2, merged, 0.0),
        },
    }
    links = {
        "neurons_to_classes": _counts(classes[:, 1:], len(columns["hit"])),
        "classes_to_configurations": _counts(configurations[:, 1:], len(classes)),
    }
    return tables, links


def _distinct_neurons(steps: Sequence[Configurations]) -> tuple[dict, np.ndarray]:
    """The distinct (hit, distractors, current, past, ℓ - 1) by column, and which of them every neuron sees.

    Two are 0 or 1 and three are counts of at most L, so what a neuron sees is a place in a small box: no sorting.
    """
    names, L = ("hit", "distractors", "current", "past", "earlier"), steps[0].L
    box = (2, L + 1, 2, L + 1, L + 1)
    seen = np.concatenate([np.ravel_multi_index(_seen_by_neurons(step), box).ravel() for step in steps])
    is_there = np.zeros(np.prod(box), dtype=bool)
    is_there[seen] = True
    distinct = np.flatnonzero(is_there)
    columns = np.array(np.unravel_index(distinct, box), dtype=float)
    return dict(zip(names, columns)), np.searchsorted(distinct, seen)


def _seen_by_neurons(step: Configurations) -> list[np.ndarray]:
    """hit, distractors, current, past, ℓ - 1 of every neuron, each (configurations, j, y)."""
    by_value = [x[:, None, :] for x in (step.current, step.past)]
    counts = (step.hit, step.distractors, *by_value, np.array(step.ell - 1))
    return [np.broadcast_to(x.astype(np.int32), step.hit.shape) for x in counts]


def _counts(members: np.ndarray, size: int) -> np.ndarray:
    """How often each of `size` things is a member of each row."""
    if len(members) * size > LARGEST_LINK:
        raise InputError(
            f"the trained steps need a table of {len(members)} × {size} numbers, more than is kept in memory: "
            "choose a smaller n_samples or L, or fewer trained_steps."
        )
    counts = np.zeros((len(members), size))
    np.add.at(counts, (np.arange(len(members))[:, None], members), 1.0)
    return counts
