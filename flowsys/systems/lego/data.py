"""LEGO sentences: vocabulary, five-slot clauses, the distribution of Assumption 3.2 as a population or a sample.

A predicate x_k = g_k(x_{k-1}) is the clause (x_k, g_k, x_{k-1}, _, _), an answer x_k = y_k is (_, _, _, x_k, y_k). In a
length-L sentence x_0 … x_L are uniform without replacement, y_0 is uniform, g_k are independent and uniform, and
y_k = g_k(y_{k-1}). Tokens are numbered variables first, then actions, then values, and the blank last.
"""

from dataclasses import dataclass
from itertools import permutations, product
from math import perm
from typing import NamedTuple

import numpy as np

from flowsys.systems.lego.groups import GroupAction

LARGEST_POPULATION = 2_000_000


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of LEGO(X, G, Y)."""

    n_x: int
    group: GroupAction

    def __post_init__(self):
        if not isinstance(self.n_x, (int, np.integer)) or self.n_x < 2:
            raise ValueError(f"n_x = {self.n_x}, but an integer of at least 2 is needed.")

    @property
    def d(self) -> int:
        return self.n_x + self.group.n_g + self.group.n_y + 1

    @property
    def blank(self) -> int:
        return self.d - 1

    @property
    def variables(self) -> slice:
        return slice(0, self.n_x)

    @property
    def actions(self) -> slice:
        return slice(self.n_x, self.n_x + self.group.n_g)

    @property
    def values(self) -> slice:
        return slice(self.n_x + self.group.n_g, self.d - 1)


class Sentences(NamedTuple):
    """N equally likely sentences: variables x_0 … x_L, actions g_1 … g_L, values y_0 … y_L, as indices from 0."""

    variables: np.ndarray
    actions: np.ndarray
    values: np.ndarray

    @property
    def L(self) -> int:
        return self.actions.shape[1]


def states(group: GroupAction, actions, y_0) -> np.ndarray:
    """y_0 … y_L along y_k = g_k(y_{k-1})."""
    values = np.empty((len(actions), actions.shape[1] + 1), dtype=int)
    values[:, 0] = y_0
    for k in range(actions.shape[1]):
        values[:, k + 1] = group.action[actions[:, k], values[:, k]]
    return values


def population(group: GroupAction, n_x: int, L: int, variables_read: int | None = None) -> Sentences:
    """Every sentence of length L, equally likely.

    With `variables_read` = k only x_0 … x_{k-1} vary, and the others are index 0: exact for a loss that does not read
    them (stage 2 without variable slots reads x_0 … x_{L-1}).
    """
    check_length(L, n_x)
    n_read = L + 1 if variables_read is None else variables_read
    if not 1 <= n_read <= L + 1:
        raise ValueError(f"variables_read = {variables_read}, but a number from 1 to L + 1 = {L + 1} is needed.")
    size = perm(n_x, n_read) * group.n_g**L * group.n_y
    if size > LARGEST_POPULATION:
        raise ValueError(f"L = {L} and n_x = {n_x} give {size} sentences, but at most {LARGEST_POPULATION} are listed.")
    names = np.array(list(permutations(range(n_x), n_read)))
    names = np.concatenate([names, np.zeros((len(names), L + 1 - n_read), dtype=int)], axis=1)
    inner = np.array(list(product(range(group.n_y), *[range(group.n_g)] * L)))
    inner = np.tile(inner, (len(names), 1))
    actions = inner[:, 1:]
    return Sentences(np.repeat(names, len(inner) // len(names), axis=0), actions, states(group, actions, inner[:, 0]))


def sample(rng: np.random.Generator, group: GroupAction, n_x: int, L: int, size: int) -> Sentences:
    """`size` independent sentences of length L."""
    check_length(L, n_x)
    names = np.argsort(rng.random((size, n_x)), axis=1)[:, : L + 1]
    actions = rng.integers(group.n_g, size=(size, L))
    return Sentences(names, actions, states(group, actions, rng.integers(group.n_y, size=size)))


def check_length(L, n_x):
    """Refuse a length whose L + 1 distinct variables do not exist."""
    if not isinstance(L, (int, np.integer)) or not 1 <= L <= n_x - 1:
        raise ValueError(f"L = {L}, but an integer from 1 to n_x - 1 = {n_x - 1} is needed.")


def clauses(vocabulary: Vocabulary, sentences: Sentences) -> np.ndarray:
    """Token numbers of all clauses, predicates 1 … L then answers 0 … L (Definition 3.1): (N, 2 L + 1, 5)."""
    names = sentences.variables
    actions = sentences.actions + vocabulary.actions.start
    values = sentences.values + vocabulary.values.start
    L = sentences.L
    tokens = np.full((len(names), 2 * L + 1, 5), vocabulary.blank)
    tokens[:, :L, 0], tokens[:, :L, 1], tokens[:, :L, 2] = names[:, 1:], actions, names[:, :-1]
    tokens[:, L:, 3], tokens[:, L:, 4] = names, values
    return tokens
