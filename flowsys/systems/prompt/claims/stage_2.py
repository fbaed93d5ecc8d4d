"""Stage 2, patterns: the gradients of Lemma F.7 and the times of the proof of Theorem 1 (G.1)."""

from collections.abc import Callable

import numpy as np

from flowsys.claims import Claim, Condition, Erratum, Inequality, Kit, Limit, Order, Path, Regime, Sides, Sign
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.prompt import planar
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.claims.regimes import FAR_INTO_REGIME, INTO_REGIME, LEARNT, PROOFS, SQUARED, many_patterns
from flowsys.systems.prompt.claims.stage_1 import GAMMAS, LONGEST, kept_until, window
from flowsys.systems.prompt.claims.stage_1 import SIZES as STEPS_AND_SHARES

SIZES = [{"M": 40, "K": 2, "alpha": 0.4}, {"M": 250, "K": 3, "alpha": 0.4}, {"M": 2500, "K": 3, "alpha": 0.4},
         {"M": 2000, "K": 2, "alpha": 0.2}, {"M": 110, "K": 3, "alpha": 0.8}]  # fmt: skip
"""Inside the regime of the proofs."""
LATE = 1e4
"""To this multiple of M stage 2 is followed."""


def late_course(run: Kit, **options) -> Trajectory:
    """From the time at which Lemma F.7 begins, t = T_1 of (34)."""
    begin = window(run.p)
    return run.at(rtol=1e-11).course(np.geomspace(begin, max(10 * begin, LATE * run.p.M), 90), **options)


def matching_gain(run: Kit) -> Sides:
    """-M Γ_ss and p (1-p)²."""
    there = late_course(run, observe=("mass_same_same", *GAMMAS))
    p = there["mass_same_same"]
    return Sides(-run.p.M * there["Gamma_same_same"], p * (1 - p) ** 2, there.t)


def last_time(t: np.ndarray, is_broken: np.ndarray) -> float:
    """The last time at which something is broken; the first of all if it never is, inf if it is to the end."""
    if is_broken[-1]:
        return np.inf
    return float(t[np.flatnonzero(is_broken)[-1]] if is_broken.any() else t[0])


def last_excess(run: Kit, constant: float = 0.5) -> float:
    """The last time at which M |Γ_ds| exceeds ½ p (1-p)²."""
    there = run.at(rtol=1e-11).course(np.geomspace(1.0, LATE * run.p.M, 200), observe=("mass_same_same", *GAMMAS))
    p = there["mass_same_same"]
    share = run.p.M * np.abs(there["Gamma_other_same"]) / (p * (1 - p) ** 2)
    run.note(share_late=float(share[-1]))
    return last_time(there.t, share > constant)


def other_step_gains(run: Kit, factor: float = 1.0) -> dict[str, float]:
    """The largest |Γ_sd| and |Γ_dd| from t = T_1(ε) on."""
    begin = factor * window(run.p)
    there = run.course(np.geomspace(begin, 100 * begin, 40), observe=GAMMAS)
    return {kind: float(np.abs(there[f"Gamma_{kind}"]).max()) for kind in ("same_other", "other_other")}


def time_of(run: Kit, event: str, after: str = "", power: float = 0.0) -> float:
    """A time of the flow (after another one); the control weighs it."""
    weight = (run.p.M / run.p.alpha / run.p.epsilon) ** power
    return (run.time(event) - (run.time(after) if after else 0.0)) * weight


def half_time(run: Kit, power: float = 0.0) -> float:
    return time_of(run, "T_2", "", power)


def rest_time(run: Kit, power: float = 0.0) -> float:
    return time_of(run, "T_3", "T_2", power)


def half_time_over_quadrature(run: Kit, factor: float = 0.0) -> float:
    """T_2 over (M-1)[Φ(1/2) - Φ(α)]; the control has the paper's factor K in it."""
    return run.time("T_2") / planar.stage_2_time(run.p.p_2, run.p.M, run.p.alpha) / run.p.K**factor


def full_time_over_law(run: Kit, factor: float = 0.0) -> float:
    """T_3 over (M-1)/(2ε); the control has the paper's factor K in it."""
    return run.time("T_3") * 2 * run.p.epsilon / (run.p.M - 1) / run.p.K**factor


def score_time(p) -> float:
    """K M/α²."""
    return p.K * p.M / p.alpha**2


def last_low_score(run: Kit, shift: float = 0.0) -> float:
    """The last time at which u(t), here a(t), is below ½ log(η (1-α)² t/(α² K M))."""
    p = run.p
    there = run.course(np.geomspace(1e-3 * score_time(p), 1e4 * score_time(p), 400), observe=("a",))
    return last_time(there.t, there["a"] < printed.pattern_score_bound(there.t, p.M, p.K, p.alpha) + shift)


