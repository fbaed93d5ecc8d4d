"""Near symmetry between the two groups in stage 2 (Sec. 5.2, Lemma E.4), and the rates it is used in at T_1."""

import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Kit, Order, Sides
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture.claims.measured import (
    MATRICES,
    SCORES,
    SEEN,
    all_samples,
    matrix_of,
    rates,
    row_of,
    slope_of_loss,
    stage_2,
)
from flowsys.systems.mixture.claims.regimes import BOUNDED_SCORES, FLOWS, SMALLER_OMEGA, TRAINED, TWO_GROUPS
from flowsys.systems.mixture.margin import attention

SMALL = Order("Õ", lambda p: p.omega, floor=1e-13)
LEADING = ("S_cv", "KK_cc", "QQ_vv")


def _sums(there, names: tuple[str, ...] = MATRICES, sign: int = 1) -> np.ndarray:
    """|same + diff| of entries: what near symmetry says is small."""
    return np.abs([there[f"{x}_same"] + sign * there[f"{x}_diff"] for x in names])


def asymmetry(run: Kit, sign: int = 1) -> dict[str, float]:
    """E.4: the largest Δ on (T_1, T_2], and of the scores alone."""
    there = stage_2(run)
    return {"all": _sums(there, sign=sign).max(), "scores": _sums(there, SCORES, sign).max()}


def asymmetry_over_score(run: Kit, sign: int = 1) -> float:
    """E.4, first display: the largest |dΔ/dt| / dS_cv/dt on (T_1, T_2], each sum's own rate taken for Δ's."""
    rate = rates(stage_2(run), 1)
    return float((_sums(rate, sign=sign).max(axis=0) / rate["S_cv_same"]).max())


def _change_of_attention(there: Trajectory) -> np.ndarray:
    """Δp: the largest |p - 1/3| of the positive head over all samples, queries and keys."""
    X = all_samples(2, 3)
    return np.array([np.abs(attention(X, matrix_of(row_of(there, i), 2)) - 1 / 3).max() for i in range(len(there))])


def asymmetry_over_its_bound(run: Kit, power: int = 1) -> float:
    """Eq. (15): the largest |dΔ/dt| / (Δ Δp) on (T_1, T_2]."""
    there = stage_2(run)
    bound = _sums(there).max(axis=0) * _change_of_attention(there) ** power
    return float((_sums(rates(there, 1)).max(axis=0) / bound).max())


def leading_sums(run: Kit, sign: int = 1) -> dict[str, float]:
    """Sec. 5.2: |S_cv_same + S_cv_diff| and the same of KK_cc and QQ_vv at T_2."""
    v = run.values("T_2", observe=SEEN)
    return {x: abs(v[f"{x}_same"] + sign * v[f"{x}_diff"]) for x in LEADING}


def antisymmetric_columns(run: Kit) -> dict[str, Sides]:
    """[ours] S_cv and S_vv summed over both groups on (T_1, T_2]: exactly 0 at K = 2, L = 3."""
    there = stage_2(run)
    return {x: Sides(there[f"{x}_same"] + there[f"{x}_diff"], 0.0, there.t) for x in ("S_cv", "S_vv")}


def _at_T_1(run: Kit) -> tuple[dict[str, np.ndarray], dict[str, float], float]:
    """Rates and values at T_1 as stage 2 begins, and g ω² w_c."""
    there = run.run("T_1", observe=SEEN)
    v = row_of(there, 0)
    return rates(there, 1), v, slope_of_loss(v["f_conflicting"]) * run.p.omega**2 * v["w_c"]


def leading_rate(run: Kit, factor: float = 16 / 9) -> tuple[float, float]:
    """The display before Lemma 5.5: 1/3 g 4 QQ_vv 2/3 w_c + 1/3 g 4 KK_cc 2/3 w_c; it takes KK_diff for -KK_same."""
    rate, v, unit = _at_T_1(run)
    run.note(
        found=f"{rate['S_cv_same'][0] / unit:.6f} g ω² w_c",
        off=abs(v["KK_cc_same"] + v["KK_cc_diff"]) / v["KK_cc_same"],
    )
    return rate["S_cv_same"][0], factor * unit


