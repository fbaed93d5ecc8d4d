"""Stage 1.2 for symmetric groups (Appendix E): a gap that stays, and what the appendix's threshold gives."""

import numpy as np

from flowsys.claims import Verdict, Word, judged, listed, word_of
from flowsys.systems.lego.claims.runs import by_name, claim, run, values
from flowsys.systems.lego.closed_forms import c_1, log_loss_threshold

CLIPS = (4.0, 6.0, 8.0)
AT_THRESHOLD = "loss^{2,2} = d^(3.025 - C_B), d = 1e3"


def at_threshold(group: str, C_B: float, observe: tuple[str, ...] = ("eps_attention", "gap")) -> dict[str, float]:
    """Where Loss^{2,2}, trained alone, falls to e^((-1/2 + 3.01 c_1) 2B)."""
    target = float(np.exp(log_loss_threshold(C_B, 1e3)))
    return values("loss_threshold", group=group, C_B=C_B, trained_steps="second", loss_target=target, observe=observe)


def gap_does_not_close(group: str = "S4") -> Verdict:
    """Section 6.2.2: the gap is bounded by a small constant, but does not close."""
    gaps = run(1e4, 1e6, 1e8, group=group)["gap"]
    last = run(1e4, 1e8, group=group, C_B=8.0)["gap"]
    stays = abs(gaps[-1] / gaps[0]) > 0.5
    return judged(stays and abs(gaps).max() < 0.25, "0 < |Δ| ≤ a constant",
                  f"{listed(gaps)} at τ = 1e4, 1e6, 1e8 (C_B = 3); {listed(last)} at 1e4, 1e8 (C_B = 8)",
                  note="the sign turns with C_B", tolerance=0.25, parameters={"group": group},
                  values={"C_B = 3": gaps.tolist(), "C_B = 8": last.tolist()})  # fmt: skip


def predicate_gap_stays_below_c_1(scale: float = 1.0) -> Verdict:
    """Lemma E.33: attention on the predicate exceeds that on the answer by at most c_1 = 1.005 log d / (2B)."""
    ratios = {f"{g} C_B={c:g}": at_threshold(g, c)["gap"] / (scale * c_1(c)) for g in ("S3", "S4") for c in CLIPS}
    along = float(run(1e4, 1e6, 1e8, group="S4")["gap"].max() / (scale * c_1(3.0)))
    word = Word.FAILS if max(ratios.values()) > 1 else Word.HOLDS if along <= 1 else Word.IN_PART
    return Verdict(word, "Δ/c_1 ≤ 1", f"at the threshold {by_name(ratios, '.2f')}",
                   f"with Loss^{{2,1}} too (C_B = 3, τ ≤ 1e8) S4 reaches {along:.2f} c_1", tolerance=1.0,
                   parameters={"C_B": CLIPS, "d": 1e3}, values={**ratios, "S4 C_B=3": along})  # fmt: skip


def answer_gap_stays_below_the_attention_error(margin: float = 0.0) -> Verdict:
    """Lemma E.34: attention on the answer exceeds that on the predicate by at most max(Attn(pred_1) - c_2, 0)."""
    found = {}
    for group in ("S3", "S4"):
        for C_B in CLIPS:
            end = at_threshold(group, C_B)
            # by symmetry each of the two clauses that do not matter takes ε/2; c_2 = log d / (4.02 B)
            allowed = max(end["eps_attention"] / 2 - 1 / (4.02 * C_B), 0.0) - margin
            found[f"{group} C_B={C_B:g}"] = (max(-end["gap"], 0.0), allowed)
    beyond = [name for name, (gap, allowed) in found.items() if gap > allowed]
    word = word_of(name not in beyond for name in found)
    text = ", ".join(f"{name}: {gap:.4f} of {allowed:.4f}" for name, (gap, allowed) in found.items())
    return Verdict(word, "max(-Δ, 0) ≤ max(ε/2 - c_2, 0)", text,
                   f"beyond what the lemma, which has n_y → ∞, allows: {', '.join(beyond) or 'none'}",
                   parameters={"C_B": CLIPS, "d": 1e3}, values={k: list(v) for k, v in found.items()})  # fmt: skip