def in_the_end(excess: Callable[[float], float], M: float) -> float:
    """The end of a series that comes near it like t^-1/2, as 1 - p does: 2 e(4t) - e(t) at t = 1e8 M."""
    return 2 * excess(4e8 * M) - excess(1e8 * M)


def late_score_excess(run: Kit, factor: float = 1.0) -> float:
    """a - ½ log(2 (1-α)² t/(α² (M-1))) as t → ∞."""
    M, alpha = run.p.M, run.p.alpha
    score = lambda t: run.values(t, observe=("a",))["a"] - float(planar.late_pattern_score(factor * t, M, alpha))
    return in_the_end(score, M)


def late_loss_excess(run: Kit, factor: float = 1.0) -> float:
    """L 4t/(M-1) - 1 as t → ∞."""
    M = run.p.M
    return in_the_end(
        lambda t: run.values(t, observe=("loss",))["loss"] / float(factor * planar.late_loss(t, M)) - 1, M
    )


def above_surrogate(run: Kit, swap: bool = False) -> float:
    """From t = 1 on, how long the attention p of training is at least the paper's."""
    times = np.geomspace(1, LONGEST * window(run.p), 160)
    exact, paper = (run.course(times, observe=("p_min",), level=level)["p_min"] for level in (None, "L4"))
    run.note(longest=LONGEST)
    return kept_until(times, exact <= paper if swap else exact >= paper)


def too_little_left(run: Kit, swap: bool = False) -> Sides:
    """Attention on other steps at t = 1e5 M of training, and of the paper's bound, which may be 0 to all digits."""
    left = lambda level: run.run(1e5 * run.p.M, observe=("mass_other_step_max",), level=level)["mass_other_step_max"][0]
    training, bound = (max(float(left(level)), np.finfo(float).tiny) for level in (None, "L4"))
    return Sides(bound, training) if swap else Sides(training, bound)


OVER_M = Path("M", (40, 80, 160, 320, 640, 1280))
EPSILONS = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)

