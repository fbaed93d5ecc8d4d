"""Entry gradients of the loss in the two stages: the signs and bounds of Lemmas F.5 and F.7."""

import numpy as np

from flowsys.claims import Verdict, Word, judged, word_of
from flowsys.systems.prompt import lemmas, surrogate
from flowsys.systems.prompt.claims.runs import GAMMAS, claim, course, size, stretches, time

SETTINGS = ((20, 3, 0.4), (20, 2, 0.4), (200, 3, 0.4), (2000, 3, 0.4), (2000, 2, 0.2), (20, 3, 0.8))
END = 1e6


def _stage_1(M: int, K: int, alpha: float):
    """The course over the window in which Lemma F.5 is stated, t ≤ α^-2 K³ log(K/ε) at ε = 0.1."""
    window = surrogate.stage_1_time(0.1, K, alpha)
    masses = tuple(f"mass_same_same_{k}" for k in range(1, K + 1))
    return course([0.0, *np.geomspace(1, window, 60)], observe=(*GAMMAS, *masses), **size(M, K, alpha))


def first_stage_signs(start: float = 0.0) -> Verdict:
    """Γ_ss, Γ_ds < 0 and Γ_sd, Γ_dd > 0, from `start` to the end of stage 1."""
    words, texts, first = [], [], []
    for M, K, alpha in SETTINGS:
        end = time("T_1", **size(M, K, alpha))
        there = course(np.linspace(start, max(end, start + 1), 60), observe=GAMMAS, **size(M, K, alpha))
        right = (there[GAMMAS[0]] < 0) & (there[GAMMAS[2]] < 0) & (there[GAMMAS[1]] > 0) & (there[GAMMAS[3]] > 0)
        words.append(bool(right.all()))
        first.append(bool(right[0]))
        texts.append(f"M = {M}, K = {K}, α = {alpha:g}: {stretches(there.t, right)} (T_1 = {end:.4g})")
    word = Word.HOLDS if all(words) else Word.IN_PART if all(first) else Word.FAILS
    return Verdict(word, "Γ_ss, Γ_ds < 0 < Γ_sd, Γ_dd", "; ".join(texts),
                   "early: at M = 20, K = 3 pattern learning turns Γ_sd negative before stage 1 ends",
                   parameters={"settings": SETTINGS, "start": start},
                   values={"whole stage": words, "at the start": first})  # fmt: skip


def _bounded(kind: str, note: str, sign: float = 1.0) -> Verdict:
    """The bounds of Lemma F.5 on one Γ along its window, in all settings; `sign` -1 asks it of -Γ."""
    everywhere, texts = [], []
    for M, K, alpha in SETTINGS:
        there = _stage_1(M, K, alpha)
        p = np.array([there[f"mass_same_same_{k}"] for k in range(1, K + 1)])
        lower, upper = lemmas.stage_1_bounds(p, M, K, alpha)[kind]
        gamma = sign * there[f"Gamma_{kind}"]
        above = np.ones(len(gamma), dtype=bool) if lower is None else lower.mean(axis=0) <= gamma
        below = gamma <= upper.mean(axis=0)
        everywhere.append(float((above & below).mean()))
        broken = [f"{name} broken {stretches(there.t, ~kept)}" for name, kept in (("lower", above), ("upper", below))
                  if not kept.all()]  # fmt: skip
        texts.append(f"M = {M}, K = {K}, α = {alpha:g}: " + (", ".join(broken) or "kept"))
    word = Word.HOLDS if min(everywhere) == 1 else Word.IN_PART if max(everywhere) > 0.9 else Word.FAILS
    return Verdict(word, f"bounds on Γ of {kind.replace('_', ' pattern, ')} step for t ≤ α^-2 K³ log(K/ε)",
                   "; ".join(texts), note, parameters={"settings": SETTINGS, "epsilon": 0.1},
                   values={"fraction kept": everywhere})  # fmt: skip


def matching_columns_are_reinforced(sign: float = 1.0) -> Verdict:
    """Eq. (30)."""
    return _bounded("same_same", "fails inside the window where attention on other steps is small: K = 2, large M",
                    sign)  # fmt: skip


