"""The conditions of the theorems in numbers, at δ = 0.1, and the three steps of sampled neurons at a claim's sizes."""

from functools import lru_cache
from math import log

from flowsys.claims import Condition, Kit
from flowsys.systems.parity.claims.population_map import PopulationMap, drawn_counts, population_map, usable_rates

DELTA = 0.1
FARTHEST = 1e12
"""log n up to which the conditions of Lemma 5 are followed."""
LARGE = {"n": 4 * 10**9, "k": 11_000, "epsilon": 1.0}
"""A size inside k ∈ [n/log⁵(n/δ), n/log⁴(n/δ)]."""

SECRETS = (
    Condition("k ≥ n/log⁵(n/δ)", lambda p: (p.k, p.n / log(p.n / DELTA) ** 5)),
    Condition("k ≤ n/log⁴(n/δ)", lambda p: (p.n / log(p.n / DELTA) ** 4, p.k)),
)


def _scores(p) -> float:
    """η_0η_1/(256mn²) with η_0 = η_1 = 4ρmnε and m = 2k: scores on the target after the second step."""
    return p.rho**2 * 2 * p.k * p.epsilon**2 / 16


LOCKS = Condition("η_0η_1/(256mn²) ≥ 40 log n", lambda p: (_scores(p), 40 * log(p.n)))
"""Lemma 5.6."""
ONE_HOT = Condition("η_0η_1/(256mn²) ≥ c log n", lambda p, c: (_scores(p), c * log(p.n)))
"""Scores on the target have to exceed log n to outweigh n other tokens: the printed 40 is what error n^-9 asks for."""


def three_steps(run: Kit, per_secret: float = 2.0) -> PopulationMap:
    """The population map of sampled neurons, m = 2k, η_0 = η_1 = 4ρmnε, and Lemma 25's η_2 = 4mε/3."""
    return _mapped(run.p.n, run.p.k, max(1, round(per_secret * run.p.k)), run.p.epsilon, run.p.rho, run.p.seed)


@lru_cache(maxsize=32)
def _mapped(n: int, k: int, m: int, epsilon: float, rho: float, seed: int) -> PopulationMap:
    rates = usable_rates(n, m, epsilon, rho, eta_2=4 * m * epsilon / 3)
    return population_map(n, drawn_counts(seed, k, m), m, m, epsilon, rates)
