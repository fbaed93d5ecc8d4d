"""The end of training: losses, attention coefficients, c, irrelevant words (Theorems 3.3, F.8; F.9, F.14, F.15)."""

import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Inequality, Kit, Limit, Order, Path, Series, Sides
from flowsys.systems.cooccurrence.claims.phase_1 import MANY, WIDE
from flowsys.systems.cooccurrence.claims.places import (
    FLOWS,
    LATE,
    MODE,
    MORE_SAMPLES,
    PHASES,
    PLACE,
    PROPORTIONS,
    SMALLER,
    WIDER,
    enough_samples,
    phase_2,
    score_scale,
    separator,
    sigma_0_squared,
)
from flowsys.systems.cooccurrence.sentences import SPECIAL_WORDS

LONGER = Path("m", (256.0, 1024.0, 4096.0, 16384.0, 65536.0), n=enough_samples)
"""Wider, with n = L² log²m: the logarithms of n ≥ Ω̃(L²) are those of m."""


def losses_in_powers(run: Kit, power: float = 2.0) -> dict[str, Sides]:
    """3.3: log(1/loss)/log m of the training and the test loss at T_* = m^2/(σ_1² m m1)."""
    end = run.values(run.p.m**power / run.p.m, observe=("loss", "test_loss"))
    return {name: Sides(-np.log(end[name]) / np.log(run.p.m), 1.0) for name in ("loss", "test_loss")}


def exponent_of_the_test_loss(run: Kit, factor: float = 1.0) -> Series:
    """[ours] Local exponents of the test loss in the clock, over -κ, κ the least margin of unseen sentences."""
    times = np.geomspace(1e4, 1e10, 7) / run.p.m
    there = run.run(*(float(t) for t in times), observe=("test_loss", "clock"))
    slope = np.diff(np.log(there["test_loss"])) / np.diff(np.log(there["clock"]))
    return Series(times[1:] * run.p.m, -slope / (factor * separator(run).test_exponent), "tau")


def coefficients(run: Kit, scores: tuple[str, ...] = ("S_12", "S_21", "S_31", "S_32")) -> dict[str, float]:
    """3.3: |C| of the four scores at T_*, where the loss is epsilon."""
    end = run.values("T_star", observe=scores)
    return {name: abs(end[name]) for name in scores}


def irrelevant_coefficients(run: Kit, words: tuple[str, ...] = ("r1", "r2", "r3", "r4")) -> float:
    """3.3: the largest |C| with an irrelevant word at T_*, over σ_0² m/(n √m L σ_1² m m1) + σ_0² √m/(√m σ_1² m m1)."""
    names = tuple(name for w in words for q in "123" for name in ((f"S_{q}_{w}", f"S_{w}_{q}") if w[0] == "r" else
                                                                  (f"S_{q}{w}",)))  # fmt: skip
    end, p = run.values("T_star", observe=names), run.p
    first = sigma_0_squared(p) * p.m / (p.n * p.m**0.5 * p.L * p.m)
    return max(abs(x) for x in end.values()) / (first + sigma_0_squared(p) / p.m)


def irrelevant_over_targets(run: Kit, word: str = "r2") -> float:
    """[ours] |C_{1,r}| over C_21 at T_*."""
    end = run.values("T_star", observe=("S_21", f"S_1_{word}" if word[0] == "r" else f"S_1{word}"))
    return max(abs(x) for name, x in end.items() if name != "S_21") / end["S_21"]


def others(run: Kit, half: float = 0.5) -> dict[str, Sides]:
    """[ours] C_11, C_13, C_33 are positive and below half of C_21 at τ = 10^6."""
    end = run.values(LATE / run.p.m, observe=("S_21", "S_11", "S_13", "S_33"))
    share = {name: end[name] / end["S_21"] for name in ("S_11", "S_13", "S_33")}
    return {name: Sides(x if x > 0 else np.inf, half) for name, x in share.items()}


def inverse_loss(run: Kit, power: float = 1.0) -> Series:
    """F.8: (1/loss(t) - 1/loss(T_1))/(σ_1² m m1 (t - T_1)) along t."""
    there = phase_2(run, observe=("loss",))
    grown = 1 / there["loss"][1:] - 1 / there["loss"][0]
    return Series(there.t[1:] * run.p.m, grown / (run.p.m * (there.t[1:] - there.t[0])) ** power, "tau")