CLAIMS = [
    Claim("F.7_36", "Lemma F.7, Eq. (36)", "from T_1 on -Γ_ss ≥ (2/M) p (1-p)²", Inequality(">=", 2.0), matching_gain,
          at=SIZES, regime=PROOFS, levels="L3", takes="M K alpha epsilon_1", control={"kind": Inequality(">=", 1.0)},
          erratum=Erratum("-Γ_ss ≥ (4/(2M)) p (1-p)²", "-Γ_ss ≥ (1/M) p (1-p)²: averaged over tasks, the label of a "
                          "column meets the query's pattern in one task of M - 1", "harmless", "F.7_36_order")),
    Claim("F.7_36_order", "Lemma F.7, Eq. (36)", "from T_1 on -Γ_ss ≥ (1/M) p (1-p)²", Inequality(">=", 1.0),
          matching_gain, at=SIZES, sharpens="F.7_36", regime=PROOFS, levels="L3", takes="M K alpha epsilon_1",
          control={"kind": Inequality(">=", 2.0)}),
    Claim("F.7_38", "Lemma F.7, Eq. (38)", "|Γ_ds| ≤ (1/(2M)) p (1-p)² from O(T_1) on", Order("O", window), last_excess,
          at=[{"K": 2, "alpha": 0.4}, {"K": 3, "alpha": 0.4}], path=INTO_REGIME, regime=PROOFS, levels="L3",
          takes="epsilon_1", control={"constant": 1e4},
          note="at the last place M |Γ_ds| over its unit is {share_late:.3f} in the end",
          erratum=Erratum("|Γ_ds| ≤ (1/(2M)) p (1-p)² from T_1 on", "the same from t of order M on: until then the "
                          "positions, learnt K² rather than M times as fast, still dominate Γ_ds", "harmless")),
    Claim("F.7_37_39", "Lemma F.7, Eqs. (37), (39)", "from T_1(ε) on |Γ_sd|, |Γ_dd| ≤ O(ε)",
          Order("O", lambda p: p.epsilon_1), other_step_gains, at={"M": 250},
          path=Path("epsilon_1", (0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)), regime=PROOFS, levels="L3",
          takes="M K alpha", control=lambda run: {k: x * run.p.epsilon_1**2 for k, x in other_step_gains(run).items()},
          erratum=Erratum("|Γ_sd|, |Γ_dd| ≤ ε from T_1 = α^-2 K³ log(K/ε) on", "they are of order 1/t there, so ≤ ε "
                          "from t of order 1/ε on", "harmless")),
    Claim("Eq46", "Eq. (46)", "p reaches 1/2 within T_2 = O(K M/α)", Order("O", lambda p: p.K * p.M / p.alpha),
          half_time, at=[{"K": K} for K in (2, 3, 5)],
          path=Path("alpha", (0.4, 0.2, 0.1, 0.03, 0.01, 3e-3), M=many_patterns(2.0)), regime=PROOFS,
          levels="L3", takes="", control={"power": 0.5}),
    Claim("Eq54", "Eq. (54)", "(1-p)² = ε within another T_3 = O(K M/ε)", Order("O", lambda p: p.K * p.M / p.epsilon),
          rest_time, at=[{**size, **SQUARED} for size in SIZES[:4]], path=Path("epsilon", EPSILONS), regime=PROOFS,
          levels="L3", takes="M K alpha", control={"power": 0.5}),
    Claim("T_2_law", "Eq. (46)", "T_2 → (M-1)[Φ(1/2) - Φ(α)] as M → ∞: no factor K", Limit(1.0, 1e-2),
          half_time_over_quadrature, at=[{"K": K} for K in (2, 3, 5)],
          path=Path("M", (10**3, 3 * 10**3, 10**4, 3 * 10**4, 10**5, 3 * 10**5)), sharpens="Eq46", regime=LEARNT,
          levels="L3", takes="alpha", control={"factor": 1.0}),
    Claim("T_3_law", "Eq. (54)", "T_3 → (M-1)/(2ε) as ε → 0: no factor K", Limit(1.0, 2e-2), full_time_over_law,
          at=[{"K": K, "M": 3000, **SQUARED} for K in (2, 3, 5)],
          path=Path("epsilon", (1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)), sharpens="Eq54",
          regime=LEARNT, levels="L3", takes="alpha", control={"factor": 1.0}),
    Claim("Eq49", "Eq. (49)", "u(t) ≥ ½ log(η (1-α)² t/(α² K M)) for t large enough: from O(K M/α²) on",
          Order("O", score_time), last_low_score, at=[{"K": K, "alpha": a} for K in (2, 3) for a in (0.4, 0.1)],
          path=INTO_REGIME, regime=PROOFS, levels="L3", takes="", control={"shift": 2.0}),
    Claim("late_score", "Eq. (49)", "a - ½ log(2 (1-α)² t/(α² (M-1))) tends to O(1/M) as t → ∞",
          Order("O", lambda p: 1 / p.M), late_score_excess, at=[{"K": 2}, {"K": 3}], path=OVER_M, sharpens="Eq49",
          regime=LEARNT, levels="L3", takes="alpha", control={"factor": 2.0}),
    Claim("late_loss", "Theorem 1, Eq. (19)", "L 4t/(M-1) tends to 1 + O(1/M) as t → ∞", Order("O", lambda p: 1 / p.M),
          late_loss_excess, at=[{"K": 2}, {"K": 3}], path=OVER_M, whose="ours", regime=LEARNT, levels="L3",
          takes="alpha", control={"factor": 2.0}),
    Claim("surrogate_p", "Appendix H, Eqs. (156)–(159)", "the attention p of training is at least the paper's for "
          "1 ≤ t ≤ O(α^-2 K³ log(K/ε)), the window of the lemma it rests on", Order("Ω", window), above_surrogate,
          at=STEPS_AND_SHARES, path=FAR_INTO_REGIME, regime=PROOFS, what="proof step", levels="L3", takes="epsilon_1",
          control={"swap": True}, note="du/dt has the constant one where the paper has ≳; over its scale is the "
          "largest C of the window, looked for up to {longest:g}"),
    Claim("surrogate_other_steps", "Appendix H, Eqs. (156)–(159) [ours]", "the paper's exponents leave too little "
          "attention on other steps late, at t = 1e5 M", Inequality(">="), too_little_left, at=SIZES,
          regime=Regime(Condition("α² M ≥ c K³", lambda p, c: (p.alpha**2 * p.M, c * p.K**3)), c=0.5), levels="L3",
          takes="M K alpha", control={"swap": True},
          note="the paper's fall like t to the power of minus this ratio; training's like the inverse of t"),
    Claim("sign_of_b", "Sec. 3 [ours]", "columns whose label is the query's pattern lose: b < 0",
          Sign({"b": -1}, strict=True), lambda run, sign=1.0: {"b": sign * run.course(np.geomspace(1, 1e7, 40),
          observe=("b",))["b"]}, at=SIZES, regime=LEARNT, levels="L0 L2 L3", takes="M K alpha", control={"sign": -1.0}),
]  # fmt: skip
