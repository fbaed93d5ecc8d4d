"""Displays of the paper that carry a slip, each as printed and as it should read."""

import numpy as np

from flowsys.claims import Erratum, Verdict, Word, judged, listed
from flowsys.claims.conditions import at_level
from flowsys.systems.mixture.claims.runs import (
    FLOWS,
    OMEGAS,
    claim,
    rates,
    run,
    setup,
    slope_of_loss,
    stage_2,
    values,
)
from flowsys.systems.mixture.claims.separability import all_samples, scores_of_limit
from flowsys.systems.mixture.margin import head_features


def leading_score_starts_with_rate(factor: float = 8 / 9) -> Verdict:
    """The display before 5.5: dS_cv/dt(T_1) = 8/9 g ω² w_c as printed; the conditional expectation's 1/4 is missing."""
    v, omega = values("T_1"), setup()["omega"]
    measured = rates(run("T_1"), 1)["S_cv_same"][0]
    g = slope_of_loss(v["f_conflicting"])
    predicted = factor * g * omega**2 * v["w_c"]
    tolerance = at_level(1e-9, 0.2)
    return judged(bool(abs(measured / predicted - 1) < tolerance), f"{factor:.4g} g ω² w_c = {predicted:.4e}",
                  f"{measured:.4e} = {measured / (g * omega**2 * v['w_c']):.6f} g ω² w_c",
                  note="the printed display omits the factor 1/4 of the expectation over conflicting samples",
                  tolerance=tolerance, parameters={"omega": omega}, values={"rate": float(measured)})  # fmt: skip


def corrected_leading_score_rate(factor: float = 2 / 9) -> Verdict:
    """[ours] dS_cv/dt(T_1) = 2/9 g ω² w_c."""
    return leading_score_starts_with_rate(factor)


def key_self_scores_nearly_cancel(subtract: bool = True) -> Verdict:
    """5.2: KK_cc_same ≈ -KK_cc_diff; the difference is ω²."""
    sums = np.array([values("T_2", omega=ω)["KK_cc_same"] + values("T_2", omega=ω)["KK_cc_diff"] for ω in OMEGAS])
    rest = np.abs(sums / np.square(OMEGAS) - (1 if subtract else 0)).max()
    return judged(bool(rest < 0.05), "KK_cc_same + KK_cc_diff = ω² (1 + small)",
                  f"sum/ω² = {listed(sums / np.square(OMEGAS), '.5f')}", note="the printed ≈ 0 leaves out ω²",
                  tolerance=0.05, parameters={"omega": OMEGAS}, values={"sums": sums.tolist()})  # fmt: skip


def negative_neurons_see_their_own_attention(printed: bool = True) -> Verdict:
    """B.1: dw_-/dt as printed carries p^(+); it must be p^(-)."""
    samples, v = all_samples(2, 3), values("T_2")
    rate = rates(run("T_2"), 2)
    heads = {h: head_features(samples, scores_of_limit(v, 2, h)) for h in (1, -1)}
    w = {h: np.repeat([v["w_c"], h * v["w_v"]], 2) for h in (1, -1)}
    H = {h: heads[h] @ w[h] + setup()["b"] for h in (1, -1)}
    f = np.maximum(H[1], 0) - np.maximum(H[-1], 0)
    g = slope_of_loss(samples.y * f)
    weight = -samples.weight * g * samples.y * (H[-1] > 0)
    expected = np.repeat([rate["w_c"][0], -rate["w_v"][0]], 2)
    error = float(np.abs(weight @ heads[1 if printed else -1] - expected).max() / np.abs(expected).max())
    return judged(error < 1e-9, "the display equals dw_-/dt", f"relative difference {error:.2g} at T_2",
                  note="with p^(+) as printed" if printed else "with p^(-)", tolerance=1e-9,
                  values={"error": error})  # fmt: skip


def corrected_negative_neurons(printed: bool = False) -> Verdict:
    """[ours] B.1 with p^(-)."""
    return negative_neurons_see_their_own_attention(printed)


def mean_sector_columns_stay_zero(mode: str = "three_stage") -> Verdict:
    """[ours] At K = 2, L = 3 stage 2 keeps S_cv_same = -S_cv_diff and S_vv_same = -S_vv_diff exactly."""
    there = stage_2(mode=mode)
    largest = max(float(np.abs(there[f"S_{x}_same"] + there[f"S_{x}_diff"]).max()) for x in ("cv", "vv"))
    return Verdict(Word.HOLDS if largest < 1e-13 else Word.FAILS, "S^m_cv = S^m_vv = 0 on [T_1, T_2]",
                   f"largest {largest:.1e}", tolerance=1e-13, parameters={"mode": mode},
                   values={"largest": largest})  # fmt: skip


CLAIMS = [
    claim("5.5-display", "display before Lemma 5.5, Appendix E.5", "dS_cv/dt(T_1) = 8/9 g ω² w_c as printed",
          leading_score_starts_with_rate, control={"factor": 2 / 9}, levels=FLOWS, takes="omega b T_1",
          erratum=Erratum("8/9 g ω² w_c", "2/9 g ω² w_c", "harmless", "5.5-display-corrected")),
    claim("5.5-display-corrected", "Appendix E.5 [ours]", "dS_cv/dt(T_1) = 2/9 g ω² w_c", corrected_leading_score_rate,
          control={"factor": 8 / 9}, levels=FLOWS, takes="omega b T_1"),
    claim("5.2-self-scores", "Sec. 5.2", "KK_cc_same ≈ -KK_cc_diff, up to ω²", key_self_scores_nearly_cancel,
          control={"subtract": False}, takes="b T_1 s_star"),
    claim("B.1-display", "Appendix B.1", "dw_-/dt with p^(+) as printed", negative_neurons_see_their_own_attention,
          control={"printed": False}, takes="omega b T_1 s_star", what="display",
          erratum=Erratum("p^(+) in dw_-/dt", "p^(-)", "harmless", "B.1-corrected")),
    claim("B.1-corrected", "Appendix B.1 [ours]", "dw_-/dt with p^(-)", corrected_negative_neurons,
          control={"printed": True}, takes="omega b T_1 s_star"),
    claim("stage_2_invariance", "Lemma E.4 [ours]", "stage 2 keeps S_cv and S_vv exactly antisymmetric between groups",
          mean_sector_columns_stay_zero, control={"mode": "simultaneous"}, takes="omega b T_1 s_star"),
]  # fmt: skip
