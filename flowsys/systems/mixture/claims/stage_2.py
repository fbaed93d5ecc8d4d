"""Stage 2: the attention grows from the conflicting samples (Sec. 5.2, Appendix E)."""

from typing import Any

import numpy as np

from flowsys.claims import Claim, Identity, Inequality, Kit, Order, Provable, Sides, Sign, signs_on
from flowsys.claims.kit import NotReached
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture.claims.measured import SEEN, rates, stage_2
from flowsys.systems.mixture.claims.regimes import (
    ANY_GROUPS,
    BOUNDED_SCORES,
    FLOWS,
    SMALLER_OMEGA,
    TRAINED,
    TWO_GROUPS,
)

OTHERS = {
    "S": ("cv", [f"{x}_{part}" for x in ("cc", "vc", "vv") for part in ("same", "diff")]),
    "QQ": ("vv", ["cv_same", "cv_diff", "cc_diff"]),
    "KK": ("cc", ["cv_same", "cv_diff", "vv_diff"]),
}
SIGNS = {
    "S_cv": 1, "S_vv": -1, "S_cc": 1, "S_vc": -1, "QQ_cv": 1, "QQ_cc": 1, "QQ_vv": 1, "KK_cv": -1, "KK_cc": 1,
    "KK_vv": 1,
}  # fmt: skip
TWENTY_SIGNS = {f"{x}_{part}": s for x, sign in SIGNS.items() for part, s in (("same", sign), ("diff", -sign))}
GROWING = ("S_cv_same", "KK_cc_same", "QQ_vv_same")


def dominance(run: Kit, matrix: str) -> Sides:
    """E.1: the largest other entry against the smaller of the two leading ones; at T_1 itself both are 0."""
    there, (leader, others) = stage_2(run), OTHERS[matrix]
    least = np.minimum(there[f"{matrix}_{leader}_same"], -there[f"{matrix}_{leader}_diff"])
    largest = np.max([np.abs(there[f"{matrix}_{x}"]) for x in others], axis=0)
    with np.errstate(divide="ignore"):
        ratio = np.where(least > 0, largest / least, np.inf)
    row, known = int(ratio.argmax()), run.noted.get("c", -np.inf)
    if ratio[row] > known:
        run.note(c=float(ratio[row]), scale=run.p.omega, score=float(there["S_cv_same"][row]))
    run.note(end=float(ratio[-1]))
    return Sides(largest, least, there.t)


WORST = "the largest ratio {c:.4g} is at ω = {scale:g}, S_cv = {score:.3g}; at T_2 of the smallest ω it is {end:.3g}"


def norms(run: Kit, larger: str = "c", smaller: str = "v") -> dict[str, Sides]:
    """E.1 (14): |W_K c|² against |W_K v|², |W_Q v|² against |W_Q c|²."""
    there = stage_2(run)
    return {"keys": Sides(there[f"KK_{larger * 2}_same"], there[f"KK_{smaller * 2}_same"], there.t),
            "queries": Sides(there[f"QQ_{smaller * 2}_same"], there[f"QQ_{larger * 2}_same"], there.t)}  # fmt: skip


def growth(there: Trajectory, leader: str = "S_cv") -> dict[str, Sides]:
    """The three rates of Lemma E.2 against what bounds them from below."""
    rate, score = rates(there, 1), there[f"{leader}_same"]
    bounds = {f"{leader}_same": there["KK_cc_same"] + there["QQ_vv_same"], "KK_cc_same": score, "QQ_vv_same": score}
    return {name: Sides(rate[name], bound, there.t) for name, bound in bounds.items()}


def growth_of_stage_2(run: Kit, leader: str = "S_cv") -> dict[str, Sides]:
    """E.2 on (T_1, T_2] with C = 1 for the lemma's constant."""
    return growth(stage_2(run.at(s_star=1.0)), leader)


def _best_rate(run: Kit) -> float:
    """The largest β with which the three inequalities of Lemma E.2 hold on [T_1, T_2]; at T_1 two of them are 0 ≥ 0."""
    start, later = growth(run.run("T_1", observe=SEEN))["S_cv_same"], growth(stage_2(run)).values()
    return float(min(start.left[0] / start.right[0], *((sides.left / sides.right).min() for sides in later)))


def rate_and_its_value_at_the_start(run: Kit, score: float = 1.0) -> tuple[float, float]:
    """[ours] The best β while S_cv ≤ 1 against w_c/(9K), the value of the first ratio at T_1."""
    return _best_rate(run.at(s_star=score)), run.values("T_1", observe=SEEN)["w_c"] / (9 * run.p.K)


