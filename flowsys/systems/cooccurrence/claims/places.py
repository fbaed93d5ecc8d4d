"""Where the claims are measured: Condition 1 with its hidden constants, the paths into it, and the window of phase 2.

Everything is told in the paper's own parameters (mode `condition_1`): σ_0 = κ/(√(L m) log^logs m), σ_1 = 1/√m1,
s = 1/√m, so that σ_0² m = κ² log^(-2 logs) m / L and σ_1² m m1 = m. Phase 1 ends at T_1 = C_{T_1}/(σ_1² m m1) with a
sufficiently large constant (Definition E.2), here 40; phase 2 is followed to τ = 10^6, in units of 1/(σ_1² m m1).
"""

from math import log

import numpy as np

from flowsys.claims import Condition, Kit, Path, Regime
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.cooccurrence.max_margin import MaxMargin, max_margin
from flowsys.systems.cooccurrence.sentences import shares_of

MODE = "condition_1"
LATE = 1e6
"""The end of phase 2 in the measurements, in units of 1/(σ_1² m m1)."""
PROPORTIONS = (1 / 2, 1 / 6, 1 / 6, 1 / 6)
PLACE = {"m": 4096.0, "m1": 16, "L": 5, "n": 600, "C_T_1": 40.0}
ENOUGH_SAMPLES = Condition("n ≥ c L² log²L", lambda p, c: (p.n, c * p.L**2 * log(p.L) ** 2))
WIDE = Condition("m ≥ max(m1, L²)", lambda p: (p.m, max(p.m1, p.L**2)))
LATE_T_1 = Condition("C_{T_1} ≥ 40", lambda p: (p.C_T_1, 40.0))
SMALL_START = Condition("σ_0 √(L m) ≤ k", lambda p, k: (k, p.kappa / max(log(p.m), 1.0) ** p.logs))
IN_PROPORTION = Condition("shares 1/2, 1/6, 1/6, 1/6",
                          lambda p: (1.0, 0.0 if np.allclose(shares_of(p), PROPORTIONS) else 2.0))  # fmt: skip
"""Assumption 2.3 (i)."""
SMALLER_NEURONS = Condition("σ_1 ≥ σ_0", lambda p: (p.m1**-0.5, sigma_0_squared(p) ** 0.5))
"""Condition 1, where m ≥ Ω̃(m1): without it the values' start, m1 α = σ_0² m m1, outweighs c = σ_1² m m1."""
CONDITION_1 = Regime(ENOUGH_SAMPLES, WIDE, IN_PROPORTION, c=1.0)
PHASES = Regime(ENOUGH_SAMPLES, WIDE, LATE_T_1, IN_PROPORTION, c=1.0)
SMALLER = Regime(*PHASES.conditions, SMALLER_NEURONS, c=1.0)
STARTS = Regime(ENOUGH_SAMPLES, WIDE, SMALL_START, IN_PROPORTION, c=1.0, k=1.0)

MORE_SAMPLES = Path("n", (180.0, 600.0, 6000.0, 60000.0))
WIDER = Path("m", (256.0, 1024.0, 4096.0, 16384.0, 65536.0))
FLOWS = "L3"


def enough_samples(p) -> float:
    """n = L² log²m, in sixes: the logarithms of Condition 1 are those of m."""
    return float(6 * np.ceil(p.L**2 * log(p.m) ** 2 / 6))


def value_scale(p) -> float:
    """(σ_0² + σ_1²) m of the start."""
    return sigma_0_squared(p) * p.m + p.m / p.m1


def sigma_0_squared(p) -> float:
    return (p.kappa / max(log(p.m), 1.0) ** p.logs) ** 2 / (p.L * p.m)


def score_scale(p) -> float:
    """Theorem 3.3's scale: σ_0² m/(√m L σ_1² m m1) + σ_0² √m/(√m σ_1² m m1)."""
    return sigma_0_squared(p) * p.m / (p.m**0.5 * p.L * p.m) + sigma_0_squared(p) / p.m


def phase_1(run: Kit, n: int = 80, **options) -> Trajectory:
    """From the start to T_1 = C_{T_1}/(σ_1² m m1)."""
    return run.course(0.0, "T_1_clock", n, **options)


def phase_2(run: Kit, n: int = 100, end: float = LATE, **options) -> Trajectory:
    """From T_1 on, by the logarithm of time."""
    first = run.reached("T_1_clock", **{name: x for name, x in options.items() if name == "variant"})
    return run.course(np.geomspace(first, max(end / run.p.m, 2 * first), n), **options)


def separator(run: Kit) -> MaxMargin:
    """The max-margin direction of a place."""
    return max_margin(run.p.n, run.p.L, shares_of(run.p))
