"""Stage 2 for simply transitive groups (Appendix D): the gap opens, stays bounded, closes; attention concentrates."""

import numpy as np

from flowsys.claims import Verdict, Word, judged, listed
from flowsys.claims.conditions import current
from flowsys.laws.fits import power_law
from flowsys.systems.lego.claims.runs import LAYER_SHAPE, by_name, claim, run, values, vocabulary_size

SIZES = (100.0, 1e3, 1e4)
CLIPS = (2.0, 3.0)


def first_step_opens_a_gap(C_B: float = 4.0, group: str = "C5") -> Verdict:
    """Lemma D.21 (b): when α = 1/log d the gap is α - γ = Ω(1/log d), i.e. a constant part of α over d."""
    shares = {}
    for clip in (2.0, 3.0, C_B):
        ends = [values("stage_2_1", group=group, d=d, C_B=clip) for d in SIZES]
        shares[clip] = np.array([end["alpha_minus_gamma"] / end["alpha"] for end in ends])
    late = values("stage_2_1", group=group, d=1e8, C_B=C_B)
    top = shares[C_B]
    constant = min(top.min(), late["alpha_minus_gamma"] / late["alpha"]) > 0.2 and top[-1] / top[0] > 0.8
    small = shares[2.0][-1] / shares[2.0][0] > 0.8
    word = Word.HOLDS if constant and small else Word.IN_PART if constant else Word.FAILS
    return Verdict(word, "(α - γ)/α = Ω(1) at the end of stage 2.1",
                   "at d = 1e2, 1e3, 1e4: " + "; ".join(f"C_B = {c:g}: {listed(s, '.3f')}" for c, s in shares.items())
                   + f"; d = 1e8, C_B = {C_B:g}: {late['alpha_minus_gamma'] / late['alpha']:.3f}",
                   "needs the spurious logit B/3 above log d, C_B > 3; at C_B = 2 the share falls with d",
                   tolerance=0.2, parameters={"group": group, "d": SIZES, "C_B": (2.0, 3.0, C_B)},
                   values={clip: s.tolist() for clip, s in shares.items()})  # fmt: skip


def gap_comes_from_the_first_step_alone(trained_steps: str = "second") -> Verdict:
    """Lemma D.18, stage 2.1: -∇Loss^{2,2} makes no gap at first; trained alone it never does, α = γ."""
    # the flow of whole blocks is stiff after α = 1, which it passes by τ = 3
    times = (0.1, 1.0, 3.0) if current().is_finite else ("stage_2_1", "stage_2_2", "loss_threshold", 1e6)
    gaps = {}
    for group in ("C3", "C5"):
        found = run(*times, group=group, trained_steps=trained_steps)
        gaps[group] = float(np.abs(found["alpha_minus_gamma"]).max())
    return judged(max(gaps.values()) < 1e-7, "α = γ for all time", f"largest |α - γ| {by_name(gaps, '.1e')}",
                  tolerance=1e-7, parameters={"trained_steps": trained_steps, "t": times[-1]}, values=gaps)  # fmt: skip


def _drive_of_first_step(C_B: float) -> np.ndarray:
    """-∂_α Loss^{2,1} and -∂_γ Loss^{2,1} at Q = 0 for C3: what both steps drive less what the second does."""
    short = 1e-9
    both, second = (run(short, group="C3", C_B=C_B, trained_steps=steps, observe=("alpha", "gamma"))
                    for steps in ("first_two", "second"))  # fmt: skip
    return np.array([(both[name][0] - second[name][0]) / short for name in ("alpha", "gamma")])


