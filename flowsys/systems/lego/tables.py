"""Configurations as the tables of the stage-2 program: distinct neurons, distinct classes, distinct configurations.

A neuron sees a configuration only through (hit, distractors, current, past, ℓ), a class through the multiset of its
neurons, a configuration through its target class and the multiset of the others. Each table lists what is distinct;
the links count how often.
"""

from collections.abc import Sequence

import numpy as np

from flowsys.errors import InputError
from flowsys.systems.lego.configurations import Configurations, distinct_rows

LARGEST_LINK = 100_000_000


def program_tables(steps: Sequence[Configurations]) -> tuple[dict, dict]:
    """Tables and links of the loss Σ over the given steps (their weights as they are)."""
    seen = np.concatenate([_seen_by_neurons(step) for step in steps])  # (configurations, n_y, n_y, 5)
    n_rows, n_y = seen.shape[:2]
    neurons, kind = distinct_rows(seen.reshape(-1, 5))
    is_target = np.tile(np.arange(n_y) == 0, n_rows).astype(int)
    multisets = np.sort(kind.reshape(-1, n_y), axis=1)
    classes, of_class = distinct_rows(np.column_stack([is_target, multisets]))
    weight = np.concatenate([step.weight for step in steps])
    ell = np.repeat([step.ell for step in steps], [len(step.weight) for step in steps])
    held = np.sort(of_class.reshape(n_rows, n_y)[:, 1:], axis=1)
    held = np.column_stack([np.minimum(ell, 3), of_class.reshape(n_rows, n_y)[:, 0], held])
    configurations, of_row = distinct_rows(held)
    merged = np.bincount(of_row, weight, len(configurations))
    columns = dict(zip(("hit", "distractors", "current", "past", "earlier"), neurons.T.astype(float)))
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
        "neurons_to_classes": _counts(classes[:, 1:], len(neurons)),
        "classes_to_configurations": _counts(configurations[:, 1:], len(classes)),
    }
    return tables, links


def _seen_by_neurons(step: Configurations) -> np.ndarray:
    """(hit, distractors, current, past, ℓ - 1) of every neuron: (configurations, j, y, 5)."""
    shape = step.hit.shape
    by_value = [np.broadcast_to(x[:, None, :], shape) for x in (step.current, step.past)]
    return np.stack([step.hit, step.distractors, *by_value, np.full(shape, step.ell - 1)], axis=-1).astype(int)


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