def variables_and_linear_system(run: Kit, factor: float = 1.0) -> dict[str, Sides]:
    """E.3's proof: (S_cv, KK_cc, QQ_vv) against ω²/2 [e^(√2βt)(√2, 1, 1) + e^(-√2βt)(-√2, 1, 1)], β of Lemma E.2."""
    there = stage_2(run)
    x, ω = np.sqrt(2) * factor * _best_rate(run) * (there.t - run.p.T_1), run.p.omega
    bound = dict(zip(GROWING, (np.sqrt(2) * np.sinh(x), np.cosh(x), np.cosh(x))))
    return {name: Sides(there[name], ω**2 * y, there.t) for name, y in bound.items()}


def growing_variables(run: Kit, names: tuple[str, ...] = GROWING) -> dict[str, np.ndarray]:
    """Sec. 5.2: the rates of the three variables on (T_1, T_2]."""
    rate = rates(stage_2(run), 1)
    return dict(zip(GROWING, (rate[name] for name in names)))


def length_of_stage_2(run: Kit) -> float:
    """E.3: T_2 - T_1."""
    return run.time("T_2") - run.p.T_1


def scores_at_the_end(run: Kit) -> dict[str, float]:
    """E.3: S_cv_same and -S_cv_diff at T_2."""
    v = run.values("T_2", observe=SEEN)
    return {"S_cv_same": v["S_cv_same"], "-S_cv_diff": -v["S_cv_diff"]}


def length_beyond_its_law(run: Kit, rate: float = 9.0) -> float:
    """[ours] T_2 - T_1 - 9(K-1)/w_c log(1/ω), w_c at T_1."""
    w_c = run.values("T_1", observe=("w_c",))["w_c"]
    if not w_c > 0:
        raise NotReached(f"w_c is {w_c:g} at T_1: stage 2 does not move.")
    slope = rate * (run.p.K - 1) / w_c
    run.note(slope=slope)
    return abs(length_of_stage_2(run) - slope * np.log(1 / run.p.omega))


def length_beyond_the_surrogate(run: Kit, variant: str = "sinh") -> float:
    """[ours] T_2 - T_1 less 9(K-1)/(2 w_c) asinh(K s*/((K-1) ω²)), attention frozen at 1/3."""
    surrogate = run.run("T_2", level="L4", variant=variant, observe=()).at("T_2")
    return abs(run.time("T_2") - surrogate["t"])


def gates_on_conflicting_samples(run: Kit, samples: str = "conflicting") -> dict[str, np.ndarray]:
    """E.6: H + b on (T_1, T_2] of the head of the label's sign and of the other: σ_+ on X_{k,s,-s} for s = +, -.

    T_2 is where a score reaches a constant; nothing is said of later times.
    """
    there = stage_2(run)
    return {side: there[f"preactivation_{side}_{samples}"] for side in ("plus", "minus")}


def gate_after_it_closed(run: Kit, stretch: float = 20.0) -> Sides:
    """[ours] Stage 2 run on beyond T_2: H + b of the wrong head on conflicting samples, from where it is first 0."""
    start, later = run.p.T_1, run.at(s_star=20.0)
    end = start + stretch * length_of_stage_2(run.at(s_star=1.0))
    switches = [t for t in later.run(end, observe=SEEN).statistics["switch_times"] if start < t < end]
    is_it = lambda t: abs(later.values(float(t), observe=SEEN)["preactivation_minus_conflicting"]) < 1e-6
    first = next((t for t in switches if is_it(t)), None)
    if first is None:
        raise NotReached(f"the gate is open up to t = {end:.4g}.")
    there = later.course(np.linspace(first, end, 200)[1:], observe=SEEN)
    middle = len(there) // 2
    run.note(t=float(first), score=later.values(float(first), observe=SEEN)["S_cv_same"], half=there.t[middle],
             middle=there["S_cv_same"][middle], highest=float(there["S_cv_same"].max()), end=end,
             slides=there.statistics["slides"])  # fmt: skip
    return Sides(there["preactivation_minus_conflicting"], 0.0, there.t)


