"""Where the proofs work: many patterns (Eqs. 163–164), and a share of matching examples away from 1 (App. C.1)."""

from math import ceil

from flowsys.claims import Condition, Path, Regime

SQUARED = {"T_3_rule": "squared"}
"""T_3 at (1 - p)² = ε, as (54) has it."""


def proofs(c: float = 1.0, gap: float = 0.1, *more: Condition) -> Regime:
    """M ≥ c K⁴/α, which has α M ≥ c K⁴ (nothing is learnt below α M ≈ 0.7), and α ∈ (0, 1 - gap]: some constants."""
    return Regime(
        Condition("M ≥ c K⁴/α", lambda p, c: (p.M, c * p.K**4 / p.alpha)),
        Condition("1 - α ≥ gap", lambda p, gap: (1 - p.alpha, gap)),
        *more,
        c=c,
        gap=gap,
    )


PROOFS = proofs()
PATTERNS = proofs(1.0, 0.1, Condition("p_2 ≥ α", lambda p: (p.p_2, p.alpha)))
"""The same, T_2 at an attention that positions alone, which give α of it to matching examples, do not reach."""
FEW_MATCHING = proofs(1.0, 0.1, Condition("ε ≥ α", lambda p: (p.epsilon, p.alpha)))
"""The same, where 1/α is the larger of 1/α and 1/ε in (18): elsewhere T hardly knows α."""
LEARNT = Regime(Condition("α M ≥ c", lambda p, c: (p.alpha * p.M, c)), c=1.0)
"""Where anything is learnt at all (it is not below α M ≈ 0.7): asked of what we add to the paper."""


def many_patterns(times: float = 1.0):
    """M as a function of K and α: `times` the least the proofs ask for."""
    return lambda p: ceil(times * p.K**4 / p.alpha)


def _deeper(*margins: float) -> Path:
    return Path("margin", margins, M=lambda p: ceil(p.margin * p.K**4 / p.alpha))


INTO_REGIME, FAR_INTO_REGIME = _deeper(1, 3, 10, 30, 100), _deeper(1, 10, 100, 1e3, 1e4, 1e5, 1e6)
"""M = margin · K⁴/α, deeper and deeper into the regime."""