def same_pattern_at_other_steps_is_weakened(sign: float = 1.0) -> Verdict:
    """Eq. (31)."""
    return _bounded("same_other", "upper bound broken at t = 0 for K = 2 and from the start at α = 0.8; lower one "
                    "late at large M", sign)  # fmt: skip


def other_patterns_of_the_step_are_reinforced(sign: float = 1.0) -> Verdict:
    """Eq. (32)."""
    return _bounded("other_same", "lower bound broken at the start for α = 0.8, upper one late at large M", sign)


def all_else_is_weakened(sign: float = 1.0) -> Verdict:
    """Eq. (33)."""
    return _bounded("other_other", "late the gradient is proportional to the attention on other steps, the lower "
                    "bound is not", sign)  # fmt: skip


def _stage_2(M: int):
    start = time("T_1", M=M)
    there = course(np.geomspace(start, END, 80), M=M)
    p = there["mass_same_same"]
    return there, p * (1 - p) ** 2 / M


def matching_columns_gain_two_over_M(kind: str = "same_same", factor: float = 2.0) -> Verdict:
    """Eq. (36): Γ_ss ≤ -(2/M) p (1-p)² after stage 1."""
    ratios = {}
    for M in (20, 200):
        there, unit = _stage_2(M)
        ratios[M] = -there[f"Gamma_{kind}"] / unit
    least = {M: float(r.min()) for M, r in ratios.items()}
    kept = stretches(there.t, ratios[200] >= factor), stretches(_stage_2(20)[0].t, ratios[20] >= factor)
    word = Word.HOLDS if min(least.values()) >= factor else Word.IN_PART if min(least.values()) >= 1 else Word.FAILS
    return Verdict(
        word, f"-M Γ / (p (1-p)²) ≥ {factor:g}",
        f"between {least[20]:.3f} and {ratios[20].max():.3f} at M = 20, {least[200]:.3f} and {ratios[200].max():.3f} "
        f"at M = 200; ≥ {factor:g} at M = 20 {kept[1]}, at M = 200 {kept[0]}",
        f"right form, best constant {min(least.values()):.2f}: the label's match counts 1/(M-1) once tasks are "
        "averaged", parameters={"M": (20, 200), "t": (f"T_1 to {END:g}",)}, values={"least": least},
    )  # fmt: skip


def other_patterns_hardly_move(kind: str = "other_same") -> Verdict:
    """Eq. (38): |Γ_ds| ≤ p (1-p)² / (2M) after stage 1."""
    texts, kept = [], []
    for M in (20, 200):
        there, unit = _stage_2(M)
        ratio = np.abs(there[f"Gamma_{kind}"]) / (unit / 2)
        kept += (ratio <= 1).tolist()
        texts.append(f"M = {M}: ratio {ratio[0]:.3g} at T_1, least {ratio.min():.3g}; ≤ 1 "
                     + stretches(there.t, ratio <= 1))  # fmt: skip
    return Verdict(word_of(kept), "|Γ_ds| 2M / (p (1-p)²) ≤ 1", "; ".join(texts), "holds late, not from T_1 on",
                   parameters={"M": (20, 200)}, values={"fraction kept": float(np.mean(kept))})  # fmt: skip


