"""Where the paper states what it states: groups, the logit clip, and the paths d → ∞, C_B → ∞, n_x → ∞.

Attention is measured over the ideal layer (Eqs. 17, 18 with the exact ratio C_α), with n_x = ∞ unless a claim follows
n_x; time is τ = t / n_x. The loss has a floor d^(1 - C_B), so that d^(C_B - 1) is the scale of time late in training.
Training for a time "poly(d)" follows τ = d^(C_B - 1 + power), where `power` is what a claim adds to that scale.
"""

from math import factorial, log

from flowsys.claims import Condition, Kit, Path, Regime
from flowsys.systems.lego.groups import sizes


def _is_transitive(p) -> tuple[float, float]:
    n_g, n_y = sizes(p.group)
    return 1.0, 0.0 if n_g == n_y else 2.0


def _is_symmetric(p) -> tuple[float, float]:
    n_g, n_y = sizes(p.group)
    return 1.0, 0.0 if n_g == factorial(n_y) else 2.0


TRANSITIVE = Condition("|G| = |Y|", _is_transitive)
"""Assumption 4.1; its n_y between log log d and log d is met by every group at the sizes measured, up to constants."""
SYMMETRIC = Condition("G = Sym(Y)", _is_symmetric)
"""Assumption 5.1."""
CLIP = Condition("C_B ≥ C", lambda p, C: (p.C_B, C))
"""Assumption 3.4 asks for a sufficiently large C_B."""

SIMPLY_TRANSITIVE = Regime(TRANSITIVE, CLIP, C=3.0)
"""Stage 2.1 needs the spurious logit B/3 above log d: C_B > 3."""
SYMMETRY = Regime(SYMMETRIC, Condition("C_B > 3.025", lambda p: (p.C_B, 3.025)))
"""The stop d^(3.025 - C_B) of Appendices E and F has to lie below 1."""
LARGE_CLIP = Regime(SYMMETRIC, CLIP, C=16.0)
"""Theorem 5.1, whose proof asks for a small constant 20.16 c_1, c_1 = 1.005 / (2 C_B)."""

ANYWHERE = Regime()
"""No condition: where a control leaves the regime."""

SIZES = (1e2, 1e3, 1e4, 1e5, 1e6)
LARGER_D = Path("d", SIZES)
MUCH_LARGER_D = Path("d", (1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12))
LARGER_CLIP = Path("C_B", (6.0, 8.0, 12.0, 16.0, 20.0, 24.0))
MORE_VARIABLES = Path("n_x", (10, 20, 40, 80, 160, 320))
SYMMETRIES = ("S3", "S4", "S5")
LAYER_SHAPE = "rho q bias"
LONG = 1e100
"""The horizon of runs that end at an event of their own."""


def late_time(p, power: float) -> float:
    """τ = d^(C_B - 1 + power)."""
    return float(p.d) ** (float(p.C_B) - 1 + power)


def late(run: Kit, power: float, *observe: str, **parameters) -> dict[str, float]:
    """Observables at τ = d^(C_B - 1 + power)."""
    there = run.at(t_max=LONG, **parameters)
    return there.values(late_time(there.p, power), observe=observe)


def c_2(C_B: float) -> float:
    """c_2 = log d / (4.02 B) of Lemmas E.34 and F.15."""
    return 1 / (4.02 * C_B)


def in_powers_of_d(quantity: float, d: float) -> float:
    """-log(quantity) / log d: what is 1/poly(d) has it bounded away from 0."""
    return -log(quantity) / log(d)
