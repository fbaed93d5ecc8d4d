"""Finite groups acting transitively on the values: C_n on itself, S_n on n points, or the tables of a JSON file.

    {"name": "Klein four-group",
     "multiplication": [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]],
     "action": [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]}

A file is given wherever a group is named (`--set group=FILE.json`): gh = multiplication[g][h] and g(y) = action[g][y],
numbered from 0. Without `multiplication` the rows of `action` are the elements, and products are those of permutations.
A table that breaks a law is refused by the law and the elements. By transitivity every fibre Fib_{j,y} = {g : g(y) = j}
has n_g / n_y elements; dynamics know a group by its action alone.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError

LARGEST_GROUP = 1000
LARGEST_VALUES = 64
LARGEST_TABLES = LARGEST_VALUES**4  # the exact tables of step 2 hold n_g n_y³ numbers
KEYS = {"name", "multiplication", "action"}


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


class GroupFile(str):
    """The name of a file, with the action that it held when it was read; equal where both are.

    What is computed for a group and found again by its name is not found for what the file holds later.
    """

    action: GroupAction

    def __new__(cls, path: str, action: GroupAction):
        self = super().__new__(cls, path)
        self.action = action
        return self

    @property
    def content(self) -> tuple[str, tuple[int, ...], bytes]:
        return str(self), self.action.action.shape, self.action.action.tobytes()

    def __getnewargs__(self):
        return str(self), self.action

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupFile) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)

    def __repr__(self) -> str:
        return f"GroupFile{self.content}"


def is_file(name: object) -> bool:
    """Whether a group is given by its file."""
    return str(name).endswith(".json")


def sizes(name: str) -> tuple[int, int]:
    """(n_g, n_y), of C_n and S_n at any size: closed forms need no tables."""
    if is_file(name):
        return named(name).action.shape
    family, size = str(name)[:1], str(name)[1:]
    if family not in ("C", "S") or not size.isdigit() or int(size) < 2:
        raise InputError(f"group = {name!r}, but C or S followed by a number from 2 is needed, such as C5 or S4.")
    return (factorial(int(size)) if family == "S" else int(size)), int(size)


def named(name: str) -> GroupAction:
    """The group written C5, S4, …, or that of a file of tables."""
    return (name if isinstance(name, GroupFile) else read(name)).action if is_file(name) else _named(str(name))


@lru_cache(maxsize=64)
def _named(name: str) -> GroupAction:
    n_g, n = sizes(name)
    if n_g > LARGEST_GROUP:
        raise InputError(f"group = {name} has {n_g} elements, but at most {LARGEST_GROUP} are needed.")
    if name.startswith("C"):
        return GroupAction(name, (np.arange(n)[:, None] + np.arange(n)[None, :]) % n)
    return GroupAction(name, np.array(list(permutations(range(n)))))


# -- tables of a user's own -------------------------------------------------------------------------------------------


def read(path: str) -> GroupFile:
    """A file with the checked action in it, or an InputError with what is wrong."""
    try:
        content = json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"group = {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"group = {path} is not a JSON file: {error}.") from None
    if not isinstance(content, dict) or "action" not in content or not set(content) <= KEYS:
        raise InputError(f"group = {path} must hold `action`, and may hold `multiplication` and `name`, nothing else.")
    try:
        action = _matrix("action", content["action"])
        _check_size(action)
        given = content.get("multiplication")
        check_action(action, None if given is None else _matrix("multiplication", given))
    except InputError as error:
        raise InputError(f"group = {path} is refused: {error}") from None
    return GroupFile(str(path), GroupAction(str(content.get("name", Path(path).stem)), action))


def _matrix(name: str, rows: object) -> np.ndarray:
    try:
        table = np.array(rows)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths.") from None
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"{name} must be a list of rows of integers.")
    if max(table.shape) > LARGEST_GROUP:
        raise InputError(f"{name} has shape {table.shape}, but at most {LARGEST_GROUP} elements are allowed.")
    return table


def _check_size(action: np.ndarray) -> None:
    """Refuse actions whose exact tables would not fit."""
    n_g, n_y = action.shape
    if not 2 <= n_y <= LARGEST_VALUES:
        least = "at least 2" if n_y < 2 else f"at most {LARGEST_VALUES}"
        raise InputError(f"action has {n_y} columns, but {least} values are allowed.")
    if n_g * n_y**3 > LARGEST_TABLES:
        most = int((LARGEST_TABLES / n_g) ** (1 / 3))
        raise InputError(f"action has {n_y} columns, but with {n_g} rows at most {most} values are allowed.")


def _law(broken: Any, sentence: Callable[..., str]) -> None:
    """Refuse with the first place where a law is broken."""
    if len(places := np.argwhere(broken)):
        raise InputError(sentence(*places[0]))


def check_action(action: np.ndarray, multiplication: np.ndarray | None = None) -> None:
    """Refuse tables that are no transitive action of a group."""
    if multiplication is not None:
        _check_products(multiplication, action)
    else:
        _check_permutations(action)
    reached = np.isin(np.arange(action.shape[1]), action[:, 0])
    _law(~reached, lambda y: f"transitivity fails, no element sends value 0 to value {y}.")


def _check_products(product: np.ndarray, action: np.ndarray) -> None:
    """The laws of a group and of its action, one after the other."""
    (n_g, n_y), elements = action.shape, np.arange(len(product))
    if product.shape != (n_g, n_g):
        raise InputError(f"multiplication has shape {product.shape}, but action has {n_g} rows, one for each element.")
    _law((product < 0) | (product >= n_g),
         lambda g, h: f"closure fails, {g}·{h} = {product[g, h]} is not among 0 … {n_g - 1}.")  # fmt: skip
    neutral = (product == elements).all(axis=1) & (elements == product.T).all(axis=1)
    _law([not neutral.any()], lambda _: "identity fails, no element e has e·g = g·e = g for every g.")
    e = int(neutral.argmax())
    invertible = ((product == e) & (e == product.T)).any(axis=1)
    _law(~invertible, lambda g: f"inverses fail, element {g} has none.")
    _law((action < 0) | (action >= n_y),
         lambda g, y: f"closure of the action fails, {g}({y}) = {action[g, y]} is not below {n_y}.")  # fmt: skip
    if len(np.unique(action, axis=0)) < n_g:  # a faithful action makes products those of permutations: associative
        for g in elements:
            _law(product[product[g]] != product[g][product],
                 lambda h, k, g=g: f"associativity fails, ({g}·{h})·{k} differs from {g}·({h}·{k}).")  # fmt: skip
    _law(action[e] != np.arange(n_y), lambda y: f"the identity law of the action fails, {e}({y}) = {action[e, y]}.")
    for g in elements:
        _law(action[product[g]] != action[g][action],
             lambda h, y, g=g: f"the product law fails, ({g}·{h})({y}) differs from {g}({h}({y})).")  # fmt: skip


def _check_permutations(action: np.ndarray) -> None:
    """Distinct permutations that are closed under products: a group."""
    is_no_permutation = (np.sort(action, axis=1) != np.arange(action.shape[1])).any(axis=1)
    _law(is_no_permutation, lambda g: f"closure of the action fails, row {g} = {action[g].tolist()} is no permutation "
         "of the values.")  # fmt: skip
    elements = {tuple(row) for row in action.tolist()}
    if len(elements) < len(action):
        raise InputError("action has equal rows: a group that is not faithful needs its `multiplication`.")
    for g, row in enumerate(action):
        products = row[action].tolist()
        _law([tuple(gh) not in elements for gh in products],
             lambda h, g=g, products=products: f"closure fails, {g}·{h} = {products[h]} is not among the rows of "
             "action.")  # fmt: skip
