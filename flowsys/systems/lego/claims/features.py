"""The layer stage 1 leaves (Theorems B.1, C.1, Eqs. 17, 18): the isotropic flow against its closed forms.

Logits are clipped by min(F, B), along which the flow slides; the rounded clip of width ω goes beyond B like ω log t.
"""

from math import factorial

import numpy as np

from flowsys.claims import Verdict, Word, judged, listed
from flowsys.claims.conditions import chosen_parameters
from flowsys.laws.fits import line, power_law
from flowsys.systems.lego import groups
from flowsys.systems.lego.claims.runs import by_name, claim, layer, layer_values
from flowsys.systems.lego.closed_forms import C_alpha, clip_level, final_features, phase_1_time

SMALL = {"bias": 1e-3, "V_0": 1.1e-3, "C_B": 2.0}
LATE = 1e12
REGIME = "isotropic layer, d = 1e3, C_B = 2, b = 1e-3"


def phase_1_ends_when_the_tensor_power_method_says(extra_power: int = 0) -> Verdict:
    """Eq. (16), Lemma B.8: the winner grows like (V + b)^(q-1) and reaches ϱ at t_1 in closed form."""
    ratios = {}
    for group in ("C3", "C5", "S3"):
        for q in (4, 6):
            t = layer_values("phase_1", group=group, q=q, V_0=0.01)["t"]
            ratios[f"{group} q={q}"] = t / phase_1_time(0.02, *groups.sizes(group), q + extra_power, 0.3)
    worst = max(abs(r - 1) for r in ratios.values())
    return judged(worst < 5e-3, "t = t_* (1 - (x_0/ϱ)^(q-2))", f"flow over closed form {by_name(ratios, '.4f')}",
                  tolerance=5e-3, parameters={"bias": 0.01, "V_0": 0.01, "rho": 0.3}, values=ratios)  # fmt: skip


def phase_1_time_falls_with_the_start_like_its_power(predicted_shift: float = 0.0) -> Verdict:
    """Theorem 4.1: T_1 ∝ σ_0^-(q-2), here over x_0 = b + V_0."""
    starts, fits = (0.02, 0.01, 0.005, 0.0025, 0.00125), {}
    for q in (4, 6):
        times = [layer_values("phase_1", group="C3", q=q, bias=x / 2, V_0=x / 2)["t"] for x in starts]
        fits[q] = power_law(starts, times)
    worst = max(abs(fit.slope + q - 2 + predicted_shift) for q, fit in fits.items())
    return judged(worst < 0.05, "exponent -(q-2)", "; ".join(f"q = {q}: {fit}" for q, fit in fits.items()),
                  interval=fits[4].interval, tolerance=0.05, parameters={"b = V_0": [x / 2 for x in starts]},
                  values={q: fit.slope for q, fit in fits.items()},
                  fits={f"q = {q}": fit for q, fit in fits.items()})  # fmt: skip


def features_end_at_the_clip_level(clip: str = "hard") -> Verdict:
    """Eqs. (17a, b), Theorem B.1 (A, C): V(g), V(y) → B in the combination, -B off it, for C3."""
    end = layer_values(LATE, group="C3", clip=clip, **SMALL)
    B = clip_level(SMALL["C_B"], chosen_parameters({}).get("d", 1e3))
    ratios = {name: end[name] / B for name in ("a", "c", "b_prime", "e")}
    rounded = layer_values(LATE, group="C3", clip="smooth", **SMALL)
    worst = max(abs(abs(ratio) - 1) for ratio in ratios.values())
    return judged(worst < 0.03, "a = c = B, b' = e = -B", f"over B: {by_name(ratios, '.4f')}",
                  note=f"min(F, B) stops F_c = V + b - ϱ (1 - 1/q) at B, so V ends at B + {end['V_psi'] - B:.3f}; "
                  f"the rounded clip (ω = 0.1) lets V grow on like ω log t: {rounded['a'] / B:.3f} B; no clip: no end",
                  tolerance=0.03, parameters={"group": "C3", "t": LATE, **SMALL}, values=ratios)  # fmt: skip