def attention_error_at_the_threshold_is_below_its_bound(scale: float = 1.0) -> Verdict:
    """Lemma E.35 (a): ε^{2,2} ≤ 2.52 c_1 when the loss falls to the threshold."""
    ratios = {f"{g} C_B={c:g}": at_threshold(g, c)["eps_attention"] / (2.52 * scale * c_1(c))
              for g in ("S3", "S4") for c in CLIPS}  # fmt: skip
    times = {f"{g} C_B={c:g}": at_threshold(g, c)["t"] for g in ("S3", "S4") for c in CLIPS}
    return judged(max(ratios.values()) <= 1, "ε/(2.52 c_1) ≤ 1", by_name(ratios, ".3f"),
                  note=f"best constant {2.52 * max(ratios.values()):.3f} c_1; reached at τ = {by_name(times, '.3g')}",
                  interval=(min(ratios.values()), max(ratios.values())), parameters={"C_B": CLIPS, "d": 1e3},
                  values={"ratios": ratios, "tau": times})  # fmt: skip


def doubled_length_is_solved_at_the_threshold(C_B: float = 8.0) -> Verdict:
    """Theorem 5.1 at k = 1: the model at the threshold has Acc_4 = 1 - 1/poly(d)."""
    names = ("accuracy", "L_star")
    found = {f"{g} C_B={c:g}": at_threshold(g, c, names) for g in ("S3", "S4") for c in (4.0, 6.0, C_B)}
    misses = {name: 1 - end["accuracy"] for name, end in found.items()}
    longest = {name: end["L_star"] for name, end in found.items()}
    solved = [misses[f"{g} C_B={c:g}"] < 1 / 1e3 for g in ("S3", "S4") for c in (6.0, C_B)]
    top = [misses[f"{g} C_B={C_B:g}"] < 1 / 1e3 for g in ("S3", "S4")]
    word = Word.HOLDS if all(solved) and max(misses.values()) < 1e-3 else Word.IN_PART if all(top) else Word.FAILS
    return Verdict(word, "1 - Acc_4 ≤ 1/d", f"1 - Acc_4: {by_name(misses, '.2g')}; L* {by_name(longest, 'g')}",
                   f"needs C_B = B/log d large; solved: {', '.join(n for n, x in misses.items() if x < 1e-3)}",
                   tolerance=1e-3,
                   parameters={"d": 1e3, "C_B": (4.0, 6.0, C_B)}, values=misses)  # fmt: skip


CLAIMS = [
    claim("symmetric_gap", "Section 6.2.2", "for S_n the gap stays bounded and does not close", gap_does_not_close,
          control={"group": "C3"}, regime="S4, C_B = 3", takes="d rho q bias n_x"),
    claim("E.33", "Lemma E.33", "predicate attention exceeds answer attention by at most c_1",
          predicate_gap_stays_below_c_1, control={"scale": 0.05}, regime=AT_THRESHOLD),
    claim("E.34", "Lemma E.34", "answer attention exceeds predicate attention by at most Attn(pred_1) - c_2",
          answer_gap_stays_below_the_attention_error, control={"margin": 1.0}, regime=AT_THRESHOLD),
    claim("E.35", "Lemma E.35 (a)", "ε^{2,2} ≤ 2.52 c_1 at the end of stage 1.2.2",
          attention_error_at_the_threshold_is_below_its_bound, control={"scale": 0.8}, regime=AT_THRESHOLD),
    claim("5.1_threshold", "Theorem 5.1, k = 1", "the model of stage 1.2 solves length 4",
          doubled_length_is_solved_at_the_threshold, control={"C_B": 5.0}, regime=AT_THRESHOLD, is_cheap=False),
]  # fmt: skip
