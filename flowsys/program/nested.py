"""Tables of a loss that sums over sums, from what is summed: what is distinct at each level, and how often it is held.

A row of the outermost level holds rows of the level inside it, which may hold others. A loss that reads only how often
(the value of a sample is a sum over its parts) is the same when every level lists what is distinct once, and a link
counts what a row holds of the level before it: the tables of `flowsys.symbolic.assemble.Level`.
"""

from collections.abc import Mapping

import numpy as np

from flowsys.errors import InputError

LARGEST_LINK = 40_000_000  # 320 MB

Columns = Mapping[str, np.ndarray]


def nested(
    levels: Mapping[str, Columns], otherwise: str = "take fewer rows"
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, np.ndarray], np.ndarray]:
    """Tables and links of levels, innermost first; and the row of the last table that each outermost row became.

    Columns are whole numbers from 0, with an axis of outermost rows and one more for each level further in: of three
    levels, the first has arrays of three axes (or what broadcasts to them), the last of one. Tables that would not fit
    into memory are refused, `otherwise` says what to do instead.
    """
    tables: dict[str, dict[str, np.ndarray]] = {}
    links: dict[str, np.ndarray] = {}
    inner: str = ""
    place: np.ndarray = np.zeros(0)
    for name, columns in levels.items():
        rows = np.stack(np.broadcast_arrays(*columns.values()), axis=-1)
        if inner:
            rows = np.concatenate([rows, np.sort(place, axis=-1)], axis=-1)
        distinct, where = distinct_rows(rows.reshape(-1, rows.shape[-1]))
        if inner:
            links[f"{inner}_to_{name}"] = _counts(distinct[:, len(columns) :], int(place.max()) + 1, otherwise)
        tables[name] = dict(zip(columns, distinct.T.astype(float)))
        inner, place = name, where.reshape(rows.shape[:-1])
    return tables, links, place


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table of whole numbers from 0, in order, and which of them each row is.

    A row is read as a text of its numbers' bytes: sorting texts is far cheaper than sorting rows.
    """
    kind = np.min_scalar_type(int(rows.max())).newbyteorder(">")
    texts = np.ascontiguousarray(rows, dtype=kind).view(f"S{kind.itemsize * rows.shape[1]}").ravel()
    _, first, place = np.unique(texts, return_index=True, return_inverse=True)
    return rows[first], place


def occurrences(rows: np.ndarray, n: int) -> np.ndarray:
    """How often each of 0 … n - 1 stands in each row: (rows, n)."""
    places = rows + n * np.arange(len(rows))[:, None]
    return np.bincount(places.ravel(), minlength=n * len(rows)).reshape(len(rows), n).astype(float)


def _counts(members: np.ndarray, size: int, otherwise: str) -> np.ndarray:
    if len(members) * size > LARGEST_LINK:
        raise InputError(
            f"the loss needs a table of {len(members)} × {size} numbers, more than is kept in memory: {otherwise}."
        )
    return occurrences(members, size)