def other_steps_hardly_move(start: float | None = None) -> Verdict:
    """Eqs. (37), (39): |Γ_sd|, |Γ_dd| ≤ ε once attention on other steps is at most ε."""
    ratios = {}
    for M in (20, 200, 2000):
        for epsilon in (0.1, 0.01, 0.003):
            begin = time("T_1", M=M, epsilon_1=epsilon) if start is None else start
            there = course([begin, *np.geomspace(begin + 1, END, 60)], M=M)
            ratios[M, epsilon] = float(max(np.abs(there[g]).max() for g in (GAMMAS[1], GAMMAS[3])) / epsilon)
    read_as_size = ", ".join(f"{0.1 * M * ratios[M, 0.1]:.2g}" for M in (20, 200, 2000))
    last = ", ".join(f"{ratios[M, 0.003]:.2g} at M = {M}" for M in (20, 200, 2000))
    return Verdict(word_of([r <= 1 for r in ratios.values()]), "|Γ| ≤ ε", f"largest |Γ|/ε: {max(ratios.values()):.2g} "
                   f"over ε = 0.1, 0.01, 0.003; at ε = 0.003 {last}",
                   "ε is read as stage 1's threshold. Read as 1/M it fails at large M: M |Γ| from T_1(0.1) on is "
                   f"at most {read_as_size} at M = 20, 200, 2000. Γ_sd is of order p (1-p)²/M, Γ_dd about 0.04 "
                   "times the attention left on other steps",
                   parameters={"epsilon_1": (0.1, 0.01, 0.003), "M": (20, 200, 2000)},
                   values={"ratios": [*ratios.values()]})  # fmt: skip


def label_score_is_negative(coordinate: str = "b") -> Verdict:
    """[ours] b < 0: columns whose label is the query's pattern are suppressed."""
    worst, seen = -np.inf, {}
    for K, M in ((2, 20), (3, 20), (4, 30), (3, 200)):
        there = course(np.geomspace(0.1, END, 60), K=K, M=M)
        worst = max(worst, float(there[coordinate].max()))
    for t in (200.0, 1e4):
        seen[t] = float(course([t])[coordinate][0])
    return judged(worst < 0, "b < 0 at all times", f"{coordinate} at most {worst:.2g}; {seen[200.0]:.3f} at t = 200, "
                  f"{seen[1e4]:.3f} at 1e4 (M = 20, K = 3)",
                  parameters={"(K, M)": ((2, 20), (3, 20), (4, 30), (3, 200))},
                  values={"largest": worst, **{f"t={t:g}": v for t, v in seen.items()}})  # fmt: skip


LEMMA = "six sizes with M 20 to 2000, K 2 and 3, α 0.2 to 0.8"
CLAIMS = [
    claim("F.5_signs", "Lemma F.5", "in the first stage scores of the query's step grow and those of others fall",
          first_stage_signs, control={"start": 600.0}, regime=LEMMA),
    claim("F.5_30", "Lemma F.5, Eq. (30)", "upper bound on the gradient of (same pattern, same step)",
          matching_columns_are_reinforced, control={"sign": -1.0}, regime=LEMMA),
    claim("F.5_31", "Lemma F.5, Eq. (31)", "two-sided bound on the gradient of (same pattern, other step)",
          same_pattern_at_other_steps_is_weakened, control={"sign": -1.0}, regime=LEMMA),
    claim("F.5_32", "Lemma F.5, Eq. (32)", "two-sided bound on the gradient of (other pattern, same step)",
          other_patterns_of_the_step_are_reinforced, control={"sign": -1.0}, regime=LEMMA),
    claim("F.5_33", "Lemma F.5, Eq. (33)", "two-sided bound on the gradient of (other pattern, other step)",
          all_else_is_weakened, control={"sign": -1.0}, regime=LEMMA),
    claim("F.7_36", "Lemma F.7, Eq. (36)", "after stage 1 Γ_ss ≤ -(2/M) p (1-p)²", matching_columns_gain_two_over_M,
          control={"kind": "other_other"}, regime="K = 3, α = 0.4, M = 20 and 200"),
    claim("F.7_38", "Lemma F.7, Eq. (38)", "after stage 1 |Γ_ds| ≤ p (1-p)²/(2M)", other_patterns_hardly_move,
          control={"kind": "same_same"}, regime="K = 3, α = 0.4, M = 20 and 200"),
    claim("F.7_37_39", "Lemma F.7, Eqs. (37), (39)", "after stage 1 |Γ_sd| and |Γ_dd| are at most ε",
          other_steps_hardly_move, control={"start": 0.0}, regime="K = 3, α = 0.4"),
    claim("sign_of_b", "unmentioned [ours]", "columns whose label is the query's pattern are suppressed: b < 0",
          label_score_is_negative, control={"coordinate": "a"}),
]  # fmt: skip
