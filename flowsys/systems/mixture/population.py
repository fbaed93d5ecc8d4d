"""The data of the mixture task: all samples of small sizes, and their orbits for every size.

A sample has label y, group k, the tokens c_k and y·v_k, and L - 2 distractors ±v_j of other groups (Sec. 2). By
symmetry y = +1 and k = 1, and only how often each other group occurs with either sign matters: an orbit is a multiset
of nonzero pairs (a, b), copies of +v_j and of -v_j, with Σ(a + b) = L - 2 and probability

    Pr = (K-1)! / ((K-1-r)! Π mult!) · (L-2)! / Π(a! b!) / (2(K-1))^(L-2)       for r groups that occur.
"""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial, perm, prod
from types import SimpleNamespace
from typing import Any

import numpy as np

import flowsys as fs

Pair = tuple[int, int]


def kinds(weight: np.ndarray, n_plus: np.ndarray, n_minus: np.ndarray) -> dict[str, Any]:
    """What samples weigh in the mean over their kind, from how many distractors have the label's sign or the other.

    Consistent: every distractor has the label's sign. Conflicting: y times the sum of all v-signs is ≤ 0; for L = 3 the
    kinds of the paper, of which Algorithm 1 trains on the second in stage 2.
    """
    members = {"consistent": n_minus == 0, "conflicting": 1 + n_plus - n_minus <= 0}
    return {kind: of_kind / weight[of_kind].sum() for kind, of_kind in members.items()}


def samples(p) -> fs.Samples:
    """Every sample, distractors as multisets, with its probability; token c_k has index k, v_k has K + k.

    `hard` marks the population of stage 2, `right` the samples whose label has the sign of the positive head.
    """
    K, D, rows = p.K, p.L - 2, []
    for k in range(K):
        others = [(j, s) for j in range(K) if j != k for s in (1, -1)]
        for chosen in combinations_with_replacement(others, D):
            groups, of = zip(*chosen)
            many = factorial(D) // prod(map(factorial, Counter(chosen).values()))
            for label in (1, -1):
                at = [k, K + k, *(K + j for j in groups)]
                rows.append((at, [1, label, *(label * s for s in of)], label, many, of.count(1), of.count(-1)))
    keys, signs, y, orders, n_plus, n_minus = map(np.array, zip(*rows))
    weight = orders / (2 * K * (2 * (K - 1)) ** D)
    of_kind: dict[str, Any] = kinds(weight, n_plus, n_minus)
    return fs.Samples(weight=weight, keys=keys, signs=signs, y=y, right=(1 + y) // 2, hard=of_kind["conflicting"] > 0,
                      **of_kind)  # fmt: skip


def _multisets(size: int, parts: int, smallest: Pair = (0, 1)):
    """All nondecreasing tuples of at most `parts` nonzero pairs whose entries sum to `size`."""
    if size == 0:
        yield ()
    elif parts > 0:
        for pair in [(a, b) for a in range(size + 1) for b in range(size - a + 1) if (a, b) >= smallest]:
            for rest in _multisets(size - sum(pair), parts - 1, pair):
                yield (pair, *rest)


@lru_cache(maxsize=64)
def orbits(K: int, L: int) -> dict[tuple[Pair, ...], Fraction]:
    """All sample orbits, by how often other groups' signals occur with each sign, with their exact probabilities."""
    found, D = {}, L - 2
    for pairs in _multisets(D, K - 1):
        ways = Fraction(perm(K - 1, len(pairs)), prod(map(factorial, Counter(pairs).values())))
        arrangements = Fraction(factorial(D), prod(factorial(a) * factorial(b) for a, b in pairs))
        found[pairs] = ways * arrangements / (2 * (K - 1)) ** D
    return found


def representatives(K: int, L: int) -> SimpleNamespace:
    """One sample of every orbit, of label +1 in the first group, read as the declared ones."""
    of_others = [[(K + j, sign) for j, pair in enumerate(pairs, 1) for sign, copies in zip((1, -1), pair)
                  for _ in range(copies)] for pairs in orbits(K, L)]  # fmt: skip
    rows = np.array([[(0, 1), (K, 1), *others] for others in of_others])
    return SimpleNamespace(keys=rows[..., 0], signs=rows[..., 1])


def orbit_tables(K: int, L: int, hard: bool = False) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """The tables and the link of the limit's program: sample orbits, distractor queries, who contains which.

    The loss weighs orbits by their probability; `hard`: by that among the conflicting ones, the population of stage 2.
    """
    probability = np.array(list(orbits(K, L).values()), dtype=float)
    n_plus, n_minus = np.array([np.sum(pairs, axis=0) for pairs in orbits(K, L)], dtype=float).T
    contains = [((sign, a, b, n_plus[row], n_minus[row]), row, copies) for row, pairs in enumerate(orbits(K, L))
                for a, b in pairs for sign, copies in ((1, a), (-1, b)) if copies]  # fmt: skip
    column = {query: number for number, query in enumerate(dict.fromkeys(query for query, _, _ in contains))}
    link = np.zeros((len(probability), len(column)))
    for query, row, copies in contains:
        link[row, column[query]] += copies
    names = ("query_sign", "own_plus", "own_minus", "query_n_plus", "query_n_minus")
    of_kind = kinds(probability, n_plus, n_minus)
    weight = probability * (of_kind["conflicting"] if hard else 1)
    tables = {
        "queries": dict(zip(names, np.array(list(column), dtype=float).T)),
        "samples": {"weight": weight, "probability": probability, "n_plus": n_plus, "n_minus": n_minus, **of_kind},
    }
    return tables, {"queries_to_samples": link}
