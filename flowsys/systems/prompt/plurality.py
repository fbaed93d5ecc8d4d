"""Exact plurality: the probability that the correct label wins a vote, and that a chain of votes is right throughout.

n labels are drawn from one row of a transition matrix; the correct one wins if no other is more frequent, ties
shared. Conditioned on their sum, multinomial counts are independent Poisson ones, so P(correct count = c, correct
wins) is a coefficient of a product of truncated Poisson series. A tie between m + 1 labels counts 1/(m + 1) = ∫ s^m
ds, s marking every tied label: a polynomial in s of degree < M', which Gauss-Legendre nodes integrate exactly. All
terms are positive, so nothing cancels.

With uniform errors the number of examples at the right pattern is Markov as long as the chain of votes is right,
which gives the CoT success in O(K l³) operations; l is limited so that the Poisson weights stay in range.
"""

from functools import lru_cache, reduce
from math import nan
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from flowsys.errors import InputError
from flowsys.model.values import Named
from flowsys.systems.prompt.examples import n_matching_examples

N_MOST_EXAMPLES = 600


def win_table(row: Any, correct: int, n_most: int) -> np.ndarray:
    """P[n, c]: of n ≤ n_most labels drawn from `row`, exactly c are `correct` and `correct` wins."""
    row = np.asarray(row, dtype=float)
    if n_most > N_MOST_EXAMPLES or row.min() < 0:
        raise InputError(f"a vote of n = {n_most} with least probability {row.min():g}: n must be at most "
                         f"{N_MOST_EXAMPLES}, and no probability negative.")  # fmt: skip
    each, multiplicity = np.unique(np.delete(row, correct), return_counts=True)
    j, rate = np.arange(n_most + 1), max(n_most, 1)
    poisson = lambda p: np.exp(xlogy(j, rate * p) - rate * p - gammaln(j + 1))
    right, others, series = poisson(row[correct]), poisson(row.sum() - row[correct]), [poisson(p) for p in each]
    table = np.zeros((n_most + 1, n_most + 1))
    for c in range(n_most + 1):
        is_sure = c > n_most // 2  # no other label can be as frequent
        rest = others[: n_most - c + 1] if is_sure else _not_above(c, series, multiplicity, n_most - c)
        table[c:, c] = right[c] * rest
    return table / poisson(1.0)[:, None]


_nodes = lru_cache(np.polynomial.legendre.leggauss)


def _not_above(c: int, series: list[np.ndarray], multiplicity: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients 0..degree of ∫₀¹ Π_i (Σ_{j<c} u_ij t^j + s u_ic t^c)^(m_i) ds: other labels at most c times each."""
    n_others = int(multiplicity.sum())
    n_tied = n_others if c == 0 else min(n_others, degree // c)
    total = np.zeros(degree + 1)
    for node, weight in zip(*_nodes(n_tied // 2 + 1)):
        scaled = np.append(np.ones(c), (node + 1) / 2)
        factors = [_power(u[: c + 1] * scaled, m, degree) for u, m in zip(series, multiplicity)]
        product = reduce(lambda f, g: np.convolve(f, g)[: degree + 1], factors)
        total[: len(product)] += weight / 2 * product
    return total


def _power(f: np.ndarray, n: int, degree: int) -> np.ndarray:
    """f to the n, to this degree."""
    if n == 1:
        return f
    half = _power(f, n // 2, degree)
    square = np.convolve(half, half)[: degree + 1]
    return np.convolve(square, f)[: degree + 1] if n % 2 else square


class Chains(NamedTuple):
    """Chains of K votes among up to n_most examples, every step right with p = τ^(1/K) and else uniform on M'."""

    K: int
    alpha_test: float
    wins: np.ndarray  # (n_most + 1, n_most + 1): `win_table` of a step
    strays: np.ndarray  # (n_most + 1, n_most + 1): row n is the law of how many of n other examples come to z_k

    @classmethod
    def of(cls, setup: Named, n_most: int) -> "Chains":
        K, n, n_others = setup["K"], np.arange(n_most + 1), setup["M_test"] - 1
        p = setup["tau"] ** (1 / K)
        row, stray = [p, *[(1 - p) / n_others] * n_others], binom.pmf(n[None, :], n[:, None], (1 - p) / n_others)
        return cls(K, setup["alpha_test"], win_table(row, 0, n_most), stray)

    def right_through(self, n_examples: int) -> np.ndarray:
        """P(v_1..v_k all right), k = 1..K."""
        law = np.zeros(n_examples + 1)  # of the number of examples at z_k, with the votes right so far
        law[n_matching_examples(self.alpha_test, n_examples)] = 1.0
        success = np.empty(self.K)
        for k in range(self.K):
            after = np.zeros(n_examples + 1)
            for n in np.flatnonzero(law):
                others = n_examples - n
                after += np.convolve(law[n] * self.wins[n, : n + 1], self.strays[others, : others + 1])
            law = after
            success[k] = law.sum()
        return success


def chain_success(setup: Named) -> float:
    """P(all K steps right) with uniform errors; nan beyond what is counted."""
    n = setup["l_ts"]
    return nan if n > N_MOST_EXAMPLES else Chains.of(setup, n).right_through(n)[-1]


def examples_needed(setup: Named, n_most: int = 150) -> float:
    """The least l_ts with P(all K steps right) ≥ `success`, at least one example matching; nan if above n_most."""
    chains, matching = Chains.of(setup, n_most), lambda n: round(setup["alpha_test"] * n)
    enough = (n for n in range(1, n_most + 1) if matching(n) and chains.right_through(n)[-1] >= setup["success"])
    return float(next(enough, nan))
