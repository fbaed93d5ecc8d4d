"""Finite groups acting transitively on the values: C_n on itself, S_n on n points, or the table of a JSON file.

    {"name": "Klein four-group", "action": [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]}

A file is given wherever a group is named (`--set group=FILE.json`): g(y) = action[g][y], numbered from 0, a row for
each element. Dynamics know a group by its action alone, and products are those of permutations: the rows of a group are
permutations closed under products (finitely many, so that identity and inverses are among them), each as often as
every other (as many elements act in the same way as there are in the kernel). A table that breaks a law is refused by
the law and the elements. By transitivity every fibre Fib_{j,y} = {g : g(y) = j} has n_g / n_y elements.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from math import factorial
from pathlib import Path

import numpy as np

from flowsys.errors import InputError
from flowsys.system.files import FromFile, json_file

LARGEST_GROUP = 1000
LARGEST_TABLES = 64**4  # the exact tables of step 2 hold n_g n_y³ numbers


@dataclass(frozen=True, eq=False)
class GroupAction:
    """A group with a transitive action on the values 0 … n_y - 1: g(y) = action[g, y]."""

    name: str
    action: np.ndarray

    @property
    def n_g(self) -> int:
        return self.action.shape[0]

    @property
    def n_y(self) -> int:
        return self.action.shape[1]

    @property
    def fibre_size(self) -> int:
        return self.n_g // self.n_y

    @cached_property
    def matrices(self) -> np.ndarray:
        """matrices[g, j, y] = 1{g(y) = j}."""
        return (self.action[:, None, :] == np.arange(self.n_y)[None, :, None]).astype(float)

    def fibre(self, j: int, y: int) -> np.ndarray:
        """Fib_{j,y}: the elements that send y to j."""
        return np.flatnonzero(self.action[:, y] == j)


def sizes(name: str) -> tuple[int, int]:
    """(n_g, n_y), of C_n and S_n at any size: closed forms need no tables."""
    if isinstance(name, FromFile):
        return name.value.action.shape
    family, size = str(name)[:1], str(name)[1:]
    if family not in ("C", "S") or not size.isdigit() or int(size) < 2:
        raise InputError(f"group = {name!r}, but C or S followed by a number from 2 is needed, such as C5 or S4.")
    return (factorial(int(size)) if family == "S" else int(size)), int(size)


def named(name: str) -> GroupAction:
    """The group written C5, S4, …, or that of a file."""
    return name.value if isinstance(name, FromFile) else _named(str(name))


@lru_cache(maxsize=64)
def _named(name: str) -> GroupAction:
    n_g, n = sizes(name)
    if n_g > LARGEST_GROUP:
        raise InputError(f"group = {name} has {n_g} elements, but at most {LARGEST_GROUP} are needed.")
    if name.startswith("C"):
        return GroupAction(name, (np.arange(n)[:, None] + np.arange(n)[None, :]) % n)
    return GroupAction(name, np.array(list(permutations(range(n)))))


# -- tables of a user's own -------------------------------------------------------------------------------------------


def _of_file(content: object, path: str) -> GroupAction:
    """The checked action that a file holds, or an InputError with what is wrong."""
    if not isinstance(content, dict) or "action" not in content or not set(content) <= {"action", "name"}:
        raise InputError("it must hold `action`, and may hold `name`, nothing else.")
    check_action(action := _table(content["action"]))
    return GroupAction(str(content.get("name", Path(path).stem)), action)


read = json_file(_of_file)


def _table(rows: object) -> np.ndarray:
    """Rows of integers, of a size whose exact tables fit."""
    try:
        table = np.array(rows)
    except ValueError:
        raise InputError("action has rows of different lengths.") from None
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise InputError("action must be a list of rows of integers.")
    n_g, n_y = table.shape
    if n_g > LARGEST_GROUP:
        raise InputError(f"action has {n_g} rows, but at most {LARGEST_GROUP} elements are allowed.")
    if n_y < 2:
        raise InputError(f"action has {n_y} columns, but at least 2 values are needed.")
    if n_g * n_y**3 > LARGEST_TABLES:
        most = int((LARGEST_TABLES / n_g) ** (1 / 3))
        raise InputError(f"action has {n_y} columns, but with {n_g} rows at most {most} values are allowed.")
    return table


def check_action(action: np.ndarray) -> None:
    """Refuse a table that is no transitive action of a group."""
    values, rows = np.arange(action.shape[1]), list(map(tuple, action.tolist()))
    copies = Counter(rows)
    for g, row in enumerate(rows):
        if sorted(row) != values.tolist():
            raise InputError(f"closure of the action fails, row {g} = {list(row)} is no permutation of the values.")
        if copies[row] != copies[rows[0]]:
            raise InputError(f"a group hits every permutation equally often, but row 0 stands there {copies[rows[0]]} "
                             f"times and row {g} {copies[row]} times.")  # fmt: skip
    for g, row in enumerate(action):
        for h, product in enumerate(row[action].tolist()):
            if tuple(product) not in copies:
                raise InputError(f"closure fails, {g}·{h} = {product} is not among the rows of action.")
    for y in np.setdiff1d(values, action[:, 0]):
        raise InputError(f"transitivity fails, no element sends value 0 to value {y}.")
