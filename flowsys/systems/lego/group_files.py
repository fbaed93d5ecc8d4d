"""Groups of a user's own: an action's tables in a JSON file, given wherever a group is named (`--set group=FILE.json`).

    {"name": "Klein four-group",
     "multiplication": [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]],
     "action": [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]}

gh = multiplication[g][h] and g(y) = action[g][y], elements and values numbered from 0. Without `multiplication` the
rows of `action` are the elements, and products are those of permutations. A table that breaks a law is refused by the
law and the elements; from Python, `groups.GroupAction(name, multiplication, action)` makes the same checks.

Two bounds keep a run within seconds and a gigabyte. The exact tables of step 2 hold n_g n_y³ numbers, at most as many
as those of C64.
"""

import hashlib
import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from flowsys.errors import InputError
from flowsys.systems.lego.groups import GroupAction

SUFFIX = ".json"
LARGEST_GROUP = 1000
LARGEST_VALUES = 64
LARGEST_TABLES = LARGEST_VALUES**4
KEYS = {"name", "multiplication", "action"}


class GroupFile(str):
    """The name of a file, with the action that it held when it was read; equal where both are.

    What is computed for a group and found again by its name is not found for what the file holds later.
    """

    action: GroupAction
    digest: str

    def __new__(cls, path: str, action: GroupAction):
        self = super().__new__(cls, path)
        self.action = action
        tables = action.multiplication.tobytes() + action.action.tobytes()
        self.digest = hashlib.blake2b(tables, digest_size=8).hexdigest()
        return self

    def __getnewargs__(self):
        return str(self), self.action

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupFile) and (str(self), self.digest) == (str(other), other.digest)

    def __hash__(self) -> int:
        return hash((str(self), self.digest))

    def __repr__(self) -> str:
        return f"GroupFile({str(self)!r}, {self.digest})"


def is_file(name: object) -> bool:
    """Whether a group is given by its file."""
    return str(name).endswith(SUFFIX)


def read(path: str) -> GroupFile:
    """A file with the checked action in it, or an InputError with what is wrong."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise InputError(f"group = {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"group = {path} is not a JSON file: {error}.") from None
    return GroupFile(str(path), _read(str(path), text))


@lru_cache(maxsize=32)
def _read(path: str, text: str) -> GroupAction:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"group = {path} is not a JSON file: {error}.") from None
    if not isinstance(content, dict) or "action" not in content or not set(content) <= KEYS:
        raise InputError(f"group = {path} must hold `action`, and may hold `multiplication` and `name`, nothing else.")
    try:
        action = _matrix("action", content["action"])
        _check_size(action)
        given = content.get("multiplication")
        multiplication = products(action) if given is None else _matrix("multiplication", given)
        return GroupAction(str(content.get("name", Path(path).stem)), multiplication, action)
    except ValueError as error:
        raise InputError(f"group = {path} is refused: {error}") from None


def _matrix(name: str, rows: object) -> np.ndarray:
    try:
        table = np.array(rows)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths.") from None
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"{name} must be a list of rows of integers.")
    if len(table) > LARGEST_GROUP or table.shape[1] > LARGEST_GROUP:
        raise InputError(f"{name} has shape {table.shape}, but at most {LARGEST_GROUP} elements are allowed.")
    return table


def _check_size(action: np.ndarray) -> None:
    """Refuse actions whose exact tables would not fit."""
    n_g, n_y = action.shape
    if n_y > LARGEST_VALUES:
        raise InputError(f"action has {n_y} columns, but at most {LARGEST_VALUES} values are allowed.")
    if n_g * n_y**3 > LARGEST_TABLES:
        most = int((LARGEST_TABLES / n_g) ** (1 / 3))
        raise InputError(f"action has {n_y} columns, but with {n_g} rows at most {most} values are allowed.")


def products(action: np.ndarray) -> np.ndarray:
    """The multiplication table of distinct permutations, gh being first h, then g."""
    n_g, n_y = action.shape
    for g, row in enumerate(action):
        if sorted(row.tolist()) != list(range(n_y)):
            raise InputError(f"closure of the action fails, row {g} = {row.tolist()} is no permutation of the values.")
    place = {tuple(row): g for g, row in enumerate(action.tolist())}
    if len(place) < n_g:
        raise InputError("action has equal rows: a group that is not faithful needs its `multiplication`.")
    table = np.empty((n_g, n_g), dtype=int)
    for g in range(n_g):
        for h, row in enumerate(action[g][action].tolist()):
            if tuple(row) not in place:
                raise InputError(f"closure fails, {g}·{h} = {row} is not among the rows of action.")
            table[g, h] = place[tuple(row)]
    return table