def first_step_drives_alpha_and_not_gamma(C_B: float = 8.0) -> Verdict:
    """Stage 2.1: 0 ≤ -∂_γ Loss^{2,1} ≪ -∂_α Loss^{2,1}, and γ never turns negative."""
    drives = {clip: _drive_of_first_step(clip) for clip in (3.0, C_B)}
    least = min(float(run(*map(float, np.geomspace(1e-3, 1e8, 56)), group=g, C_B=c)["gamma"].min())
                for g in ("C3", "C5") for c in (3.0, C_B))  # fmt: skip
    alpha, gamma = drives[C_B]
    return judged(least > 0 and drives[3.0][1] > 0 and -1e-6 < gamma < 1e-3 * alpha,
                  "0 ≤ dγ/dτ ≪ dα/dτ at Q = 0; γ ≥ 0",
                  "dα/dτ, dγ/dτ by the first step: "
                  + "; ".join(f"C_B = {c:g}: {listed(pair, '.3g')}" for c, pair in drives.items())
                  + f"; least γ to τ = 1e8: {least:.2g}", note="needs B/3 > log d: a quarter of α's at C_B = 3",
                  tolerance=1e-3, parameters={"group": "C3", "C_B": tuple(drives)},
                  values={clip: pair.tolist() for clip, pair in drives.items()})  # fmt: skip


def gap_of_scores_stays_bounded(C_B: float = 3.0, most: float = 1.0) -> Verdict:
    """Lemma D.33 (b): α - γ stays within [Ω(1/log d), O(1)] through stage 2.2."""
    found = {}
    for group in ("C3", "C5"):
        for clip in (C_B, 8.0):
            times = np.geomspace(1e-2, 1e8, 61)
            course = run(*map(float, times), group=group, C_B=clip)
            inside = course["alpha"] > 1 / np.log(1e3)
            before = inside & (course["alpha"] <= 1)
            found[group, clip] = (float(course["alpha_minus_gamma"][before].min() * np.log(1e3)),
                                  float(course["alpha_minus_gamma"][inside].max()))  # fmt: skip
    scaled = {event: [values(event, d=d)["alpha_minus_gamma"] * np.log(d) for d in SIZES]
              for event in ("stage_2_1", "stage_2_2")}  # fmt: skip
    largest = max(pair[1] for pair in found.values())
    least = min(*(pair[0] for pair in found.values()), *(min(x) for x in scaled.values()))
    text = "; ".join(f"{g} C_B = {c:g}: {low:.3f}, {high:.3f}" for (g, c), (low, high) in found.items())
    return judged(least > 0.2 and largest < most, "(α - γ) log d ≥ a constant and α - γ = O(1)",
                  f"least (α - γ) log d in stage 2.2 and largest α - γ to τ = 1e8: {text}; C5 at d = 1e2, 1e3, 1e4: "
                  f"(α - γ) log d = {listed(scaled['stage_2_1'], '.3f')} where stage 2.2 starts, "
                  f"{listed(scaled['stage_2_2'], '.3f')} where it ends", tolerance=most,
                  parameters={"d": SIZES, "t": 1e8},
                  values={**{str(key): pair for key, pair in found.items()}, **scaled})  # fmt: skip


def gap_closes(group: str = "C3", C_B: float = 3.0) -> Verdict:
    """Lemma D.45 (a): Δ^{2,2} = o(1) at the end of stage 2.3."""
    floor = vocabulary_size(group=group, C_B=C_B) ** (C_B - 1)  # the inverse of the loss floor is the scale of time
    times = tuple(float(x * floor) for x in (8e-3, 1, 100))
    gaps = run(*times, group=group, C_B=C_B)["gap"]
    peak = _largest_gap(group, C_B, floor)
    note = ""
    if not current().is_finite:
        late = values(1e8, group=group, C_B=8.0, observe=("gap", "gap_rate"))
        course = "rising" if late["gap_rate"] * late["gap"] > 0 else "falling"
        note = f"at C_B = 8 {late['gap']:.4f} and {course} at τ = 1e8: the time scale is e^B"
    return judged(abs(gaps[-1]) < 1e-3 * abs(peak["gap"]), "Δ → 0",
                  f"peak {peak['gap']:.4f} at τ = {peak['t']:.3g}; {listed(gaps, '.3g')} at τ = {listed(times, '.3g')}",
                  note=note, tolerance=1e-3, parameters={"group": group, "C_B": C_B},
                  values={"gaps": gaps.tolist(), "peak": peak["gap"], "tau_peak": peak["t"]})  # fmt: skip


