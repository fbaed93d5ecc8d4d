"""Lemma 5: what Assumption 2 implies as n → ∞, and from which n on. Numbers are handled by their logarithms.

ε = 1, δ = 0.1, k = n/log⁴(n/δ) unless the lower end is worse; with L = log(n/δ): d = kL^1.1, m = 2k, B = 1.28e7 nL²⁰.
"""

from math import exp, log

import numpy as np
from scipy.optimize import brentq

from flowsys.claims import Claim, Identity, Inequality, Kit, Sides
from flowsys.systems.parity.claims.regimes import DELTA, FARTHEST

LOG_C_2 = log(1.28e7)
SLOWEST = 0.05
"""Power of 1/log(n/δ) at which the slowest expressions of the lemma (5.2, 5.3b) tend to 0."""


def expressions(log_n: float, power: float = 4.0) -> dict[str, float]:
    """log of (left side over right side) of each condition of Lemma 5 and of what Lemma 10 takes from it."""
    L = log_n - log(DELTA)
    k = log_n - power * log(L)
    m, d, B = k + log(2), k + 1.1 * log(L), LOG_C_2 + log_n + 20 * log(L)
    all_ = log(300) + m + log_n + B - log(DELTA)  # log(300mnB/δ)
    η = m + B / 2 - log(100) - log(L)
    return {
        "5.1 d/n": d - log_n,
        "5.1 B/(nk)": B - log_n - k,
        "5.2": 0.5 * (log(2) + k - d + log(B + m + log_n - log(DELTA))),
        "5.3a": 0.5 * (k + log(all_) - B),
        "5.3b": 0.5 * (log(2) + k - d + log(log(400) + m + log_n - log(DELTA))),
        "5.3c": 0.5 * (log(2) + log_n + k + log(all_) - B - d),
        "5.4 noise": η - (log(3 / 80) + m + B / 2 - 0.5 * log(log(300) + log_n + B - log(DELTA))),
        "5.4 drift": η - (m + log_n - log(120)),
        "5.5": 2 * log(all_) + 1.5 * log_n + 0.5 * k - 1.5 * d - 0.5 * B,
        "5.6": log(40 * log_n) - (2 * η - log(256) - m - 2 * log_n),
        "5.7": log(4 / 3) + k - η,
        "5.8": log(2) + η - (log(20 / 3) + log_n + k),
        "Lemma 10": 0.5 * (log(4) + k - d + log(log(100) + B + m - log(DELTA))) - log(0.01),
    }


def ratios(run: Kit, power: float = 4.0, faster: float = 0.0) -> dict[str, Sides]:
    """Each expression of a limit over the slowest of the orders that the proof gives."""
    run.note(power=SLOWEST)
    found, L = expressions(run.p.log_n, power), run.p.log_n - log(DELTA)
    limits = [name for name in found if name not in ("5.4 noise", "5.6", "Lemma 10")]
    return {name: Sides(exp(min(found[name], 50.0)), L ** (-SLOWEST - faster)) for name in limits}


def least_n(name: str) -> float:
    """log10 of the n from which a condition holds."""
    condition = lambda log_log_n: expressions(exp(log_log_n))[name]
    grid = np.linspace(log(20.0), log(FARTHEST), 4000)
    broken = np.flatnonzero([condition(x) >= 0 for x in grid])
    if not len(broken):
        return 0.0
    if broken[-1] == len(grid) - 1:
        return np.inf
    return exp(brentq(condition, grid[broken[-1]], grid[broken[-1] + 1])) / log(10)


def thresholds(run: Kit, shift: float = 0.0) -> dict[str, Sides]:
    """log10 of the least n of what is used as an inequality, against 58, 43 and 38."""
    found = {name: least_n(name) for name in ("5.1 B/(nk)", "5.4 drift", "5.8")}
    run.note(least={**found, "Lemma 10": least_n("Lemma 10")}, farthest=FARTHEST,
             lemma_10=exp(expressions(FARTHEST)["Lemma 10"]) * 0.01)  # fmt: skip
    return {name: Sides(found[name], x + shift) for name, x in zip(found, (58.0, 43.0, 38.0))}


CLAIMS = (
    Claim("lemma_5", "Lemma 5", "under Assumption 2 its conditions hold as n → ∞", Inequality(constant=4.0), ratios,
          at=[{"log_n": x} for x in (1e3, 1e6, 1e9, 1e12)], takes="", control={"faster": 0.3},
          note="each expression against log(n/δ) to the power -{power:g}, at which the slowest of them vanish"),
    Claim("lemma_5_least_n", "Lemma 5 [ours]",
          "B < nk, 5.4 and 5.8 hold from n = 10^58, 10^43 and 10^38 on, and Lemma 10's < 0.01 nowhere up to log n = "
          "10^12",
          Identity(1.0, relative=False), thresholds, sharpens="lemma_5", takes="", control={"shift": 5.0},
          note="powers of ten of the least n: {least}; what Lemma 10 wants small is still {lemma_10:.2g} at log n = "
          "{farthest:.0e}"),
)  # fmt: skip