def loss_times_clock(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] loss · ∫(c + m1 α)dt at τ = 10^6, against γ⁻² of the max-margin direction."""
    late = run.values(LATE / run.p.m, observe=("loss", "clock"))
    return Sides(late["loss"] * late["clock"], factor * separator(run).inverse_squared_margin)


def growth_of_c(run: Kit) -> float:
    """F.9: c(T_2) - c(T_1), T_2 at τ = 10^6."""
    first, late = (run.values(at, observe=("c",))["c"] for at in ("T_1_clock", LATE / run.p.m))
    return late - first


def c_over_beta(run: Kit) -> float:
    """F.1, F.10: c/(σ_1² m m1) at τ = 10^6."""
    return run.values(LATE / run.p.m, observe=("c_growth",))["c_growth"]


def c_from_the_values(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] (c - β)(c + m1 α) = m1 |G|² over all words, for all time."""
    there, p = phase_2(run, 30), run.p
    random = [(p.L - len(words)) * share * p.n for words, share in zip(SPECIAL_WORDS, PROPORTIONS)]
    G = sum(there[f"G_mu{i}"] ** 2 for i in (1, 2, 3))
    G = G + sum(copies * there[f"G_r{T}"] ** 2 for T, copies in zip((1, 2, 3, 4), random))
    alpha = sigma_0_squared(p) * p.m
    return Sides((there["c"] - p.m) * (there["c"] + p.m1 * alpha), factor * p.m1 * G, there.t)


def irrelevant_values(run: Kit, word: str = "r2") -> float:
    """F.14: |G(μ) - G(T_1)(μ)| of an irrelevant word at τ = 10^6."""
    first, late = (run.values(at, observe=(f"G_{word}",))[f"G_{word}"] for at in ("T_1_clock", LATE / run.p.m))
    return abs(late - first)


def irrelevant_scale(p) -> float:
    """1/n + m1 (L (σ_0² √m + 1/m) + σ_0² m)."""
    s = sigma_0_squared(p)
    return 1 / p.n + p.m1 * (p.L * (s * p.m**0.5 + 1 / p.m) + s * p.m)


def irrelevant_share(run: Kit, words: tuple[int, ...] = (1, 2, 3, 4)) -> float:
    """F.15: the largest share of F that irrelevant words make, R_T |G(r_T)| under uniform attention, up to τ = m^2."""
    there = phase_2(run, 60, end=run.p.m**2, observe=tuple(f"G_r{T}" for T in words))
    slots = [run.p.L - len(special) for special in SPECIAL_WORDS]
    return max(float(np.abs(there[f"G_r{T}"]).max()) * slots[T - 1] for T in words)


LAW = {"L": Path("L", (6.0, 12.0, 24.0, 48.0, 96.0, 192.0), n=lambda p: 100 * p.L**2, m=lambda p: 16 * p.L**2 + 4096),
       "m1": Path("m1", (4.0, 8.0, 16.0, 32.0, 64.0)),
       "kappa": Path("kappa", (2.0, 1.0, 0.5, 0.25, 0.125))}  # fmt: skip
DEEPER = Path("epsilon", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8))