def _largest_gap(group: str, C_B: float, floor: float) -> dict[str, float]:
    """The gap where it turns; of whole blocks, the largest at some times before the floor's scale."""
    if not current().is_finite:
        return values("gap_peak", group=group, C_B=C_B)
    course = run(*map(float, np.geomspace(1e-4, 1, 25) * floor), group=group, C_B=C_B)
    top = int(np.abs(course["gap"]).argmax())
    return {"gap": float(course["gap"][top]), "t": float(course.t[top])}


def gap_peaks_at_the_inverse_loss_floor(C_B: float = 3.0) -> Verdict:
    """[ours] The gap turns at τ ∝ d^(C_B - 1), the inverse of the loss floor d^(1 - C_B)."""
    fits = {clip: power_law(SIZES, [values("gap_peak", d=d, C_B=clip)["t"] for d in SIZES]) for clip in CLIPS}
    fit = fits[C_B]
    return judged(abs(fit.slope - (C_B - 1)) < 0.2, f"d^{C_B - 1:g} at C_B = {C_B:g}",
                  "; ".join(f"d^{found} at C_B = {clip:g}" for clip, found in fits.items()),
                  note="three sizes; steeper than d^(C_B - 1) at C_B = 2", interval=fit.interval, tolerance=0.2,
                  parameters={"d": SIZES, "group": "C5"}, values={c: f.slope for c, f in fits.items()},
                  fits={f"C_B = {c:g}": f for c, f in fits.items()})  # fmt: skip


def attention_error_is_a_power_of_d(C_B: float = 3.0) -> Verdict:
    """Theorem 4.1 (8): after poly(d) time ε^{2,2} = O(d^-c*), c* > 0 a constant."""
    ends = [values(tau, group="C3", C_B=C_B)["eps_attention"] for tau in (1e4, 1e6, 1e8)]
    sizes = np.geomspace(1e2, 1e4, 5)
    at = lambda d, power: values(float(d**power), group="C3", C_B=C_B, d=float(d))["eps_attention"]
    fits = {power: power_law(sizes, [at(d, power) for d in sizes]) for power in (2.0, 2.5, 3.0)}
    fit = fits[3.0]
    return judged(ends[-1] < 1e-3 and fit.interval[1] < -0.1, "ε ∝ d^-c* when trained for d^p",
                  f"ε = {listed(ends, '.3g')} at τ = 1e4, 1e6, 1e8 (d = 1e3): c* = "
                  f"{listed(-np.log(ends) / np.log(1e3), '.2f')}; over d = 1e2 to 1e4: "
                  + "; ".join(f"τ = d^{power:g}: d^{found}" for power, found in fits.items()),
                  note="c* is set by the stopping time: ε keeps falling like 1/τ", interval=fit.interval,
                  parameters={"group": "C3", "C_B": C_B, "d": sizes.tolist()},
                  values={"eps": ends, "exponents": {p: f.slope for p, f in fits.items()}},
                  fits={f"τ = d^{p:g}": f for p, f in fits.items()})  # fmt: skip


def attention_error_falls_like_one_over_time(factor: float = 1.0) -> Verdict:
    """[ours] Late in stage 2.3, dlog ε / dlog τ → -1."""
    slopes = {}
    for C_B in CLIPS:
        for d in SIZES:
            late = values(1e10, d=d, C_B=C_B, observe=("log_eps_rate",))
            slopes[f"d = {d:g}, C_B = {C_B:g}"] = factor * 1e10 * late["log_eps_rate"]
    settled = [slope for name, slope in slopes.items() if name != "d = 10000, C_B = 3"]
    return judged(max(abs(slope + 1) for slope in settled) < 5e-3, "-1", by_name(slopes, ".4f"),
                  note="τ = 1e10; the last has not settled", tolerance=5e-3, parameters={"group": "C5"},
                  values=slopes)  # fmt: skip


