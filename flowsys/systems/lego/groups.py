"""Finite groups acting transitively on the values: checked tables, the named families C_n and S_n, fibres.

An action of G on Y is given by two tables, gh = multiplication[g, h] and g(y) = action[g, y]. Both are checked when the
value is built: closure, identity, inverses, associativity, the two action laws and transitivity. By transitivity every
fibre Fib_{j,y} = {g : g(y) = j} has n_g / n_y elements.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from math import factorial

import numpy as np

LARGEST_CYCLIC = 64
LARGEST_SYMMETRIC = 6
LARGEST_ASSOCIATIVITY_CHECK = 200


@dataclass(frozen=True, eq=False)
class GroupAction:
    """A group with a transitive action on the values 0 … n_y - 1."""

    name: str
    multiplication: np.ndarray
    action: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "multiplication", _integer_table("multiplication", self.multiplication))
        object.__setattr__(self, "action", _integer_table("action", self.action))
        _check_group(self.name, self.multiplication, self.action)
        _check_action(self.name, self.multiplication, self.action, self.identity)

    def __repr__(self):
        return f"GroupAction({self.name!r}, n_g={self.n_g}, n_y={self.n_y})"

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
    def identity(self) -> int:
        return _identity(self.multiplication)

    @cached_property
    def inverse(self) -> np.ndarray:
        """inverse[g] is the g⁻¹ with g g⁻¹ = identity."""
        return np.argmax(self.multiplication == self.identity, axis=1)

    @cached_property
    def matrices(self) -> np.ndarray:
        """matrices[g, j, y] = 1{g(y) = j}."""
        return (self.action[:, None, :] == np.arange(self.n_y)[None, :, None]).astype(float)

    def fibre(self, j: int, y: int) -> np.ndarray:
        """Fib_{j,y}: the elements that send y to j."""
        return np.flatnonzero(self.action[:, y] == j)


def _integer_table(name, table):
    table = np.asarray(table)
    if table.ndim != 2 or 0 in table.shape or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"{name} has shape {table.shape} and type {table.dtype}, but an integer matrix is needed.")
    return table


def _identity(multiplication):
    elements = np.arange(len(multiplication))
    neutral = (multiplication == elements[None, :]).all(axis=1) & (elements[None, :] == multiplication.T).all(axis=1)
    return int(np.argmax(neutral)) if neutral.any() else None


def _check_group(name, multiplication, action):
    n_g = len(multiplication)
    if multiplication.shape[1] != n_g:
        raise ValueError(f"group {name}: multiplication has shape {multiplication.shape}, but it must be square.")
    outside = np.argwhere((multiplication < 0) | (multiplication >= n_g))
    if len(outside):
        g, h = outside[0]
        raise ValueError(f"group {name}: closure fails, {g}·{h} = {multiplication[g, h]} is not among 0 … {n_g - 1}.")
    identity = _identity(multiplication)
    if identity is None:
        raise ValueError(f"group {name}: identity fails, no element e has e·g = g·e = g for every g.")
    invertible = (multiplication == identity) & (identity == multiplication.T)
    if not invertible.any(axis=1).all():
        raise ValueError(f"group {name}: inverses fail, element {int(np.argmin(invertible.any(axis=1)))} has none.")
    # A faithful action that respects products makes the product that of permutations, which is associative: beyond
    # this size only an action that is not faithful needs the cubic check.
    if n_g > LARGEST_ASSOCIATIVITY_CHECK and len(np.unique(action, axis=0)) == len(action):
        return
    for g in range(n_g):
        bad = np.argwhere(multiplication[multiplication[g]] != multiplication[g][multiplication])
        if len(bad):
            h, k = bad[0]
            raise ValueError(f"group {name}: associativity fails, ({g}·{h})·{k} differs from {g}·({h}·{k}).")


def _check_action(name, multiplication, action, identity):
    n_g, n_y = action.shape
    if n_g != len(multiplication):
        raise ValueError(f"group {name}: action has {n_g} rows, but the group has {len(multiplication)} elements.")
    if n_y < 2:
        raise ValueError(f"group {name}: action has {n_y} column, but at least 2 values are needed.")
    outside = np.argwhere((action < 0) | (action >= n_y))
    if len(outside):
        g, y = outside[0]
        raise ValueError(f"group {name}: closure of the action fails, {g}({y}) = {action[g, y]} is not below {n_y}.")
    moved = np.flatnonzero(action[identity] != np.arange(n_y))
    if len(moved):
        y = moved[0]
        image = action[identity, y]
        raise ValueError(f"group {name}: the identity law of the action fails, {identity}({y}) = {image}.")
    for g in range(n_g):
        bad = np.argwhere(action[multiplication[g]] != action[g][action])
        if len(bad):
            h, y = bad[0]
            raise ValueError(f"group {name}: the product law fails, ({g}·{h})({y}) differs from {g}({h}({y})).")
    orbit = np.unique(action[:, 0])
    if len(orbit) < n_y:
        missing = np.setdiff1d(np.arange(n_y), orbit)[0]
        raise ValueError(f"group {name}: transitivity fails, no element sends value 0 to value {missing}.")


@lru_cache(maxsize=32)
def cyclic(n: int) -> GroupAction:
    """C_n on Z_n by addition: simply transitive."""
    if not isinstance(n, (int, np.integer)) or not 2 <= n <= LARGEST_CYCLIC:
        raise ValueError(f"n = {n} for a cyclic group, but an integer from 2 to {LARGEST_CYCLIC} is needed.")
    table = (np.arange(n)[:, None] + np.arange(n)[None, :]) % n
    return GroupAction(f"C{n}", table, table)


@lru_cache(maxsize=8)
def symmetric(n: int) -> GroupAction:
    """S_n on {0, …, n - 1}; elements in lexicographic order, gh means first h, then g."""
    if not isinstance(n, (int, np.integer)) or not 2 <= n <= LARGEST_SYMMETRIC:
        raise ValueError(f"n = {n} for a symmetric group, but an integer from 2 to {LARGEST_SYMMETRIC} is needed.")
    action = np.array(list(permutations(range(n))))
    place = n ** np.arange(n)[::-1]
    products = action[:, action] @ place  # products[g, h] codes y -> g(h(y))
    return GroupAction(f"S{n}", np.searchsorted(action @ place, products), action)


def named(name: str) -> GroupAction:
    """The group written C5, S4, …, or that of a file of tables (`group_files`)."""
    from flowsys.systems.lego import group_files

    if group_files.is_file(name):
        return (name if isinstance(name, group_files.GroupFile) else group_files.read(name)).action
    family, size = str(name)[:1], str(name)[1:]
    if family not in ("C", "S") or not size.isdigit():
        raise ValueError(f"group = {name!r}, but C or S followed by a number is needed, such as C5 or S4.")
    return cyclic(int(size)) if family == "C" else symmetric(int(size))


def sizes(name: str) -> tuple[int, int]:
    """(n_g, n_y) of a named group, without its tables: closed forms need no more, at any size."""
    if str(name).endswith(".json"):
        return (group := named(name)).n_g, group.n_y
    family, size = str(name)[:1], str(name)[1:]
    if family not in ("C", "S") or not size.isdigit() or int(size) < 2:
        raise ValueError(f"group = {name!r}, but C or S followed by a number from 2 is needed, such as C5 or S4.")
    return (factorial(int(size)) if family == "S" else int(size)), int(size)
