"""The conditions of the theorems in numbers, at δ = 0.1, and the three steps of sampled neurons at a claim's sizes."""

from functools import lru_cache
from math import log

from flowsys.claims import Condition, Kit
from flowsys.errors import InputError
from flowsys.systems.parity.claims.population_map import PopulationMap, drawn_counts, population_map, usable_rates

DELTA = 0.1
MOST_POSITIONS = 2 * 10**6
"""Positions that are followed one by one: more than the paper's range has at any n up to 10^12."""
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

DRIFT = Condition("η_0 ≤ c_0 mnε", lambda p, c_0: (c_0, 4 * p.rho))
"""Lemma 5.4, printed with 1/120. With 4/3 the inputs of neurons move by ε in three steps: gates flip beyond."""
FIRST_FLIP = 4 / 3


def sizes(run: Kit) -> tuple[int, int]:
    """n and k; refused if the positions of the chain cannot be followed one by one."""
    n, k = run.p.n, run.p.k
    if k > MOST_POSITIONS:
        raise InputError(f"k = {k} is not allowed here: positions are followed one by one, so k <= {MOST_POSITIONS}.")
    return n, k


def three_steps(run: Kit, per_secret: float = 2.0) -> PopulationMap:
    """The population map of sampled neurons, m = 2k, η_0 = η_1 = 4ρmnε, and Lemma 25's η_2 = 4mε/3."""
    n, k = sizes(run)
    return _mapped(n, k, max(1, round(per_secret * k)), run.p.epsilon, run.p.rho, run.p.seed)


@lru_cache(maxsize=4)
def _mapped(n: int, k: int, m: int, epsilon: float, rho: float, seed: int) -> PopulationMap:
    rates = usable_rates(n, m, epsilon, rho, eta_2=4 * m * epsilon / 3)
    return population_map(n, drawn_counts(seed, k, m), m, m, epsilon, rates)
