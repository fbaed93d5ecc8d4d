"""The data of the mixture task: all samples of small sizes, and their orbits for every size.

A sample has label y, group k, the tokens c_k and y·v_k, and L - 2 distractors ±v_j of other groups (Sec. 2). By
symmetry y = +1 and k = 1, and only how often each other group occurs with either sign matters: an orbit is a multiset
of nonzero pairs (a, b), copies of +v_j and of -v_j, with Σ(a + b) = L - 2 and probability

    Pr = (K-1)! / ((K-1-r)! Π mult!) · (L-2)! / Π(a! b!) / (2(K-1))^(L-2)       for r groups that occur.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

import flowsys as fs

Pair = tuple[int, int]


@dataclass(frozen=True)
class Orbit:
    """A class of samples alike up to symmetry: how often other groups' signals occur with each sign."""

    pairs: tuple[Pair, ...]
    probability: Fraction

    @property
    def n_plus(self) -> int:
        return sum(a for a, _ in self.pairs)

    @property
    def n_minus(self) -> int:
        return sum(b for _, b in self.pairs)

    @property
    def is_hard(self) -> bool:
        """y · (sum of all v-signs) ≤ 0: for L = 3 the conflicting samples of Algorithm 1."""
        return 1 + self.n_plus - self.n_minus <= 0

    @property
    def is_consistent(self) -> bool:
        """Every distractor has the label's sign; for L = 3 the paper's consistent samples."""
        return self.n_minus == 0


def _multisets(size: int, parts: int, smallest: Pair = (0, 1)):
    """All nondecreasing tuples of at most `parts` nonzero pairs whose entries sum to `size`."""
    if size == 0:
        yield ()
        return
    if parts == 0:
        return
    for a in range(size + 1):
        for b in range(size - a + 1):
            if (a, b) >= smallest and a + b > 0:
                for rest in _multisets(size - a - b, parts - 1, (a, b)):
                    yield ((a, b), *rest)


@lru_cache(maxsize=64)
def orbits(K: int, L: int) -> tuple[Orbit, ...]:
    """All sample orbits with their exact probabilities."""
    D = L - 2
    found = []
    for pairs in _multisets(D, K - 1):
        ways = Fraction(factorial(K - 1), factorial(K - 1 - len(pairs)))
        for repeats in Counter(pairs).values():
            ways /= factorial(repeats)
        arrangements = Fraction(factorial(D))
        for a, b in pairs:
            arrangements /= factorial(a) * factorial(b)
        found.append(Orbit(pairs, ways * arrangements / (2 * (K - 1)) ** D))
    return tuple(found)


def orbit_tables(K: int, L: int) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """The tables and the link of the limit's program: sample orbits, distractor queries, who contains which."""
    all_orbits = orbits(K, L)
    kinds: dict[tuple[int, int, int, int, int], int] = {}
    contains: list[tuple[int, int, int]] = []
    for row, orbit in enumerate(all_orbits):
        for a, b in orbit.pairs:
            for sign, copies in ((1, a), (-1, b)):
                if copies:
                    kind = (sign, a, b, orbit.n_plus, orbit.n_minus)
                    contains.append((row, kinds.setdefault(kind, len(kinds)), copies))
    link = np.zeros((len(all_orbits), len(kinds)))
    for row, column, copies in contains:
        link[row, column] += copies
    queries = np.array(list(kinds), dtype=float).T
    names = ("query_sign", "own_plus", "own_minus", "query_n_plus", "query_n_minus")
    tables = {
        "queries": dict(zip(names, queries)),
        "samples": {
            "weight": np.array([float(o.probability) for o in all_orbits]),
            "probability": np.array([float(o.probability) for o in all_orbits]),
            "n_plus": np.array([o.n_plus for o in all_orbits], dtype=float),
            "n_minus": np.array([o.n_minus for o in all_orbits], dtype=float),
            "is_consistent": np.array([float(o.is_consistent) for o in all_orbits]),
            "is_conflicting": np.array([float(o.is_hard) for o in all_orbits]),
        },
    }
    return tables, {"queries_to_samples": link}


def hard_weights(K: int, L: int) -> np.ndarray:
    """Orbit probabilities conditioned on the hard samples: the population of stage 2."""
    weights = np.array([float(o.probability) if o.is_hard else 0.0 for o in orbits(K, L)])
    return weights / weights.sum()


def samples(p) -> fs.Samples:
    """Every sample, distractors as multisets, with its probability; token c_k has index k, v_k has K + k.

    `hard` marks the population of stage 2; `consistent` and `conflicting` weigh a sample in the mean over its kind.
    """
    K, L = p.K, p.L
    keys, signs, y, weight, hard, consistent = [], [], [], [], [], []
    for k in range(K):
        others = [(j, s) for j in range(K) if j != k for s in (1, -1)]
        for chosen in combinations_with_replacement(others, L - 2):
            orders = factorial(L - 2)
            for copies in Counter(chosen).values():
                orders //= factorial(copies)
            for label in (1, -1):
                keys.append([k, K + k, *(K + j for j, _ in chosen)])
                signs.append([1, label, *(label * s for _, s in chosen)])
                y.append(label)
                weight.append(orders / (2 * K * len(others) ** (L - 2)))
                hard.append(1 + sum(s for _, s in chosen) <= 0)
                consistent.append(all(s == 1 for _, s in chosen))
    weight = np.array(weight)
    of_kind = {name: np.array(members) / weight[members].sum() for name, members in
               (("consistent", consistent), ("conflicting", hard))}  # fmt: skip
    right = [(1 + label) // 2 for label in y]
    return fs.Samples(weight=weight, keys=keys, signs=signs, y=y, right=right, hard=hard, **of_kind)
