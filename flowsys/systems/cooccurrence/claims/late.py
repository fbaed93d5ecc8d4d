"""Claims about the end of training: values, the loss, c, and the test loss (Theorems 3.2, 3.3, F.8; F.9, F.14)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, Word, judged
from flowsys.claims.conditions import at_level, current
from flowsys.laws.fits import power_law
from flowsys.systems.cooccurrence.claims.runs import (
    ANYWHERE,
    FEW,
    MANY,
    MEMORISING,
    READING_A,
    READING_E,
    SCALES,
    SIZES,
    TRAINED,
    Place,
    asked,
    at_event,
    claim,
    last_tau,
    limit,
    moved,
    phase_2,
    places,
    run,
    separator,
)
from flowsys.systems.cooccurrence.max_margin import max_margin


def values_separate_the_types(sizes=SIZES, bound: float = 0.25) -> Verdict:
    """After T_1 G(μ1), G(μ2), -G(μ3) ≥ Ω(1), G_1 + G_2 + G_3 ≥ Ω(1) and G_1 + G_3, G_2 + G_3 ≤ -Ω(1)."""
    sizes, at_once, later, rows = places(sizes), True, True, []
    for place in sizes:
        p = phase_2(place)
        G_1, G_2, G_3, tau = p["G_mu1"], p["G_mu2"], p["G_mu3"], p["tau"]
        sums = np.maximum(G_1, G_2) + G_3
        least = np.min([G_1, G_2, -G_3, G_1 + G_2 + G_3], axis=0)
        below = np.flatnonzero(sums <= -bound)
        since = f"τ = {tau[below[0]]:.0f}" if len(below) else "never"
        rows.append(f"n={place.n:g}: at T_1 G = ({G_1[0]:.3f}, {G_3[0]:.3f}), G_1 + G_3 = {sums[0]:+.3f}, "
                    f"below -{bound:g} from {since}")  # fmt: skip
        at_once &= bool(least.min() >= bound and sums[0] <= -bound)
        later &= bool(least.min() >= bound and len(below) and np.all(np.diff(below) == 1) and below[-1] == len(tau) - 1)
    word = Word.HOLDS if at_once else Word.IN_PART if later else Word.FAILS
    return Verdict(word, f"≥ {bound:g}, ≥ {bound:g}, ≤ -{bound:g}", "; ".join(rows),
                   "If T_1 is when all samples become correct, the last margin to turn, that of types 2 and 3, is 0 "
                   "there, so G_1 + G_3 = -(L - 2) G(r_2) is not yet negative: irrelevant words do the rest. With a "
                   "later T_1 = C/β everything holds. The printed -G(μ3) ≤ Ω(1) must read ≥.",
                   tolerance=bound, parameters=sizes[0].parameters())  # fmt: skip


def the_loss_falls_like_one_over_time(cases=SIZES[1:]) -> Verdict:
    """In phase 2 the loss is 1/(Θ(β)(t - T_1) + 1/loss(T_1)); loss · τ(1 + ρ) → γ⁻²."""
    # few samples can be written out; then c grows and the clock ∫(c + m1 α)dt takes the place of τ(1 + ρ); that VV
    # grows with c it leaves out, 5 % by τ = 1e6 at n = 60, m = 512
    is_finite, bound = current().is_finite, at_level(0.02, 0.1)
    cases, rows, worst = places(cases), [], 0.0
    for place in cases:
        p, constant = phase_2(place), separator(place).inverse_squared_margin
        product = p["loss"] * (p["clock"] if is_finite else p["tau"] * (1 + place.scales.rho))
        end = last_tau()
        early = product[np.argmin(np.abs(p["tau"] - end / 100))]
        worst = max(worst, abs(product[-1] / constant - 1))
        rows.append(
            f"n={place.n:g}: {early:.2f} (τ={end / 100:g}), {product[-1]:.2f} (τ={end:g}), γ⁻² = {constant:.3f}"
        )
    return judged(bool(worst < bound), "γ⁻²: 17 at n = ∞, 16.82 at 6000, 15.35 at 600", "; ".join(rows),
                  tolerance=bound,
                  note="At n = 60, m = 512 and with the scales of Appendix A c grows and τ(1 + ρ) must be replaced by "
                  "∫(c + m1 α)dt.", parameters=cases[0].parameters(), values={"worst": float(worst)})  # fmt: skip


def c_stays_of_order_beta(cases=SIZES[:2]) -> Verdict:
    """c = Θ(β) through phase 2 (to loss 1e-3, in training 1e-2)."""
    cases = places(cases)
    # as far as descent comes; the growth is logarithmic in the loss
    sooner = {"epsilon": 1e-2} if current().level == "L0" and asked("epsilon", None) is None else {}
    ends = [run(place, ("T_star",), observe=("c_growth",), **sooner) for place in cases]
    growth = [at_event(end, "T_star", "c_growth") for end in ends]
    outside = {name: float(limit(60, s, ["T_star"], observe=["c_growth"])["c_growth"][0])
               for name, s in (("A", READING_A), ("E", READING_E))}  # fmt: skip
    text = ", ".join(f"{g:.3f} (n={place.n:g})" for g, place in zip(growth, cases))
    return judged(max(growth) < 2, "c/β of order 1", text,
                  note="Needs ρδ log² ≪ 1. With the scales of Appendix A it fails: "
                  f"c/β = {outside['A']:.1f} (reading A), {outside['E']:.0f} (reading E).", tolerance=2.0,
                  parameters=cases[0].parameters(), values={"growth": growth, "outside": outside})  # fmt: skip


def irrelevant_values_fall_like_one_over_n(word: str = "r1") -> Verdict:
    """|G(μ)| of an irrelevant word is Õ(1/n)."""
    sizes = [moved(Place(n, MANY)) for n in (600, 6000, 60000, 600000)]
    ns = [place.n for place in sizes]
    values = [abs(float(run(place, taus=(1e6,), observe=(f"G_{word}",))[f"G_{word}"][0])) for place in sizes]
    fit = power_law(ns, values)
    few = limit(60, FEW, taus=[1e6], observe=["G_r1", "G_r2", "G_mu1"])
    return judged(abs(fit.slope + 1) < 0.05, "exponent -1 in n",
                  f"exponent {fit}; n=60: {few['G_r1'][0]:.2f}, {few['G_r2'][0]:.2f} "
                  f"beside G(μ1) = {few['G_mu1'][0]:.1f}",
                  interval=fit.interval, tolerance=0.05, parameters=sizes[0].parameters(n=ns, tau=1e6),
                  values={"values": values, "exponent": fit.slope}, fits={f"|G_{word}| over n": fit})  # fmt: skip


def both_losses_become_small(sizes=SIZES[:1], bound: float = 0.9) -> Verdict:
    """At the end of training the training and the test loss are at most 1/poly(m)."""
    (place,) = places(sizes)
    end = last_tau()
    late = tuple(np.geomspace(end / 10, end, 5).tolist())
    found = run(place, taus=late, observe=("loss", "test_loss", "clock"))
    train, test = (power_law(found["clock"], found[name]) for name in ("loss", "test_loss"))
    powers = {k: max_margin(k, 5).test_exponent for k in (60, 600, 6000)}
    fine, slow = -train.slope > bound, -test.slope > bound
    word = Word.FAILS if not fine or test.slope > -0.05 else Word.HOLDS if slow else Word.IN_PART
    return Verdict(word, "both ∝ 1/time",
                   f"n={place.n:g}: train exponent {train.slope:.3f}, test {test.slope:.3f}; at τ={end:g} train "
                   f"{found['loss'][-1]:.1e}, test {found['test_loss'][-1]:.1e}",
                   "The test loss falls with the smaller power κ of the max-margin direction on unseen words: "
                   + ", ".join(f"{x:.3f} (n={k})" for k, x in powers.items())
                   + ". Irrelevant words contribute O(1) only while (L/n) log τ ≲ 1.",
                   interval=test.interval, tolerance=bound, parameters=place.parameters(tau=end),
                   values={"train": train.slope, "test": test.slope},
                   fits={"training loss over the clock": train, "test loss over the clock": test})  # fmt: skip


CLAIMS = (
    claim("Theorem 3.2, items 3, 4", values_separate_the_types,
          partial(values_separate_the_types, (MEMORISING[0]._replace(L=20),)), levels=TRAINED, takes=ANYWHERE),
    claim("Theorem F.8", the_loss_falls_like_one_over_time,
          partial(the_loss_falls_like_one_over_time, (Place(60, READING_A),)), levels=TRAINED, takes=ANYWHERE),
    claim("Corollary F.9, Lemma F.10", c_stays_of_order_beta,
          partial(c_stays_of_order_beta, (Place(60, READING_A),)), levels=TRAINED, takes=f"{ANYWHERE} epsilon"),
    claim("Lemma F.14", irrelevant_values_fall_like_one_over_n, partial(irrelevant_values_fall_like_one_over_n, "mu1"),
          levels="L3", takes=f"L {SCALES} share_1 share_4"),
    claim("Theorem 3.3, losses", both_losses_become_small, partial(both_losses_become_small, MEMORISING),
          levels=TRAINED, takes=ANYWHERE),
)  # fmt: skip