CLAIMS = (
    Claim("3.3-losses", "Theorem 3.3, Theorem F.20", "training and test loss ≤ 1/poly(m) at a T_* = poly(m) (m² here)",
          Inequality(">=", None), losses_in_powers, at={"m1": 16, "L": 5, "C_T_1": 40.0}, path=LONGER, mode=MODE,
          regime=PHASES, levels=FLOWS, control={"at": {"m1": 16, "L": 5, "C_T_1": 40.0}, "path": WIDER,
                                                "kind": Inequality(">=", 1.9)}),
    Claim("3.3-losses-law", "Theorem 3.3", "the test loss falls like clock^(-κ) with κ of the max-margin direction",
          Limit(1.0, 0.03), exponent_of_the_test_loss, at=[PLACE | {"n": n, "m": 1e6} for n in (60, 600, 6000)],
          mode=MODE,
          sharpens="3.3-losses", levels=FLOWS, control={"factor": 1.2}),
    Claim("3.3-coefficients", "Theorem 3.3, Lemma F.16",
          "C_12, C_21, -C_31, -C_32 = Θ(σ_0² m/(√m L σ_1² m m1) + σ_0² √m/(√m σ_1² m m1)) at T_* = poly(m)",
          Order("Θ", score_scale), coefficients, at=PLACE, path=DEEPER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Θ̃", score_scale)},
          erratum=Erratum("C = Θ(·)", "C = Θ̃(·): off by log² of the loss", "affects a statement",
                          "3.3-coefficients-tilde")),
    Claim("3.3-coefficients-tilde", "Theorem 3.3 [ours]", "the same with Θ̃, as Lemma F.16's rate has it",
          Order("Θ̃", score_scale), coefficients, at=PLACE, path=DEEPER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Θ̃", lambda p: score_scale(p) * p.epsilon)}),
    *(Claim(f"3.3-coefficients-{name}", "Theorem 3.3, Lemma F.16",
            f"at one loss the coefficients are Θ of the printed scale along {name}", Order("Θ", score_scale),
            coefficients, at={k: x for k, x in PLACE.items() if k not in path.sets}, path=path, mode=MODE,
            regime=PHASES,
            levels=FLOWS, control={"kind": Order("Θ", lambda p, name=name: score_scale(p) * p[name])})
      for name, path in (LAW | {"m": WIDER}).items()),
    Claim("3.3-irrelevant", "Theorem 3.3, Lemma F.16",
          "|C| ≤ Õ(σ_0² m/(n √m L σ_1² m m1) + σ_0² √m/(√m σ_1² m m1)) with an irrelevant word", Order("Õ"),
          irrelevant_coefficients, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Õ", lambda p: p.n**-2)}),
    Claim("3.3-irrelevant-law", "Theorem 3.3", "in the limit they are smaller than C_21 by 1/n", Order("Θ",
          lambda p: 1 / p.n),
          irrelevant_over_targets, at=MANY, path=MORE_SAMPLES, mode=MODE, sharpens="3.3-irrelevant", levels=FLOWS,
          control={"word": "3"}),
    Claim("3.3-others", "Theorem 3.3 [ours]", "C_11, C_13, C_33 are positive and below half of C_21",
          Inequality("<="), others,
          at=MANY, path=MORE_SAMPLES, mode=MODE, levels=FLOWS, control={"half": 0.1}),
    Claim("F.8", "Theorem F.8", "loss = 1/(Θ(σ_1² m m1)(t - T_1) + 1/loss(T_1)) on [T_1, T_2]", Order("Θ", along="tau"),
          inverse_loss, at=PLACE, mode=MODE, regime=PHASES, levels=FLOWS, control={"power": 0.9}),
    Claim("F.8-law", "Theorem F.8", "loss · ∫(c + m1 α)dt → γ⁻² of the max-margin direction", Identity(0.02),
          loss_times_clock,
          at=MANY, path=MORE_SAMPLES, mode=MODE, sharpens="F.8", levels=FLOWS, control={"factor": 1.1}),
    Claim("F.9", "Corollary F.9", "c(T_2) - c(T_1) ≤ Õ(m1/m)", Order("Õ", lambda p: p.m1 / p.m), growth_of_c, at=WIDE,
          path=WIDER, mode=MODE, regime=SMALLER, levels=FLOWS, control={"kind": Order("Õ", lambda p: p.m**-2)}),
    Claim("F.9-law", "Corollary F.9", "(c - β)(c + m1 α) = m1 |G|² over all words", Identity(1e-7), c_from_the_values,
          at=PLACE,
          mode=MODE, sharpens="F.9", levels=FLOWS, control={"factor": 1.01}),
    Claim("F.10", "Definition F.1, Lemma F.10", "c ≤ O(σ_1² m m1) on [T_1, T_2]", Order("O"), c_over_beta, at=WIDE,
          path=WIDER,
          mode=MODE, regime=PHASES, levels=FLOWS, control={"kind": Order("O", lambda p: p.m**-0.5)}),
    Claim("F.14", "Lemma F.14", "|G(μ) - G(T_1)(μ)| ≤ Õ(1/n + m1 (L (σ_0² √m + 1/m) + σ_0² m)) of an irrelevant word",
          Order("Õ", irrelevant_scale), irrelevant_values, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES,
          levels=FLOWS, control={"kind": Order("Õ", lambda p: p.n**-2)}),
    Claim("F.14-law", "Lemma F.14", "in the limit it is of order 1/n", Order("Θ", lambda p: 1 / p.n), irrelevant_values,
          at=MANY, path=MORE_SAMPLES, mode=MODE, sharpens="F.14", levels=FLOWS, control={"word": "mu1"}),
    Claim("F.15", "Corollary F.15", "irrelevant words make O(1) of F on [T_1, T_2]", Order("O"), irrelevant_share,
          at={"m1": 16, "L": 5, "C_T_1": 40.0}, path=LONGER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("O", lambda p: p.m**-0.5)}),
)  # fmt: skip
