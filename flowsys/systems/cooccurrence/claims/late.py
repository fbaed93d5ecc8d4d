"""Claims about the end of training: values, the loss, c, and the test loss (Theorems 3.2, 3.3, F.8; F.9, F.14)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, Word, judged
from flowsys.fits import power_law
from flowsys.systems.cooccurrence.claims.runs import (
    FEW,
    MANY,
    READING_A,
    READING_E,
    claim,
    limit,
    parameters,
    phase_2,
)
from flowsys.systems.cooccurrence.max_margin import max_margin

SIZES = ((60, FEW), (600, MANY), (6000, MANY))


def values_separate_the_types(sizes=SIZES, L: float = 5, bound: float = 0.25) -> Verdict:
    """After T_1 G(μ1), G(μ2), -G(μ3) ≥ Ω(1), G_1 + G_2 + G_3 ≥ Ω(1) and G_1 + G_3 ≤ -Ω(1)."""
    at_once, later, rows = True, True, []
    for n, scales in sizes:
        p = phase_2(n, scales, L)
        G_1, G_3, tau = p["G_mu1"], p["G_mu3"], p["tau"]
        sums = G_1 + G_3
        least = np.minimum(np.minimum(G_1, -G_3), 2 * G_1 + G_3)
        below = np.flatnonzero(sums <= -bound)
        since = f"τ = {tau[below[0]]:.0f}" if len(below) else "never"
        rows.append(f"n={n:g}: at T_1 G = ({G_1[0]:.3f}, {G_3[0]:.3f}), G_1 + G_3 = {sums[0]:+.3f}, "
                    f"below -{bound:g} from {since}")  # fmt: skip
        at_once &= bool(least.min() >= bound and sums[0] <= -bound)
        later &= bool(least.min() >= bound and len(below) and np.all(np.diff(below) == 1) and below[-1] == len(tau) - 1)
    word = Word.HOLDS if at_once else Word.IN_PART if later else Word.FAILS
    return Verdict(word, f"≥ {bound:g}, ≥ {bound:g}, ≤ -{bound:g}", "; ".join(rows),
                   "If T_1 is when all samples become correct, the last margin to turn, that of types 2 and 3, is 0 "
                   "there, so G_1 + G_3 = -(L - 2) G(r_2) is not yet negative: irrelevant words do the rest. With a "
                   "later T_1 = C/β everything holds. The printed -G(μ3) ≤ Ω(1) must read ≥.",
                   tolerance=bound, parameters=parameters(sizes[0][0], sizes[0][1], L))  # fmt: skip


def the_loss_falls_like_one_over_time(cases=SIZES[1:], bound: float = 0.02) -> Verdict:
    """In phase 2 the loss is 1/(Θ(β)(t - T_1) + 1/loss(T_1)); loss · τ(1 + ρ) → γ⁻²."""
    rows, worst = [], 0.0
    for n, scales in cases:
        p, constant = phase_2(n, scales), max_margin(n, 5).inverse_squared_margin
        product = p["loss"] * p["tau"] * (1 + scales.rho)
        early = product[np.argmin(np.abs(p["tau"] - 1e4))]
        worst = max(worst, abs(product[-1] / constant - 1))
        rows.append(f"n={n:g}: {early:.2f} (τ=1e4), {product[-1]:.2f} (τ=1e6), γ⁻² = {constant:.3f}")
    return judged(bool(worst < bound), "γ⁻² = 17 at n = ∞, 16.82 at 6000, 15.35 at 600", "; ".join(rows),
                  tolerance=bound,
                  note="At n = 60, m = 512 and with the scales of Appendix A c grows and τ(1 + ρ) must be replaced by "
                  "∫(c + m1 α)dt.", parameters=parameters(*cases[0]), values={"worst": float(worst)})  # fmt: skip


def c_stays_of_order_beta(cases=((60, FEW), (600, MANY))) -> Verdict:
    """c = Θ(β) through phase 2 (to loss 1e-3)."""
    growth = [float(limit(n, s, ["T_star"], observe=["c_growth"])["c_growth"][0]) for n, s in cases]
    outside = {name: float(limit(60, s, ["T_star"], observe=["c_growth"])["c_growth"][0])
               for name, s in (("A", READING_A), ("E", READING_E))}  # fmt: skip
    text = ", ".join(f"{g:.3f} (n={n:g})" for g, (n, _) in zip(growth, cases))
    return judged(max(growth) < 2, "c/β of order 1", text,
                  note="Needs ρδ log² ≪ 1. With the scales of Appendix A it fails: "
                  f"c/β = {outside['A']:.1f} (reading A), {outside['E']:.0f} (reading E).", tolerance=2.0,
                  parameters=parameters(*cases[0]), values={"growth": growth, "outside": outside})  # fmt: skip


def irrelevant_values_fall_like_one_over_n(word: str = "r1") -> Verdict:
    """|G(μ)| of an irrelevant word is Õ(1/n)."""
    ns = (600, 6000, 60000, 600000)
    found = [limit(n, MANY, taus=[1e6], observe=[f"G_{word}", "G_mu1"]) for n in ns]
    values = [abs(float(f[f"G_{word}"][0])) for f in found]
    fit = power_law(ns, values)
    few = limit(60, FEW, taus=[1e6], observe=["G_r1", "G_r2", "G_mu1"])
    return judged(abs(fit.slope + 1) < 0.05, "exponent -1 in n",
                  f"exponent {fit}; n=60: {few['G_r1'][0]:.2f}, {few['G_r2'][0]:.2f} "
                  f"beside G(μ1) = {few['G_mu1'][0]:.1f}",
                  interval=fit.interval, tolerance=0.05, parameters=parameters(600, MANY, n_values=ns, tau=1e6),
                  values={"values": values, "exponent": fit.slope}, fits={f"|G_{word}| over n": fit})  # fmt: skip


def both_losses_become_small(n: float = 60, bound: float = 0.9) -> Verdict:
    """At the end of training the training and the test loss are at most 1/poly(m)."""
    found = limit(n, condition_of(n), taus=np.geomspace(1e5, 1e6, 5), observe=["loss", "test_loss", "clock"])
    train, test = (power_law(found["clock"], found[name]) for name in ("loss", "test_loss"))
    powers = {k: max_margin(k, 5).test_exponent for k in (60, 600, 6000)}
    fine, slow = -train.slope > bound, -test.slope > bound
    word = Word.FAILS if not fine or test.slope > -0.05 else Word.HOLDS if slow else Word.IN_PART
    return Verdict(word, "both ∝ 1/time",
                   f"n={n:g}: train exponent {train.slope:.3f}, test {test.slope:.3f}; at τ=1e6 train "
                   f"{found['loss'][-1]:.1e}, test {found['test_loss'][-1]:.1e}",
                   "The test loss falls with the smaller power κ of the max-margin direction on unseen words: "
                   + ", ".join(f"{x:.3f} (n={k})" for k, x in powers.items())
                   + ". Irrelevant words contribute O(1) only while (L/n) log τ ≲ 1.",
                   interval=test.interval, tolerance=bound, parameters=parameters(n, condition_of(n), tau=1e6),
                   values={"train": train.slope, "test": test.slope},
                   fits={"training loss over τ(1+ρ)": train, "test loss over τ(1+ρ)": test})  # fmt: skip


def condition_of(n: float):
    """Condition 1 with a width that goes with n."""
    return FEW if n <= 60 else MANY


CLAIMS = (
    claim("Theorem 3.2, items 3, 4", values_separate_the_types, partial(values_separate_the_types, ((12, FEW),), 20)),
    claim("Theorem F.8", the_loss_falls_like_one_over_time, partial(the_loss_falls_like_one_over_time,
                                                                    ((60, READING_A),))),
    claim("Corollary F.9, Lemma F.10", c_stays_of_order_beta, partial(c_stays_of_order_beta, ((60, READING_A),))),
    claim("Lemma F.14", irrelevant_values_fall_like_one_over_n, partial(irrelevant_values_fall_like_one_over_n, "mu1")),
    claim("Theorem 3.3, losses", both_losses_become_small, partial(both_losses_become_small, 12)),
)  # fmt: skip