def confounders_cancel(clip: str = "smooth") -> Verdict:
    """Eqs. (17c), (18c), Theorem B.1 (B): (a + e)/2 and (b' + c)/2 → o(1)."""
    times, found = (6e5, 6e7, 6e9, 6e11), {}
    for group in ("C3", "S3"):
        run = layer(*times, group=group, clip=clip, **SMALL)
        found[group] = np.maximum(run["confounder_ae"], run["confounder_bc"])
    slid = layer(*times, group="C3", clip="hard", **SMALL)["confounder_ae"]
    free = layer_values(6e11, group="C3", clip="none", **SMALL)
    last = max(values[-1] for values in found.values())
    return judged(last < 0.05, "o(1)", f"largest at t = 6e5, 6e7, 6e9, 6e11: C3 {listed(found['C3'], '.3g')}; "
                  f"S3 {listed(found['S3'], '.3g')}; C3 with min(F, B) {listed(slid, '.3g')}",
                  note=f"without the clip it does not happen: at t = 6e11 confounders are {free['confounder_ae']:.2f}, "
                  f"V_psi = {free['V_psi']:.1f}", tolerance=0.05, parameters={"t": times, **SMALL},
                  values={group: values.tolist() for group, values in found.items()})  # fmt: skip


def feature_ratio_tends_to_C_alpha(clip: str = "smooth") -> Verdict:
    """Theorem C.1 (C): V(g) = C_α V(y)."""
    ends = {name: layer_values(LATE, group=name, clip=clip, **SMALL)["a_over_c"] for name in ("S3", "S4")}
    slid = {name: layer_values(LATE, group=name, clip="hard", **SMALL)["a_over_c"] for name in ends}
    free = {name: layer_values(LATE, group=name, clip="none", **SMALL)["a_over_c"] for name in ends}
    exact = {name: float(C_alpha(*groups.sizes(name))) for name in ends}
    worst = max(abs(ends[name] / exact[name] - 1) for name in ends)
    return judged(worst < 1e-3, f"a/c = {by_name(exact, '.4f')}", f"a/c = {by_name(ends, '.4f')} at t = 1e12",
                  note=f"with min(F, B): {by_name(slid, '.4f')}; without a clip: {by_name(free, '.4f')}",
                  tolerance=1e-3, parameters={"t": LATE, **SMALL}, values=ends)  # fmt: skip


def symmetric_features_are_twice_B_and_twice_B_over_n(multiple: float = 2.0) -> Verdict:
    """Eq. (18): a = 2B and c = 2B/n_y; the conservation law has 2 B C_α/(1 + C_α) and 2B/(1 + C_α)."""
    end = layer_values(LATE, group="S4", clip="smooth", **SMALL)
    level = (end["a"] + end["c"]) / 2
    measured, printed = (end["a"] / level, end["c"] / level), (multiple, multiple / 4)
    closed = {n: final_features(float(factorial(n)), n, 1.0) for n in (4, 5, 10, 40)}
    over = {n: (y.a / multiple, y.c * n / multiple) for n, y in closed.items()}
    is_here = max(abs(m / p - 1) for m, p in zip(measured, printed)) < 0.05
    is_leading_order = max(abs(ratio - 1) for ratio in over[40]) < 0.05
    word = Word.HOLDS if is_here else Word.IN_PART if is_leading_order else Word.FAILS
    tends = ", ".join(f"S{n} {a:.3f}, {c:.3f}" for n, (a, c) in over.items())
    return Verdict(word, f"a/B, c/B = {listed(printed)}", f"{listed(measured)} for S4, B being (a + c)/2",
                   f"only the n_y → ∞ leading order: exact a, c over Eq. (18): {tends}", tolerance=0.05,
                   parameters={"group": "S4", "t": LATE, **SMALL},
                   values={"a": measured[0], "c": measured[1]})  # fmt: skip