ALONG_OMEGA: dict[str, Any] = {"path": SMALLER_OMEGA, "regime": BOUNDED_SCORES}
CLAIMS = [
    *(Claim(f"E.1-{number}", f"Lemma E.1, Eq. ({number})", f"c min({x}_same, -{x}_diff) ≥ {others}, some c < 1",
            Inequality("<="), lambda run, matrix=matrix: dominance(run, matrix), **ALONG_OMEGA, levels=TRAINED,
            control={"mode": "simultaneous"}, note=WORST)
      for number, matrix, x, others in ((11, "S", "S_cv", "every other |score|"),
                                        (12, "QQ", "QQ_vv", "the other |query self-scores|"),
                                        (13, "KK", "KK_cc", "the other |key self-scores|"))),
    Claim("E.1-14", "Lemma E.1, Eq. (14)", "|W_Q v| ≥ |W_Q c| and |W_K c| ≥ |W_K v|", Inequality(">="), norms,
          **ALONG_OMEGA, levels=TRAINED, control={"larger": "v", "smaller": "c"}),
    Claim("E.2", "Lemma E.2, Lemma 5.5",
          "d/dt (S_cv, KK_cc, QQ_vv) ≥ β (KK_cc + QQ_vv, S_cv, S_cv) while scores ≤ C",
          Inequality(">=", constant=None), growth_of_stage_2, **ALONG_OMEGA, levels=FLOWS, takes="b T_1",
          control={"leader": "S_vc"}),
    Claim("E.2-rate", "Lemma E.2", "the best β while S_cv ≤ 1 is w_c/(9K), its value at T_1", Identity(1e-3),
          rate_and_its_value_at_the_start, at=[{"omega": 0.1}, {"omega": 0.01}], regime=TWO_GROUPS, sharpens="E.2",
          levels="L3", takes="b T_1", control={"score": 4.0}),
    Claim("5.2-increase", "Sec. 5.2", "S_cv, KK_cc and QQ_vv increase throughout stage 2",
          Sign(dict.fromkeys(GROWING, 1), strict=True), growing_variables, **ALONG_OMEGA, levels=FLOWS,
          control={"names": ("S_vv_same", "KK_cc_same", "QQ_vv_same")}),
    Claim("E.3", "Lemma E.3, Theorem 4.1", "T_2 - T_1 = O(log 1/ω)", Order("O", lambda p: np.log(1 / p.omega)),
          length_of_stage_2, **ALONG_OMEGA, levels=TRAINED, control={"kind": Order("O")}),
    Claim("E.3-law", "Lemma E.3", "T_2 - T_1 = 9/w_c(T_1) log(1/ω) + O(1)", Order("O"), length_beyond_its_law,
          **ALONG_OMEGA, sharpens="E.3", levels=TRAINED, control={"rate": 8.0}, note="the slope is {slope:.4g}"),
    Claim("stage_2_slope_K", "Lemma E.3", "for every K T_2 - T_1 = 9(K-1)/w_c(T_1) log(1/ω) + O(1)", Order("O"),
          length_beyond_its_law, at=[{"K": K, "T_1": 10.0 * K} for K in (3, 4, 8)], path=SMALLER_OMEGA,
          regime=ANY_GROUPS, sharpens="E.3", levels=TRAINED, control={"rate": 8.0}),
    Claim("sinh_surrogate", "Lemma E.3", "attention frozen at 1/3 gives T_2 up to O(1)", Order("O"),
          length_beyond_the_surrogate, **ALONG_OMEGA, sharpens="E.3", levels=TRAINED, control={"variant": "linear"}),
    Claim("E.3-scores", "Lemma E.3", "S_cv_same, -S_cv_diff = Θ(1) at T_2", Order("Θ"), scores_at_the_end,
          **ALONG_OMEGA, levels=TRAINED, control={"kind": Order("Θ", lambda p: p.omega)}),
    Claim("E.3-bound", "Lemma E.3", "(S_cv, KK_cc, QQ_vv) ≥ the solution of the 3×3 linear system with that β",
          Inequality(">="), variables_and_linear_system, **ALONG_OMEGA, what="proof step", levels=FLOWS,
          control={"factor": 4.0}),
    Claim("E.5", "Lemma E.5", "signs of all 20 scores and self-scores on [T_1, T_2]", Sign(TWENTY_SIGNS), stage_2,
          **ALONG_OMEGA, levels=TRAINED, control={"mode": "simultaneous"},
          provable=Provable(signs_on("(T_1, T_2]", TWENTY_SIGNS), {"omega": 0.1})),
    Claim("E.6", "Lemma E.6", "the gates are open on conflicting samples on [T_1, T_2]",
          Sign({"plus": 1, "minus": 1}, strict=True), gates_on_conflicting_samples, **ALONG_OMEGA, levels=TRAINED,
          control={"samples": "consistent"}),
    Claim("E.6-slide", "Lemma E.6", "run on beyond T_2, the wrong head's H + b reaches 0 at a finite score and stays",
          Identity(1e-7, relative=False), gate_after_it_closed, regime=TWO_GROUPS, sharpens="E.6", levels="L3",
          control={"stretch": 1.0},
          note="it vanishes from t = {t:.1f}, S_cv = {score:.2f}, on, where S_cv grows ever slower: {middle:.2f} at "
          "t = {half:.0f}, {highest:.2f} at t = {end:.0f}; slides: {slides}; the lemma speaks of [T_1, T_2] alone, "
          "where scores are below a constant"),
]  # fmt: skip
