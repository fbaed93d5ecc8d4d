"""Stage 1, positions: the gradients of Lemma F.5 and the time of Lemma F.6."""

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from flowsys.claims import (
    Claim,
    Erratum,
    Identity,
    Inequality,
    Kit,
    Limit,
    Order,
    Path,
    Provable,
    Sides,
    Sign,
    signs_on,
)
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.prompt import planar
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.claims.regimes import INTO_REGIME, PATTERNS, PROOFS, many_patterns, proofs
from flowsys.systems.prompt.model import MASSES

GAMMAS = tuple(f"Gamma_{kind}" for kind in MASSES)
SIZES = [{"K": 2, "alpha": 0.4}, {"K": 3, "alpha": 0.4}, {"K": 2, "alpha": 0.2}, {"K": 3, "alpha": 0.8}]
UP_TO_HALF = [*SIZES[:3], {"K": 3, "alpha": 0.5}, {"K": 5, "alpha": 0.5}, SIZES[3]]
LONGEST = 10.0
"""How far beyond the window with C = 1 is looked."""


def window(p) -> float:
    """α^-2 K³ log(K/ε), which (34) calls T_1."""
    return float(printed.stage_1_time(p.epsilon_1, p.K, p.alpha))


def gradients(run: Kit, sign: float = 1.0) -> dict[str, np.ndarray]:
    """Γ of the four kinds of columns to the end of stage 1, or of the lemma's window if that is earlier."""
    there = run.course(0.0, min(run.time("T_1"), window(run.p)), 60, observe=GAMMAS)
    return {name: sign * there[name] for name in GAMMAS}


def along_window(run: Kit, longest: float = LONGEST) -> Trajectory:
    masses = tuple(f"mass_same_same_{k}" for k in range(1, run.p.K + 1))
    return run.course(np.geomspace(1.0, longest * window(run.p), 160), observe=(*GAMMAS, *masses))


def bounds_of(run: Kit, there: Trajectory, kind: str) -> printed.Bounds:
    """(30)–(33), averaged over prompts as the lemma does: over the query's step."""
    p = np.array([there[f"mass_same_same_{k}"] for k in range(1, run.p.K + 1)])
    lower, upper = printed.stage_1_bounds(p, run.p.M, run.p.K, run.p.alpha)[kind]
    return printed.Bounds(None if lower is None else lower.mean(axis=0), upper.mean(axis=0))


def until_broken(run: Kit, kind: str, sign: float = 1.0, longest: float = LONGEST) -> dict[str, float]:
    """From t = 1 on, how long each bound on Γ is kept; 0 if it is broken at once."""
    there = along_window(run, longest)
    run.note(longest=longest)
    lower, upper = bounds_of(run, there, kind)
    gamma = sign * there[f"Gamma_{kind}"]
    found = {} if lower is None else {"lower": kept_until(there.t, lower <= gamma)}
    return found | {"upper": kept_until(there.t, gamma <= upper)}


def kept_until(t: np.ndarray, is_kept: np.ndarray) -> float:
    """The last time before something is broken; 0 if it is at once."""
    rows = np.flatnonzero(~is_kept)
    return float(t[-1]) if not len(rows) else float(t[rows[0] - 1]) if rows[0] else 0.0


def _bound(number: int, kind: str, statement: str, **more) -> Claim:
    declared: dict[str, Any] = {"at": SIZES, "regime": PROOFS, "control": {"sign": -1.0}} | more
    return Claim(
        f"F.5_{number}", f"Lemma F.5, Eq. ({number})", f"{statement} for 1 ≤ t ≤ O(α^-2 K³ log(K/ε))",
        Order("Ω", window), partial(until_broken, kind=kind), path=INTO_REGIME, levels="L3", takes="epsilon_1",
        note="at a fixed ε: over its scale is the largest C of the window, looked for up to {longest:g}", **declared,
    )  # fmt: skip


def largest_share(run: Kit, power: float = 2.0) -> Sides:
    """The α at which (32)'s lower bound begins above Γ_ds, and that of 1 - 1/K = (1 - α/K)² (1 + α²/K²)."""
    K, steps = run.p.K, [f"mass_same_same_{k}" for k in range(1, run.p.K + 1)]

    def margin(alpha: float) -> float:
        there = run.at(alpha=alpha).values(0.0, observe=("Gamma_other_same", *steps))
        p = np.array([there[name] for name in steps])
        return there["Gamma_other_same"] - printed.stage_1_bounds(p, run.p.M, K, alpha)["other_same"].lower.mean()

    of_limit = lambda alpha: (1 - alpha / K) ** power * (1 + (alpha / K) ** 2) - (1 - 1 / K)
    return Sides(*(brentq(f, 0.1, 0.99, xtol=1e-10) for f in (margin, of_limit)))