def off_diagonal_entries_stay_small(doubled: bool = False) -> Verdict:
    """Lemma D.20, Induction D.1: |off-diagonal| = O(diagonal / n_x)."""
    sizes = (10, 20, 40, 80, 160)
    ends = [values("loss_threshold", group="C3", n_x=n, observe=("alpha", "beta", "gamma", "delta")) for n in sizes]
    beta, delta = ([abs(end[x] / end[y]) for end in ends] for x, y in (("beta", "alpha"), ("delta", "gamma")))
    fits = {"β/α": power_law(sizes, beta), "δ/γ": power_law(sizes, delta)}
    predicted = -2.0 if doubled else -1.0
    worst = max(abs(fit.slope - predicted) for fit in fits.values())
    return judged(worst < 0.1, f"n_x^{predicted:g}", "; ".join(f"{name} ∝ n_x^{fit}" for name, fit in fits.items()),
                  interval=fits["β/α"].interval, tolerance=0.1, parameters={"group": "C3", "n_x": sizes, "loss": 1e-4},
                  values={name: fit.slope for name, fit in fits.items()}, fits=fits)  # fmt: skip


CLAIMS = [
    claim("D.21", "Section 6.2.1, Lemma D.21", "a gap α - γ = Ω(1/log d) opens", first_step_opens_a_gap,
          control={"C_B": 1.5}, regime="C_B > 3; C5", takes=LAYER_SHAPE),
    claim("D.18", "Section 6.2.1, Lemma D.18", "the gap is made by the first step alone",
          gap_comes_from_the_first_step_alone, control={"trained_steps": "first_two"}, takes=f"d C_B n_x {LAYER_SHAPE}",
          levels="L0 L2 L3"),
    claim("drive_of_gamma", "Section 6.2.1", "the first step drives α and not γ", first_step_drives_alpha_and_not_gamma,
          control={"C_B": 3.5}, regime="B/3 ≫ log d; C3", takes=f"d {LAYER_SHAPE}"),
    claim("D.33", "Section 6.2.1, Lemma D.33", "α - γ stays within [Ω(1/log d), O(1)]", gap_of_scores_stays_bounded,
          control={"most": 0.2}),
    claim("D.45_gap", "Section 6.2.1, Lemma D.45 (a)", "the gap closes", gap_closes, control={"group": "S3"},
          regime="C3, C_B = 3, τ = 100 d^(C_B - 1)", takes=f"d n_x {LAYER_SHAPE}", levels="L2 L3"),
    claim("gap_peak", "Section 6.2.1 [ours]", "the gap turns at τ ∝ d^(C_B - 1)", gap_peaks_at_the_inverse_loss_floor,
          control={"C_B": 2.0}, regime="C5, C_B = 3", takes=f"group {LAYER_SHAPE}"),
    claim("4.1_8", "Theorem 4.1, Eq. (8)", "attention concentrates to ε = O(d^-c*)", attention_error_is_a_power_of_d,
          control={"C_B": 8.0}, regime="C3, C_B = 3", takes=LAYER_SHAPE),
    claim("eps_rate", "Section 6.2.1 [ours]", "late, ε falls like 1/τ", attention_error_falls_like_one_over_time,
          control={"factor": 0.5}, regime="C5, τ = 1e10", is_cheap=False, takes=f"group {LAYER_SHAPE}"),
    claim("D.20", "Lemma D.20", "off-diagonal scores are O(1/n_x)", off_diagonal_entries_stay_small,
          control={"doubled": True}, regime="C3, loss 1e-4", takes=f"d C_B {LAYER_SHAPE}"),
]  # fmt: skip
