"""Claims about correlations, scores and attention (Corollary 4.6, Lemma 4.7, Theorems 3.2 and 3.3, Corollary F.17)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, Word, judged
from flowsys.claims.conditions import at_level
from flowsys.laws.fits import power_law
from flowsys.systems.cooccurrence.claims.runs import (
    ANYWHERE,
    SCALES,
    SIZES,
    STRONG,
    TRAINED,
    WIDTH,
    Place,
    asked,
    claim,
    last_tau,
    limit,
    moved,
    phase_2,
    places,
    run,
)
from flowsys.systems.cooccurrence.scales import Scales


def value_correlations_grow_apart(since: str | None = "T_1", **shares: float) -> Verdict:
    """In phase 2 the correlations VV_11 and VV_12 grow and VV_13 falls."""
    # the control looks from the start, with so many samples of type 1 that the common word's value rises at first
    least, sizes = {}, places(SIZES[:2])
    for place in sizes:
        p = phase_2(place, since, **shares)
        stated = (p["VV_11"], p["VV_12"], -p["VV_13"])
        least[place.n] = [float(np.diff(x).min()) for x in stated]
    return judged(min(min(x) for x in least.values()) > 0, "VV_11, VV_12 rise; VV_13 falls",
                  f"least step in the stated direction up to τ = {last_tau():g}: "
                  + "; ".join(f"n={n:g}: {', '.join(f'{x:.1e}' for x in three)}" for n, three in least.items()),
                  parameters=sizes[0].parameters(**shares), values={"least": least})  # fmt: skip


def scores_have_the_stated_signs(sizes=SIZES) -> Verdict:
    """In phase 2 Ṡ_12, Ṡ_21 > 0 and Ṡ_31, Ṡ_32 < 0: each target attends to the other, less to the common word."""
    sizes = places(sizes)
    least = {place.n: float(phase_2(place)["score_signs"].min()) for place in sizes}
    early = tuple(np.linspace(0.1, 10, 40).tolist())
    phase_1 = run(sizes[0], taus=early, observe=("score_signs",))["score_signs"].min()
    turned = limit(600, STRONG, ["T_star"], observe=["d_S_31", "d_S_21"])
    return judged(min(least.values()) > 0, "min(Ṡ_12, Ṡ_21, -Ṡ_31, -Ṡ_32) > 0",
                  "; ".join(f"n={n:g}: {x:.1e}" for n, x in least.items()) + f"; in phase 1 {phase_1:.1e}",
                  note="In the limit already true in phase 1. Not true for strong attention: at lambda = 4 "
                  f"(rho = delta = 1) S_31 turns and rises ({float(turned['d_S_31'][0]):.1e} at loss 1e-3) once μ1 "
                  "attends to μ2 alone, while Ṡ_21 stays positive.",
                  parameters=sizes[0].parameters(), values={"least": least})  # fmt: skip


def scores_grow_at_the_rate_of_the_loss(power: float = 1.0) -> Verdict:
    """In phase 2 Ṡ_21 = Θ̃(loss · σ_0² m/(√m L))."""
    (place,) = places(SIZES[:1])
    p = phase_2(place)
    ratio = p["d_S_21"] / (p["loss"] ** power * place.scales.alpha * place.scales.score_scale / place.L)
    over_G = ratio / p["G_mu1"]
    shown = ", ".join(f"{ratio[i]:.2f} (τ={p['tau'][i]:.3g})" for i in np.linspace(0, len(ratio) - 1, 6, dtype=int))
    share = float(-p["d_S_31"][-1] / p["d_S_21"][-1])
    # up to logarithms: in proportion to G(μ1), which grows like log τ, while the loss falls by powers of ten
    return judged(bool(over_G.min() > 0.1 and over_G.max() < 2 * over_G.min()), "ratio of order 1 up to logarithms",
                  f"ratio {shown}; over G(μ1) {over_G[0]:.2f} … {over_G[-1]:.2f}; -Ṡ_31/Ṡ_21 → {share:.2f}",
                  note="The ratio grows like log τ, as G(μ1) does, so Θ̃ is needed and Θ would be wrong.",
                  parameters=place.parameters(), values={"ratio": ratio.tolist()[::10]})  # fmt: skip


def attention_stays_uniform(sizes=SIZES[:2]) -> Verdict:
    """|p - 1/L| stays below O(1/L²) through phase 2."""
    sizes = places(sizes)
    largest = {place.n: float(phase_2(place)["attention_deviation"].max()) for place in sizes}
    return judged(max(largest.values()) < 1, "L² max|p - 1/L| < 1",
                  "; ".join(f"n={n:g}: {x:.1e}" for n, x in largest.items()), tolerance=1.0,
                  note="Also below 0.2 at the scales of Appendix A; above 1 from about lambda = 0.06 on.",
                  parameters=sizes[0].parameters(), values={"largest": largest})  # fmt: skip


def _coefficients(n=600.0, L=6.0, m=1024.0, m1=16.0, sigma_0=1.0, sigma_1=1.0) -> np.ndarray:
    """S_21 and -S_31 at loss 1e-3; sigma_0, sigma_1 multiply the variances of Condition 1 at L = 6, m1 = 16."""
    scales = Scales(sigma_0 * m / (6 * 1024), sigma_1 * m * m1 / 16, m1, m**-0.5)
    found = run(Place(n, scales, L), ("T_star",), observe=("S_21", "S_31"))
    return np.array([found["S_21"][0], -found["S_31"][0]])


def coefficients_follow_the_first_term(base_sigma_1: float = 1.0) -> Verdict:
    """At the end of training C_12, C_21, -C_31, -C_32 = Θ̃(σ_0² √m/(L β))."""
    start = {"sigma_0": 1.0, "sigma_1": base_sigma_1, "m1": 16.0, "m": 1024.0, "L": 6.0}
    predicted = {"sigma_0": 1.0, "sigma_1": -1.0, "m1": -1.0, "m": -0.5, "L": -1.0}
    samples = asked("n", 600.0)
    measure = lambda knob, value, n: _coefficients(n=n, **({"sigma_1": base_sigma_1} | {knob: value}))

    def exponents(knob: str, n: float = samples):
        values = [start[knob] * f for f in (1, 2, 4)]
        C = np.array([measure(knob, value, n) for value in values])
        return power_law(values, C[:, 0]), power_law(values, C[:, 1])

    fits = {knob: exponents(knob) for knob in start}
    many = exponents("L", 6e6)
    fine = {knob: max(abs(f.slope - predicted[knob]) for f in pair) < 0.06 for knob, pair in fits.items()}
    scales_hold = all(fine[knob] for knob in start if knob != "L")
    L_holds_late = max(abs(f.slope + 1) for f in many) < 0.2
    word = Word.FAILS if not (scales_hold and L_holds_late) else Word.HOLDS if fine["L"] else Word.IN_PART
    text = "; ".join(f"{knob} {a.slope:.3f}/{b.slope:.3f}" for knob, (a, b) in fits.items())
    return Verdict(word, "exponents σ_0² 1, σ_1² -1, m1 -1, m -1/2, L -1",
                   f"C_21/-C_31: {text}; L at n=6e6 {many[0].slope:.3f}/{many[1].slope:.3f}",
                   f"The law in L needs n ≫ L²: at n = {samples:g} the irrelevant words of long sentences take part.",
                   interval=fits["m"][0].interval, tolerance=0.06,
                   parameters={"n": samples, "L": 6, "m": 1024, "m1": 16, "epsilon": 1e-3, "sigma_1": base_sigma_1},
                   values={k: [f.slope for f in pair] for k, pair in fits.items()},
                   fits={f"C_21 over {knob}": pair[0] for knob, pair in fits.items()})  # fmt: skip


def coefficients_of_irrelevant_words_are_smaller_by_n(words=("r1", "r2", "r3", "r4")) -> Verdict:
    """Scores between special and irrelevant words are smaller than C_21 by 1/n."""
    sizes, ratios = [moved(place) for place in SIZES], []
    names = [name for q in "123" for w in words for name in ((f"S_{q}_{w}", f"S_{w}_{q}") if w[0] == "r"
                                                             else (f"S_{q}{w}",))]  # fmt: skip
    for place in sizes:
        p = phase_2(place)
        ratios.append(float(max(abs(p[name][-1]) for name in names) / p["S_21"][-1]))
    ns = [place.n for place in sizes]
    fit = power_law(ns, ratios)
    return judged(abs(fit.slope + 1) < 0.05, "exponent -1 in n",
                  f"exponent {fit}; ratio {', '.join(f'{x:.4f} (n={n})' for n, x in zip(ns, ratios))}",
                  interval=fit.interval, tolerance=0.05, parameters=sizes[0].parameters(n=ns),
                  values={"ratios": ratios, "exponent": fit.slope},
                  fits={"largest |S| / S_21 over n": fit})  # fmt: skip


def other_coefficients_are_smaller(sizes=SIZES) -> Verdict:
    """The coefficients the theorem leaves open, C_11, C_13, C_33, are positive and below half of C_21."""
    sizes, rows, fine = places(sizes), [], True
    # at finite width KK and QQ mix the rows by their correlations of order m^-1/2
    tolerance = at_level(0.01, 2 * asked("width", WIDTH) ** -0.5)
    for place in sizes:
        end = run(place, taus=(0.0, last_tau()), observe=("S_21", "S_11", "S_13", "S_33", "S_31"))
        change = {name: float(values[-1] - values[0]) for name, values in end.series.items()}
        C = {x: change[f"S_{x}"] / change["S_21"] for x in ("11", "13", "33", "31")}
        fine &= all(0 < C[x] < 0.5 for x in ("11", "13", "33")) and abs(C["13"] - C["11"]) < tolerance
        rows.append(f"n={place.n:g}: " + ", ".join(f"C_{x} {v:.3f}" for x, v in C.items()))
    return judged(fine, "0 < C_11 = C_13, C_33 < C_21/2", "over C_21: " + "; ".join(rows), tolerance=tolerance,
                  note="The paper does not claim it; C_13 = C_11 to first order, since both follow one row of ∂L/∂S.",
                  parameters=sizes[0].parameters())  # fmt: skip


OUTSIDE = (Place(600, STRONG),)

CLAIMS = (
    claim("Corollary 4.6, Corollary F.13", value_correlations_grow_apart,
          partial(value_correlations_grow_apart, None, share_1=0.7, share_4=0.1), levels=TRAINED, takes=ANYWHERE),
    claim("Theorem 3.2, item 1", scores_have_the_stated_signs, partial(scores_have_the_stated_signs, OUTSIDE),
          levels=TRAINED, takes=ANYWHERE),
    claim("Lemma 4.7, Lemma F.16", scores_grow_at_the_rate_of_the_loss,
          partial(scores_grow_at_the_rate_of_the_loss, 1.1), levels=TRAINED, takes=ANYWHERE),
    claim("Corollary F.17", attention_stays_uniform, partial(attention_stays_uniform, OUTSIDE),
          levels=TRAINED, takes=ANYWHERE),
    claim("Theorem 3.3, coefficients", coefficients_follow_the_first_term,
          partial(coefficients_follow_the_first_term, 1e-4), levels="L3", takes="n epsilon share_1 share_4"),
    claim("Theorem 3.3, irrelevant words", coefficients_of_irrelevant_words_are_smaller_by_n,
          partial(coefficients_of_irrelevant_words_are_smaller_by_n, ("1", "2", "3")), levels="L3",
          takes=f"L {SCALES} share_1 share_4"),
    claim("Theorem 3.3, other coefficients", other_coefficients_are_smaller,
          partial(other_coefficients_are_smaller, OUTSIDE), levels=TRAINED, takes=ANYWHERE),
)  # fmt: skip
