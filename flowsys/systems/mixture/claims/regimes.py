"""Where the paper states what it states: its conditions, the path into them, and the levels that can be asked for.

Unless a claim says otherwise K = 2, L = 3, b = 1/2, T_1 = 20, s_star = 1, ω = 0.1, at infinite width (L3).
"""

from flowsys.claims import Condition, Path, Regime, equals
from flowsys.systems.mixture.limits import onset_of_group_signal

OMEGAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
SMALLER_OMEGA = Path("omega", OMEGAS)

TRAINED = "L0 L2 L3"
"""Levels of a claim that reads observables along a run."""
FLOWS = "L2 L3"
"""Levels of a claim that reads rates, which descent does not record, or margins late in stage 3."""

AFTER_ONSET = Condition("T_1 ≥ T_0.5", lambda p: (p.T_1, onset_of_group_signal(p.K, p.b)))
"""What Corollary D.7 asks of T_1: the neurons have found the group signal."""
SMALL_START = Condition("omega ≤ c", lambda p, c: (c, p.omega))
SIZES = Regime(equals("K", 2), equals("L", 3))
"""The sizes that the paper's proofs are for."""
TWO_GROUPS = Regime(*SIZES.conditions, AFTER_ONSET, SMALL_START, c=1.0)
"""Condition 1, whose C is some constant below 1, at those sizes."""
BOUNDED_SCORES = Regime(*TWO_GROUPS.conditions, Condition("s_star ≤ C", lambda p, C: (C, p.s_star)), c=1.0, C=4.0)
"""The same in stage 2, where Lemmas E.1 to E.4 have scores below a constant."""
ANY_GROUPS = Regime(equals("L", 3), AFTER_ONSET, SMALL_START, c=1.0)
"""Our laws for one distractor, at every K."""