def rates_at_T_1(run: Kit, factor: float = 1.0) -> dict[str, Sides]:
    """Appendix E.5: S_cv 8/9, S_vc -4/9 in units of g ω² w_c, the other scores and all self-scores 0."""
    rate, _, unit = _at_T_1(run)
    printed = {"S_cv": 8 / 9, "S_vc": -4 / 9}
    run.note(found=" and ".join(f"{rate[f'{x}_same'][0] / unit:.6f} g ω² w_c" for x in printed))
    parts = {x: Sides(rate[f"{x}_same"], factor * share * unit) for x, share in printed.items()}
    rest = max(np.abs(rate[f"{x}_same"]).max() for x in MATRICES if x not in printed)
    return parts | {"the others": Sides(rest / unit, 0.0)}


QUARTER = "the expectation over the four conflicting samples takes a quarter of their sum"
CLAIMS = [
    Claim("E.4", "Lemma E.4", "Δ ≤ Õ(ω) on [T_1, T_2]", SMALL, asymmetry, path=SMALLER_OMEGA,
          regime=BOUNDED_SCORES, levels=TRAINED, control={"sign": -1}),
    Claim("E.4-rate", "Lemma E.4", "dΔ/dt ≤ Õ(ω) dS_cv/dt on [T_1, T_2]", SMALL,
          asymmetry_over_score, path=SMALLER_OMEGA, regime=BOUNDED_SCORES, levels=FLOWS, control={"sign": -1}),
    Claim("Eq.15", "Eq. (15)", "|dΔ/dt| ≤ O(Δ Δp) on [T_1, T_2]", Order("O"), asymmetry_over_its_bound,
          path=SMALLER_OMEGA, regime=BOUNDED_SCORES, what="proof step", levels="L3", control={"power": 2}),
    Claim("5.2-near-symmetry", "Sec. 5.2", "S_cv, KK_cc, QQ_vv of the same and of different groups cancel up to Õ(ω)",
          SMALL, leading_sums, path=SMALLER_OMEGA, regime=BOUNDED_SCORES, levels=TRAINED,
          control={"sign": -1}),
    Claim("stage_2_invariance", "Lemma E.4", "stage 2 keeps S_cv and S_vv exactly antisymmetric between the groups",
          Identity(1e-13, relative=False), antisymmetric_columns, regime=BOUNDED_SCORES, sharpens="E.4", levels="L3",
          control={"mode": "simultaneous"}),
    Claim("5.5-display", "display before Lemma 5.5", "dS_cv/dt(T_1) = 16/9 g ω² w_c as printed", Identity(1e-6),
          leading_rate, regime=TWO_GROUPS, levels="L3", control={"factor": 2 / 9},
          note="it is {found}; " + QUARTER + ", and near symmetry, which is used there, is off at T_1 by "
          "{off:.3g} of KK_cc_same",
          erratum=Erratum("16/9 g ω² w_c", "2/9 g ω² w_c", "harmless", "E.5-corrected")),
    Claim("E.5-display", "Appendix E.5", "dS_cv/dt = 8/9, dS_vc/dt = -4/9 g ω² w_c at T_1, all others 0, as printed",
          Identity(1e-6), rates_at_T_1, regime=TWO_GROUPS, what="display", levels="L3", control={"factor": 0.25},
          note="they are {found}: " + QUARTER,
          erratum=Erratum("8/9 and -4/9 g ω² w_c", "2/9 and -1/9 g ω² w_c", "harmless", "E.5-corrected")),
    Claim("E.5-corrected", "Appendix E.5 [ours]", "dS_cv/dt = 2/9, dS_vc/dt = -1/9 g ω² w_c at T_1, all others 0",
          Identity(1e-6), lambda run, factor=0.25: rates_at_T_1(run, factor), regime=TWO_GROUPS, levels="L3",
          control={"factor": 1.0}),
]  # fmt: skip
