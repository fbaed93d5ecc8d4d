"""Attention at the end of stage 2: where it concentrates and what stays symmetric (Theorem 4.1, Theorem E.7)."""

import numpy as np
from scipy.special import softmax

from flowsys.claims import Verdict, Word, judged, listed
from flowsys.claims.conditions import at_level
from flowsys.laws.fits import power_law
from flowsys.systems.mixture.claims.runs import OMEGAS, TRAINED, claim, local_exponents, values
from flowsys.systems.mixture.claims.separability import scores_of_limit

POSITIVE = {"c_1": (0, 1), "v_1": (2, 1), "v_2": (3, 1)}
"""X_{1,+,+} as (token, sign), tokens c_1, c_2, v_1, v_2."""
MIRRORED = {"c_1": (0, 1), "v_1": (3, -1), "v_2": (2, -1)}
"""X_{1,-,-}, each token under the name of its partner in X_{1,+,+}: v_1 ↔ -v_2, v_2 ↔ -v_1."""
UNMIRRORED = {"c_1": (0, 1), "v_1": (2, -1), "v_2": (3, -1)}
"""X_{1,-,-} with v_1 ↔ -v_1, v_2 ↔ -v_2: not the theorem's pairs."""


def _at_end(mode: str = "three_stage", at: str = "T_2") -> list[dict[str, float]]:
    return [values(at, omega=ω, mode=mode) for ω in OMEGAS]


def heads_differ_on_the_group_signal(at: str = "T_2") -> Verdict:
    """E.7: p^(+)(q, c) - p^(-)(q, c) = Θ(1) for the queries v_1 and -v_2."""
    gaps = {q: np.array([v[f"p_plus_{q}_c"] - v[f"p_minus_{q}_c"] for v in _at_end(at=at)]) for q in "vd"}
    least, spread = min(g.min() for g in gaps.values()), max(np.ptp(g) for g in gaps.values())
    return judged(bool(least > 0.1 and spread < at_level(0.1, 0.5) * least), "Θ(1), both queries",
                  f"{listed(gaps['v'])} (v_1); {listed(gaps['d'])} (-v_2)", interval=(float(least), 1.0),
                  parameters={"omega": OMEGAS, "at": at}, values={q: g.tolist() for q, g in gaps.items()})  # fmt: skip


def group_signal_attends_more_to_itself(key: str = "c", at: str = "T_2") -> Verdict:
    """E.7: p^(+)(c, c) - p^(-)(c, c) > 0 (4.1: ≥ 0)."""
    gaps = [v[f"p_plus_c_{key}"] - v[f"p_minus_c_{key}"] for v in _at_end(at=at)]
    return judged(bool(min(gaps) > 1e-12), "> 0",
                  f"{listed(gaps, '.2g')}; local exponents in ω "
                  + (listed(local_exponents(gaps), ".2f") if min(gaps) > 0 else "none"),
                  parameters={"omega": OMEGAS, "at": at}, values={"gaps": gaps})  # fmt: skip


def classification_queries_see_both_signals_alike(mode: str = "three_stage") -> Verdict:
    """4.1 near symmetry, queries v_1 and -v_2: ≤ Õ(ω); exactly 0 in three-stage training."""
    gaps = [max(abs(v[f"p_plus_{q}_v"] - v[f"p_plus_{q}_d"]) for q in "vd") for v in _at_end(mode)]
    return judged(max(gaps) < 1e-12, "≤ Õ(ω); 0 by the invariance S^m_cv = S^m_vv = 0 [ours]",
                  f"largest {max(gaps):.1e}", tolerance=1e-12, parameters={"omega": OMEGAS, "mode": mode},
                  values={"gaps": gaps})  # fmt: skip


def group_query_sees_both_signals_nearly_alike(keys: tuple[str, str] = ("v", "d"), query: str = "c") -> Verdict:
    """4.1 near symmetry, query c_1: ≤ Õ(ω)."""
    first, second = keys
    gaps = [abs(v[f"p_plus_{query}_{first}"] - v[f"p_plus_{query}_{second}"]) for v in _at_end()]
    fit = power_law(OMEGAS, gaps)
    return judged(fit.interval[0] >= 1, "exponent ≥ 1 in ω",
                  f"exponent {fit}; local {listed(local_exponents(gaps), '.2f')}; gaps {listed(gaps, '.2g')}",
                  note="not tight", interval=fit.interval, parameters={"omega": OMEGAS}, values={"gaps": gaps},
                  fits={"|p(v_1) - p(-v_2)| over ω": fit})  # fmt: skip


def _attention(S: np.ndarray, sample: dict[str, tuple[int, int]]) -> np.ndarray:
    """p[query, key] of a head with scores S on a sample of signed tokens."""
    token, sign = np.array(list(sample.values())).T
    return softmax(sign[:, None] * sign * S[np.ix_(token, token)], axis=0).T