def stage_1_time(run: Kit, power: float = 0.0) -> float:
    """T_1: attention on other steps falls to ε; the control weighs it."""
    return run.time("T_1") * run.p.K ** (3 * power) / run.p.alpha ** (2 * power) / run.p.epsilon_1**power


def against_quadrature(run: Kit, shift: float = 0.0) -> Sides:
    """T_1 at many patterns, and the quadrature of stage 1."""
    p = run.p
    return Sides(run.time("T_1"), planar.stage_1_time(p.epsilon_1, p.K, p.alpha + shift))


def over_asymptote(run: Kit, shift: float = 0.0) -> float:
    """T_1 over (K-1)/(α (1-α) ε)."""
    p = run.p
    return run.time("T_1") / planar.stage_1_time_asymptote(p.epsilon_1, p.K, p.alpha + shift)


def order_of_stages(run: Kit, swap: bool = False) -> Sides:
    """When attention has left other steps, and when half of it is on the query's pattern too."""
    times = run.time("T_1"), run.time("T_2")
    run.note(T_1=times[0], T_2=times[1])
    return Sides(*(times[::-1] if swap else times))


def purity_gained(run: Kit, when: str | float = "T_1") -> float:
    """p/(p + q) - α at the end of stage 1: what of the patterns is learnt by then."""
    return run.values(when, observe=("purity",))["purity"] - run.p.alpha


def score_of_matching_column(run: Kit, when=window) -> float:
    """p̃ᵀ W p̃ of a column of the query's pattern and step at t = T_1 of (34), least over steps."""
    K = run.p.K
    names = ("A_s", "B_d", *(f"H_{k}{k}" for k in range(1, K + 1)))
    there = run.values(when(run.p), observe=names)
    return there["A_s"] + there["B_d"] + min(there[f"H_{k}{k}"] for k in range(1, K + 1))


POINTS = [
    {"epsilon_1": e, "K": K, "alpha": a, "M": 10**5}
    for e, K, a in ((0.1, 3, 0.4), (0.01, 3, 0.4), (0.1, 2, 0.4), (0.1, 4, 0.4), (0.03, 3, 0.1), (0.1, 3, 0.8),
                    (0.03, 2, 0.2))
]  # fmt: skip
EPSILONS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)

