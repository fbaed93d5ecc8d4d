"""LEGO sentences: vocabulary, five-slot clauses, the distribution of Assumption 3.2 as a population or a sample.

A predicate x_k = g_k(x_{k-1}) is the clause (x_k, g_k, x_{k-1}, _, _), an answer x_k = y_k is (_, _, _, x_k, y_k). In a
length-L sentence x_0 … x_L are uniform without replacement, y_0 is uniform, g_k are independent and uniform, and
y_k = g_k(y_{k-1}). Tokens are numbered variables first, then actions, then values, and the blank last.
"""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.systems.lego.groups import GroupAction


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of LEGO(X, G, Y)."""

    n_x: int
    group: GroupAction

    @property
    def d(self) -> int:
        return self.n_x + self.group.n_g + self.group.n_y + 1

    @property
    def blank(self) -> int:
        return self.d - 1

    @property
    def actions(self) -> slice:
        return slice(self.n_x, self.n_x + self.group.n_g)

    @property
    def values(self) -> slice:
        return slice(self.n_x + self.group.n_g, self.d - 1)


# -- sentences: equally likely, with variables x_0 … x_L, actions g_1 … g_L and values y_0 … y_L as indices from 0 -----


def states(group: GroupAction, actions, y_0, xp=np):
    """y_0 … y_L along y_k = g_k(y_{k-1})."""
    table, values = xp.asarray(group.action), [y_0]
    for g in actions.T:
        values.append(table[g, values[-1]])
    return xp.stack(values, axis=1)


def population(group: GroupAction, n_x: int, L: int, variables_read: int) -> fs.Samples:
    """Every sentence of length L, equally likely.

    Only the first `variables_read` variables vary, and the others are index 0: exact for a loss that does not read them
    (stage 2 without variable slots reads x_0 … x_{L-1}).
    """
    check_length(L, n_x)
    names = np.array(list(permutations(range(n_x), variables_read)))
    names = np.pad(names, ((0, 0), (0, L + 1 - variables_read)))
    inner = np.array(list(product(range(group.n_y), *[range(group.n_g)] * L)))
    names, inner = np.repeat(names, len(inner), axis=0), np.tile(inner, (len(names), 1))
    return fs.Samples(variables=names, actions=inner[:, 1:], values=states(group, inner[:, 1:], inner[:, 0]))


def sample(rng: np.random.Generator, group: GroupAction, n_x: int, L: int, size: int) -> fs.Samples:
    """`size` independent sentences of length L."""
    check_length(L, n_x)
    names, actions = np.argsort(rng.random((size, n_x)), axis=1)[:, : L + 1], rng.integers(group.n_g, size=(size, L))
    values = states(group, actions, rng.integers(group.n_y, size=size))
    return fs.Samples(variables=names, actions=actions, values=values)


def check_length(L, n_x, name="L"):
    """Refuse a length whose L + 1 distinct variables do not exist."""
    if not 1 <= L <= n_x - 1:
        raise InputError(f"{name} = {L} is not allowed: a chain needs L + 1 distinct variables, but n_x = {n_x:g}.")


def clauses(vocabulary: Vocabulary, X: fs.Samples, xp=np):
    """Token numbers of all clauses, predicates 1 … L then answers 0 … L (Definition 3.1): (N, 2 L + 1, 5)."""
    (size, L), variables = X.actions.shape, X.variables
    blank = lambda n: xp.full((size, n), vocabulary.blank)
    actions, values = X.actions + vocabulary.actions.start, X.values + vocabulary.values.start
    predicates = xp.stack([variables[:, 1:], actions, variables[:, :-1], blank(L), blank(L)], axis=2)
    answers = xp.stack([blank(L + 1), blank(L + 1), blank(L + 1), variables, values], axis=2)
    return xp.concatenate([predicates, answers], axis=1)