def consistent_samples_are_attended_alike(partners: dict[str, tuple[int, int]] = MIRRORED) -> Verdict:
    """E.7, first half: |p(X_{1,+,+}) - p(X_{1,-,-})| ≤ Õ(ω) for all nine pairs of query and key, v_1 ↔ -v_2."""
    gaps = []
    for v in _at_end():
        S = scores_of_limit(v, 2)
        gaps.append(np.abs(_attention(S, POSITIVE) - _attention(S, partners)))
    by_query = {q: [float(gap[i].max()) for gap in gaps] for i, q in enumerate(POSITIVE)}
    largest = [float(gap.max()) for gap in gaps]
    fit = power_law(OMEGAS, largest)
    return judged(fit.interval[0] >= 1, "exponent ≥ 1 in ω for the largest of nine",
                  f"exponent {fit}; largest by query " + "; ".join(f"{q}: {listed(x, '.2g')}" for q, x in
                  by_query.items()) + f" for ω = {listed(OMEGAS)}", note="not tight: queries v_1, v_2 agree exactly",
                  interval=fit.interval, parameters={"omega": OMEGAS}, values={"largest": by_query},
                  fits={"largest |p(X_{1,+,+}) - p(X_{1,-,-})| over ω": fit})  # fmt: skip


def both_classification_queries_see_the_group_signal_alike(mode: str = "three_stage") -> Verdict:
    """E.7, last line: |p(-v_2, c_1) - p(v_1, c_1)| ≤ Õ(ω) on X_{1,+,-}; exactly 0 in three-stage training."""
    gaps = [abs(v["p_plus_v_c"] - v["p_plus_d_c"]) for v in _at_end(mode)]
    return judged(max(gaps) < 1e-12, "≤ Õ(ω); 0 by the invariance S^m_cv = S^m_vv = 0 [ours]",
                  f"largest {max(gaps):.1e}", tolerance=1e-12, parameters={"omega": OMEGAS, "mode": mode},
                  values={"gaps": gaps})  # fmt: skip


def score_vc_is_proportional_to_scale(score: str = "S_vc_same") -> Verdict:
    """[ours] The frozen-attention surrogate says S_vc ∝ ω at T_2; feedback takes over at tiny ω."""
    found = local_exponents([v[score] for v in _at_end()])
    good = np.abs(found - 1) < 0.1
    word = Word.HOLDS if good.all() else Word.IN_PART if good[0] else Word.FAILS
    return Verdict(word, "exponent 1", f"local exponents {listed(found, '.2f')}",
                   note="within 0.1 of 1 for ω ≥ 0.03 only" if word is Word.IN_PART else "", tolerance=0.1,
                   parameters={"omega": OMEGAS}, values={"exponents": found.tolist()})  # fmt: skip


CLAIMS = [
    claim("E.7", "Theorem E.7, Theorem 4.1", "queries v_1, -v_2: the heads' attention to c_1 differs by Θ(1)",
          heads_differ_on_the_group_signal, control={"at": "T_1"}, levels=TRAINED, takes="b T_1 s_star"),
    claim("E.7-consistent", "Theorem E.7", "X_{1,+,+} and X_{1,-,-} are attended alike, v_1 ↔ -v_2, up to Õ(ω)",
          consistent_samples_are_attended_alike, control={"partners": UNMIRRORED}, takes="b T_1 s_star"),
    claim("E.7-queries", "Theorem E.7", "queries v_1 and -v_2 attend to c_1 alike, up to Õ(ω)",
          both_classification_queries_see_the_group_signal_alike, control={"mode": "simultaneous"},
          takes="b T_1 s_star"),
    claim("4.1-group-query", "Theorem 4.1, Theorem E.7", "query c_1: p^(+) - p^(-) on c_1 is > 0",
          group_signal_attends_more_to_itself, control={"key": "v"}, levels=TRAINED, takes="b T_1 s_star"),
    claim("4.1-symmetry-v", "Theorem 4.1, Theorem E.7", "queries v_1, -v_2: |p(v_1) - p(-v_2)| ≤ Õ(ω)",
          classification_queries_see_both_signals_alike, control={"mode": "simultaneous"}, takes="b T_1 s_star"),
    claim("4.1-symmetry-c", "Theorem 4.1, Theorem E.7", "query c_1: |p(v_1) - p(-v_2)| ≤ Õ(ω)",
          group_query_sees_both_signals_nearly_alike, control={"keys": ("c", "v"), "query": "v"}, levels=TRAINED,
          takes="b T_1 s_star"),
    claim("S_vc", "Lemma E.4 [ours]", "S_vc(T_2) ∝ ω", score_vc_is_proportional_to_scale,
          control={"score": "S_cv_same"}, takes="b T_1 s_star"),
]  # fmt: skip
