"""Configurations as the tables of the stage-2 program: distinct neurons, distinct classes, distinct configurations.

A neuron sees a configuration only through (hit, distractors, current, past, ℓ), a class through the multiset of its
neurons, a configuration through its target class and the multiset of the others. Each table lists what is distinct;
the links count how often.
"""

from collections.abc import Sequence

import numpy as np

from flowsys.errors import InputError
from flowsys.systems.lego.configurations import Configurations, distinct_rows

LARGEST_LINK = 40_000_000  # 320 MB


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