def small_head_starts_are_trapped_by_a_large_bias(bias: float = 0.1) -> Verdict:
    """[ours] If all pre-activations turn linear before the winner has won, F is additive: loss log n_y for ever."""
    ratios = (0.05, 0.1, 0.2, 0.4, 0.8)
    gaps = {b: [layer_values(1e6, group="C3", bias=b, V_0=b * r, clip="none") for r in ratios]
            for b in (bias, 0.03, 0.01)}  # fmt: skip
    is_trapped = {b: [abs(v["F_gap"]) < 1e-6 for v in found] for b, found in gaps.items()}
    losses = [v["loss"] for found in gaps.values() for v in found if abs(v["F_gap"]) < 1e-6]
    expected = {bias: [True] * 5, 0.03: [True, True, False, False, False], 0.01: [False] * 5}
    at_log_3 = max((abs(loss - np.log(3)) for loss in losses), default=np.inf)
    return judged(is_trapped == expected and at_log_3 < 1e-3, "trapped at b = 0.1; at b = 0.03 below V_0/b = 0.2; free "
                  "at b = 0.01", "; ".join(f"b = {b:g}: trapped at V_0/b = "
                                            f"{listed([r for r, t in zip(ratios, now) if t]) or 'none'}"
                                            for b, now in is_trapped.items()),
                  note=f"trapped loss log 3 within {at_log_3:.0e}, F_c = F_w", tolerance=1e-3,
                  parameters={"V_0/b": ratios, "group": "C3", "clip": "none"},
                  values={"gaps": {b: [v["F_gap"] for v in found] for b, found in gaps.items()}})  # fmt: skip


def rounded_clip_creeps_like_its_width(width: float = 0.1) -> Verdict:
    """[ours] With F̃ = B - ω softplus((B - F)/ω) the correct logit goes beyond B like ω log t."""
    times = (1e9, 1e10, 1e11, 1e12)  # once the confounders are gone
    F = layer(*times, group="C3", clip_width=width, **SMALL)["F_c"]
    fit = line(np.log(times), F)
    return judged(abs(fit.slope / 0.1 - 1) < 0.05, "dF_c / d log t = ω = 0.1", f"{fit}", interval=fit.interval,
                  tolerance=0.05, parameters={"clip_width": width, **SMALL}, values={"slope": fit.slope},
                  fits={"F_c": fit})  # fmt: skip


CLAIMS = [
    claim("phase_1_time", "Eq. (16), Lemmas B.8, B.13", "phase I ends at the tensor power method's time",
          phase_1_ends_when_the_tensor_power_method_says, control={"extra_power": 2},
          regime="isotropic layer, b = V_0 = 0.01"),
    claim("phase_1_exponent", "Theorem 4.1", "stage 1 takes a time ∝ σ_0^-(q-2)",
          phase_1_time_falls_with_the_start_like_its_power, control={"predicted_shift": 1.0},
          regime="isotropic layer, C3"),
    claim("Eq17ab", "Eq. (17), Theorem B.1 (A, C)", "features end at B in the combination, at -B off it",
          features_end_at_the_clip_level, control={"clip": "none"}, regime=REGIME, takes="d rho q"),
    claim("Eq17c_18c", "Eqs. (17), (18), Theorem B.1 (B), Theorem C.1 (B)", "confounding features cancel",
          confounders_cancel, control={"clip": "none"}, regime=REGIME, takes="d rho q"),
    claim("C.1_C", "Theorem C.1 (C)", "V(g) / V(y) → C_α", feature_ratio_tends_to_C_alpha, control={"clip": "none"},
          regime=REGIME, takes="d rho q"),
    claim("Eq18", "Eq. (18)", "a = 2B and c = 2B/n_y for the symmetric group",
          symmetric_features_are_twice_B_and_twice_B_over_n, control={"multiple": 1.0},
          regime="n_y → ∞; here " + REGIME),
    claim("additive_trap", "Section 6.1.2 [ours]", "too large a bias traps the layer in an additive function",
          small_head_starts_are_trapped_by_a_large_bias, control={"bias": 0.02},
          regime="isotropic layer, C3, ϱ = 0.3, no clip"),
    claim("clip_creep", "Assumption 3.4 [ours]", "a rounded clip is passed at ω log t",
          rounded_clip_creeps_like_its_width, control={"width": 0.2}, regime=REGIME),
]  # fmt: skip