CLAIMS = [
    Claim("F.5_signs", "Lemma F.5", "in stage 1 Γ_ss, Γ_ds < 0 < Γ_sd, Γ_dd",
          Sign(dict(zip(GAMMAS, (-1, 1, -1, 1))), strict=True), gradients,
          at=[{"K": 2, "alpha": 0.4, "M": 400}, {"K": 3, "alpha": 0.4, "M": 2100}, {"K": 2, "alpha": 0.2, "M": 800},
              {"K": 3, "alpha": 0.8, "M": 1100}, {"K": 2, "alpha": 0.8, "M": 2000}, {"K": 4, "alpha": 0.4, "M": 6500}],
          regime=proofs(10.0), what="proof step", levels="L3", takes="M K alpha", control={"sign": -1.0},
          provable=Provable(signs_on("[0, T_1]", dict(zip(GAMMAS, (-1, 1, -1, 1))))),
          note="read off the leading terms of the bounds; the last of them to turn is Γ_sd, where patterns win"),
    _bound(30, "same_same", "the upper bound on Γ_ss"),
    _bound(31, "same_other", "the bounds on Γ_sd"),
    _bound(32, "other_same", "the bounds on Γ_ds", at=UP_TO_HALF, regime=proofs(gap=0.5),
           control={"regime": proofs(gap=0.1)}),
    Claim("F.5_32_share", "Lemma F.5, Eq. (32)", "as M → ∞ the lower bound holds at t = 0 up to the α of 1 - 1/K = "
          "(1 - α/K)² (1 + α²/K²), which falls to 1/2 as K grows", Identity(1e-4), largest_share,
          at=[{"K": K, "M": 10**7} for K in (2, 3, 4, 5)], sharpens="F.5_32", levels="L3", takes="",
          control={"power": 1.9}),
    _bound(33, "other_other", "the bounds on Γ_dd"),
    Claim("F.5_window", "Lemma F.5 [ours]", "the bounds of Lemma F.5 end at a time that does not know ε",
          Order("O"), partial(until_broken, kind="same_same"),
          at={"K": 3, "alpha": 0.4, "M": 2100}, path=Path("epsilon_1", (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)),
          regime=PROOFS, levels="L3", takes="", control=lambda run: window(run.p),
          note="so at fixed sizes the C of the window falls as log(K/ε) grows"),
    Claim("F.6_K", "Lemma F.6, Eqs. (34), (35)", "attention on other steps is ≤ ε from O(α^-2 K³ log(K/ε)) on: in K",
          Order("O", window), stage_1_time, path=Path("K", (2, 3, 4, 5), M=many_patterns(10.0)), regime=PROOFS,
          levels="L3", takes="alpha", control={"power": 1.0}),
    Claim("F.6_alpha", "Lemma F.6, Eqs. (34), (35)", "the same: in α", Order("O", window), stage_1_time,
          path=Path("alpha", (0.4, 0.2, 0.1, 0.05, 0.02, 0.01), M=many_patterns(10.0)), regime=PROOFS, levels="L3",
          takes="K", control={"power": 1.0}),
    Claim("F.6_epsilon", "Lemma F.6, Eqs. (34), (35)", "the same: in ε", Order("O", window), stage_1_time,
          at={"M": 10**6}, path=Path("epsilon_1", EPSILONS), regime=PROOFS, levels="L3", takes="M K alpha",
          control={"power": -1.0},
          erratum=Erratum("T_1 = α^-2 K³ log(K/ε)", "T_1 = O(K²/(α ε)): a power of 1/ε, as the error that drives "
                          "stage 1 vanishes with the attention it removes", "affects a statement", "T_1_quadrature")),
    Claim("T_1_quadrature", "Lemma F.6", "T_1 is a quadrature as M → ∞: of order K²/α, and K/(α (1-α) ε) as ε → 0",
          Identity(1e-3), against_quadrature, at=POINTS, sharpens="F.6_epsilon", levels="L3", takes="",
          control={"shift": 0.01}),
    Claim("T_1_asymptote", "Lemma F.6", "T_1 α (1-α) ε/(K-1) → 1 as ε → 0", Limit(1.0, 1e-2), over_asymptote,
          at={"M": 10**9}, path=Path("epsilon_1", (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)),
          sharpens="F.6_epsilon", levels="L3", takes="K alpha", control={"shift": 0.05}),
    Claim("Eq55", "Eq. (55)", "at t = T_1 of (34) the score of a matching column is at least of the order of log(K/ε)",
          Order("Ω", lambda p: np.log(p.K / p.epsilon_1)), score_of_matching_column, at={"M": 2100},
          path=Path("epsilon_1", (0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)), regime=PROOFS, levels="L3",
          takes="M K alpha", control={"when": lambda p: 1 / p.epsilon_1},
          erratum=Erratum("score ≥ log(K/ε) at T_1 = α^-2 K³ log(K/ε)", "the score grows like log t, so (55) needs "
                          "t of order 1/ε", "harmless")),
    Claim("two_stages", "Appendix D, Fig. 5", "positions are learnt before patterns: T_1 ≤ T_2", Inequality("<="),
          order_of_stages, at=[{"K": K, "M": 10 * K**4} for K in (2, 3, 4, 5)], regime=PATTERNS, what="proof step",
          levels="L0 L2 L3", takes="M K alpha p_2", control={"swap": True},
          note="at the last place positions take {T_1:.4g}, patterns {T_2:.4g}; at the paper's own sizes they overlap"),
    Claim("purity", "Appendix D, Fig. 5", "what is learnt of the patterns at the end of stage 1 is Θ(K²/M)",
          Order("Θ", lambda p: p.K**2 / p.M), purity_gained, at=[{"K": K} for K in (2, 3, 5)],
          path=Path("M", (1000, 3000, 10**4, 3 * 10**4)), sharpens="two_stages", levels="L3", takes="alpha",
          control={"when": 1e5}),
]  # fmt: skip
