"""What the clauses hold, as tables: the configurations whose weighted sum is Loss_5^{L,ℓ} of an isotropic layer.

The loss reads a sentence only through the matrix of the right predicate, the count matrix of the L - 1 others, the
query's value, the counts of the earlier values, and the label. Any relabelling of classes and any of values leaves it
as it is. With true labels a configuration is therefore (distractors, past) with a weight, the first matrix being the
identity, label and query's value 0, and distractors = Σ_k Perm(h_k), h_k = g_ℓ⁻¹ g_k independent and uniform. For
ℓ = 1 nothing is past; for ℓ = 2 the past value is y_0, uniform and independent of h_1.

A program's neuron sees a configuration only through (hit, distractors, current, past, ℓ), a class through the multiset
of its neurons, a configuration through that of its classes: three nested tables (`flowsys.program.nested`).
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.program.nested import distinct_rows, nested, occurrences
from flowsys.systems.lego.data import states
from flowsys.systems.lego.groups import GroupAction

LARGEST_EXACT = 2_000  # multisets of distractors
LARGEST_SAMPLE = 1_000_000  # neurons looked at: more would not fit into the tables of a program


class Configurations(NamedTuple):
    """Step ℓ of length L: hit, distractors (rows, j, y); current, past (rows, y); target (rows, j); weight (rows,)."""

    L: Any
    ell: Any
    hit: Any
    distractors: Any
    current: Any
    past: Any
    target: Any = None
    weight: Any = None


def distractor_counts(group: GroupAction, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of Σ_{k ≤ n} Perm(h_k) for independent uniform h_k: matrices (rows, j, y) and their weights.

    Added one element at a time and merged, so that the cost is that of the distinct count matrices: for C_n the
    multisets, for S_n fewer.
    """
    n_y, elements = group.n_y, group.matrices.reshape(group.n_g, -1).astype(np.int32)
    rows: np.ndarray = np.zeros((1, n_y * n_y), dtype=np.int32)
    weight: np.ndarray = np.ones(1)
    for _ in range(n):
        rows, place = distinct_rows((rows[:, None] + elements[None]).reshape(-1, n_y * n_y))
        weight = np.bincount(place, np.repeat(weight, group.n_g) / group.n_g)
    return rows.reshape(-1, n_y, n_y), weight


def is_exact(group: GroupAction, L: int, ell: int) -> bool:
    """Whether the whole distribution of step ℓ is listed: no more multisets of L - 1 distractors than that."""
    return ell <= 2 and comb(L - 2 + group.n_g, group.n_g - 1) <= LARGEST_EXACT


@lru_cache(maxsize=16)
def exact(group: GroupAction, L: int, ell: int) -> Configurations:
    """The whole distribution of configurations at ℓ = 1 or 2."""
    (counts, weight), n_y = distractor_counts(group, L - 1), group.n_y
    # at ℓ = 2, h_1 is one of the L - 1 distractors, and y_0 is uniform whatever h_1 is
    own, pasts = np.eye(n_y), np.eye(n_y) if ell == 2 else np.zeros((1, n_y))
    counts, past = np.repeat(counts, len(pasts), axis=0), np.tile(pasts, (len(counts), 1))
    hit, first = np.broadcast_to(own, counts.shape), np.broadcast_to(own[0], past.shape)
    return Configurations(
        L, ell, hit, counts.astype(float), first, past, first, np.repeat(weight, len(pasts)) / len(pasts)
    )


def from_sequences(group: GroupAction, actions, values, steps: Sequence[int]) -> list[Configurations]:
    """Configurations of given sequences at some steps ℓ, each with weight 1/N.

    `values` are y_0 … y_{ℓ-1} as they stand in the context, and the label y_ℓ, which need not be right.
    """
    (size, L), own, tables = actions.shape, np.eye(group.n_y), []
    everything, weight = action_counts(group, actions), np.full(size, 1 / size)
    for ell in steps:
        hit, past = group.matrices[actions[:, ell - 1]], occurrences(values[:, : ell - 1], group.n_y)
        seen = hit, everything - hit, own[values[:, ell - 1]], past
        tables.append(Configurations(L, ell, *seen, own[values[:, ell]], weight))
    return tables


def action_counts(group: GroupAction, actions: np.ndarray) -> np.ndarray:
    """Σ_k Perm(g_k) of every sequence: (rows, j, y)."""
    return np.einsum("ng,gjy->njy", occurrences(actions, group.n_g), group.matrices)


def sequences(group: GroupAction, L: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`size` random action sequences g_1 … g_L and their states y_0 … y_L."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(group.n_g, size=(size, L))
    return actions, states(group, actions, rng.integers(group.n_y, size=size))


def expectation(group: GroupAction, L: int, steps: Sequence[int], size: int, seed: int) -> list[Configurations]:
    """The tables of steps with true labels: exact where there are few configurations, else of a fixed sample.

    Common random numbers make the sampled loss a deterministic smooth function.
    """
    listed = {ell: exact(group, L, ell) for ell in steps if is_exact(group, L, ell)}
    rest = [ell for ell in steps if ell not in listed]
    check_sample(group, len(rest), size)
    if rest:
        listed |= dict(zip(rest, from_sequences(group, *sequences(group, L, size, seed), rest)))
    return [listed[ell] for ell in steps]


def check_sample(group: GroupAction, n_steps: int, size: int) -> None:
    """Refuse samples that could not become tables before they are drawn."""
    if n_steps * size * group.n_y**2 > LARGEST_SAMPLE:
        raise InputError(
            f"n_samples = {size} is not allowed for {n_steps} trained steps of group {group.name}: "
            f"it must be at most {LARGEST_SAMPLE // (n_steps * group.n_y**2)}."
        )


# -- tables of the stage-2 program ------------------------------------------------------------------------------------


def program_tables(steps: Sequence[Configurations]) -> tuple[dict, dict]:
    """Tables and links of the loss Σ over the given steps (their weights as they are)."""
    sizes = [len(step.weight) for step in steps]
    of = lambda name: np.concatenate([getattr(step, name) for step in steps]).astype(int)
    ell = np.repeat([step.ell for step in steps], sizes)
    seen_by_all = {name: of(name)[:, None, :] for name in ("current", "past")}
    neurons = {"hit": of("hit"), "distractors": of("distractors"), **seen_by_all, "earlier": ell[:, None, None] - 1}
    classes, configurations = {"is_target": of("target")}, {"step": np.minimum(ell, 3)}
    levels = {"neurons": neurons, "classes": classes, "configurations": configurations}
    tables, links, of_row = nested(levels, "choose a smaller n_samples or L, or fewer trained_steps")
    step, weight = tables["configurations"]["step"], np.bincount(of_row, np.concatenate([s.weight for s in steps]))
    of_step = {f"weight_{ell}": np.where(step == ell, weight, 0.0) for ell in (1, 2)}
    return tables | {"configurations": {"weight": weight, "share": weight / weight.sum(), **of_step}}, links
