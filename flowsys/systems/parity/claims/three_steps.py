"""Lemmas 18–27, 32 and Theorem 3: signals, scores, attention and outputs after three gradient steps.

Measured on the population with sampled neurons and orthonormal tokens (`population_map`), where m = 2k and k is in the
paper's range; the rates are 4ρmnε in place of Assumption 2's, which need astronomical n (Lemma 5).
"""

from itertools import count
from math import log

import numpy as np

from flowsys.claims import Claim, Identity, Inequality, Kit, Regime, Sides
from flowsys.claims.claim import Erratum
from flowsys.claims.kit import NotReached
from flowsys.systems.parity.claims.gradients import gradient
from flowsys.systems.parity.claims.population_map import chain, expected_counts, signals_per_rate
from flowsys.systems.parity.claims.regimes import (
    DELTA,
    DRIFT,
    FIRST_FLIP,
    LARGE,
    LOCKS,
    ONE_HOT,
    SECRETS,
    sizes,
    three_steps,
)

WIDTH_ONLY = "width only: population gradient, orthonormal tokens"
TAKES = "n k epsilon rho seed"
STEPS = ("step_1", "step_2", "step_3")


def signals(run: Kit, at_first: float = 16.0) -> dict[str, Sides]:
    """Lemma 18: κ on S[i] against η_0/(32mi), and η_0/(16m(n+1)) at n+1, infinite width, per unit of η_0/m."""
    n, k = sizes(run)
    m = 2.0 * k
    found = signals_per_rate(n, expected_counts(k, m), m, m)[:, 0] * m
    i, _ = chain(n, k)
    run.note(at_first=float(found[0] * 16 * (n + 1)))
    return {"i ≥ n+2": Sides(found[1:], 1 / (32 * i[1:])), "n+1": Sides(found[0], 1 / (at_first * (n + 1)))}


def off_target(run: Kit, share: float = 1.0) -> Sides:
    """Lemma 19: the output on S[n+1] of later queries, η_0/(16m(n+1)), against its bound with Assumption 2's B and d.

    Infinite width and no noise of the batch: what is left is the common mode alone; `share` scales it.
    """
    n, k, L = run.p.n, run.p.k, log(run.p.n / DELTA)
    m, d, B = 2 * k, k * L**1.1, 1.28e7 * n * L**20
    run.note(common=1 / (16 * (n + 1)))
    return Sides(share / (16 * (n + 1)), 10 / n * np.sqrt(n * k / (B * d)) * log(300 * m * n * B / DELTA))


def scores(run: Kit) -> tuple[float, float, float]:
    """After step 2: the least score of S[i], the largest |score| off it, and η_0η_1/(256mn²)."""
    found, m = three_steps(run), 2 * run.p.k
    return float(np.nanmin(found.target)), float(np.nanmax(found.other)), run.p.rho**2 * m * run.p.epsilon**2 / 16


def on_target_scores(run: Kit) -> Sides:
    least, _, scale = scores(run)
    return Sides(least, scale)


def other_scores(run: Kit) -> Sides:
    _, largest, scale = scores(run)
    run.note(least=next(n for n in count(2) if 64 * n**2 <= (n + 1) ** 3))
    return Sides(largest, scale / 2)


def attention(step: int, power: float, run: Kit, per_secret: float = 2.0) -> Sides:
    """log n^power against -log of the largest |attention output - e_S[i]|, at most √2 times what is off target."""
    off = float(np.nanmax(three_steps(run, per_secret).log_error[step])) + log(2) / 2
    run.note(log10_error=off / log(10))
    return Sides(power * log(run.p.n), -off)


def lemma_22(run: Kit, per_secret: float = 2.0) -> Sides:
    return attention(0, 10, run, per_secret)


def lemma_24(run: Kit, per_secret: float = 2.0) -> Sides:
    return attention(1, 9, run, per_secret)


def learned(run: Kit, per_secret: float = 2.0) -> dict[str, Sides]:
    """Theorem 3: attention off S[i] below n^-8 at every query and string, and every margin positive."""
    found, ε = three_steps(run, per_secret), run.p.epsilon
    log_error = float(np.nanmax(found.log_error))
    run.note(one_hot_error=found.one_hot_error, log10_error=log_error / log(10), least_margin=found.least_margin / ε,
             largest_margin=found.largest_margin / ε, shift=found.shift)  # fmt: skip
    return {"one-hot, logarithms": Sides(8 * log(run.p.n), -log_error), "right": Sides(0.0, found.least_margin / ε),
            "gates kept": Sides(found.shift, 1.0)}  # fmt: skip


def outputs(run: Kit, per_secret: float = 2.0) -> dict[str, Sides]:
    """Lemma 26: |T ∓ ε/3| < ε/3, that is 0 < margin < 2ε/3."""
    found, ε = three_steps(run, per_secret), run.p.epsilon
    return {"below": Sides(0.0, found.least_margin / ε), "above": Sides(found.largest_margin / ε, 2 / 3)}


def third_gradient(run: Kit) -> dict[str, float]:
    """|∂L/∂W_{r,d+1:2d}| over |h_r| on S[i] at one-hot attention, of neurons active on one token of i, by autodiff."""
    slopes, at = gradient(run.setup, on_target=60.0)
    ν, k, per_h = at["nu"], run.p.k, 2 * run.p.width * np.abs(slopes["W_att"])
    found = {}
    for name, j in (("i ≥ n+2", 2), ("n+1", 0)):
        if j >= k:
            raise NotReached(f"k = {k} has no position n+{j + 1}, of which the lemma speaks.")
        one = (ν[:, 2 * j] > 0) & (ν[:, 2 * j + 1] < 0)
        if not one.any():
            raise NotReached(f"no neuron of m = {run.p.m:g} is active on one token of a position alone.")
        found[name] = float(per_h[one][:, [2 * j, 2 * j + 1]].mean())
    return found


def third_step(run: Kit, scale: float = 1.0) -> dict[str, Sides]:
    """Lemma 23: the gradient on S[i] against its factor 1/i."""
    found, n = third_gradient(run), run.p.n
    run.note(**{"later": found["i ≥ n+2"], "first": found["n+1"]})
    return {name: Sides(x, scale / (n + (3 if name != "n+1" else 1))) for name, x in found.items()}


def shifts(run: Kit, eta_2: float = 4 / 3) -> dict[str, Sides]:
    """Lemma 25: what step 3 adds to the input of a neuron active on one token of a position, over ε, against 2/3.

    η_2 in units of mε.
    """
    found = {name: eta_2 / 2 * x for name, x in third_gradient(run).items()}
    run.note(rate=eta_2, later=found["i ≥ n+2"], first=found["n+1"])
    return {name: Sides(x, 2 / 3) for name, x in found.items()}


def by_hinge(run: Kit) -> dict[str, Sides]:
    """Lemma 27: what is observed after each step under the hinge, and under the linear loss; sampled neurons."""
    names, found = ("margin_min", "margin_max", "score_target_min", "flipped"), {}
    for loss in ("hinge", "linear"):
        found[loss] = run.at(loss=loss).run(*STEPS, level="L2", variant="reduced", observe=names)
    run.note(largest=float(found["linear"]["margin_max"].max()))
    return {name: Sides(found["hinge"][name], found["linear"][name]) for name in names}


def one_hot_by_scores(run: Kit, on: float = 2.0) -> dict[str, Sides]:
    """Lemma 32: |attention output - e_S[i]| n^(C-1), at most twice what is off target, against 4.

    2n tokens, scores where the lemma allows the most: `on` C log n on target, C log n everywhere else.
    """
    n, found = run.p.n, {}
    for C in (1.0, 2.0, 9.0, 11.0):
        rest = log(2 * n - 1) + (1 - on) * C * log(n)  # log of attention off target over that on it
        found[f"C = {C:g}"] = Sides(2 * np.exp(rest - np.logaddexp(0.0, rest) + (C - 1) * log(n)), 4.0)
    return found


_MOVES = ", margins {least_margin:.3g}ε … {largest_margin:.3g}ε, inputs of neurons move by {shift:.2g}ε"
_LOCKED = {**LARGE, "epsilon": 3.0}
CLAIMS = (
    Claim("lemma_18", "Lemma 18", "after the first step the signal on S[i] is η_0/(32mi), and η_0/(16m(n+1)) at n+1",
          Identity(1e-6), signals, at={"n": 10**6, "k": 40}, takes="n k", control={"at_first": 8.0},
          note="at the first position of the chain it is {at_first:.4g} of the lemma's: its bit is always the same, so "
          "nothing cancels in the sum over the query's bits",
          erratum=Erratum("κ_{1,n+1} on S[n+1] is η_0/(16m(n+1))", "η_0/(8m(n+1)): the own and the common part add up",
                          "harmless")),
    Claim("lemma_19", "Lemma 19", "off S[i] outputs after step 1 are at most 10 η_0 √(nk) log(300mnB/δ)/(mn√(Bd))",
          Inequality(), off_target, at=LARGE, regime=Regime(*SECRETS), takes="n k", control={"share": 1e-15},
          note="the common mode: {common:.3g} of η/m, on the secret of the first position at every later one, since "
          "the first bit of the chain is always the same; harmless for three steps, not for gradient flow; B and d are "
          "those of Assumption 2",
          erratum=Erratum("no output off S[i] but noise", "-(-1)^b' η_0/(16m(n+1)) on S[n+1] for all i > n+1",
                          "harmless")),
    Claim("lemma_21_1", "Lemmas 21, 21.1", "after step 2 the scores of S[i] are at least η_0η_1/(256mn²)",
          Inequality(">="), on_target_scores, at=LARGE, regime=Regime(*SECRETS), takes=TAKES,
          control={"regime": Regime(), "at": {"n": 8, "k": 5, "epsilon": 1.0}}, note=WIDTH_ONLY),
    Claim("lemma_21_2", "Lemmas 21, 21.2", "after step 2 all other scores are at most η_0η_1/(512mn²)", Inequality(),
          other_scores, at=LARGE, regime=Regime(*SECRETS), takes=TAKES,
          control={"regime": Regime(), "at": {"n": 40, "k": 5, "epsilon": 1.0}},
          note=f"{WIDTH_ONLY}; below n = {{least}} it fails at infinite width, at the own token of the first position "
          "(control)"),
    Claim("lemma_22", "Lemma 22", "after step 2 attention is one-hot to n^-10", Inequality(), lemma_22, at=_LOCKED,
          regime=Regime(*SECRETS, LOCKS), takes=TAKES, control={"per_secret": 0.1},
          note=f"{WIDTH_ONLY}; sides are logarithms, the error is ten to the {{log10_error:.4g}}"),
    Claim("lemma_23", "Lemma 23", "the gradient of W in step 3 is h_r Σ 1(ν > 0)(-1)^(b_1+b_2) e/i on S[i]",
          Identity(1e-9), third_step, at={"n": 21, "k": 3, "m": 40.0}, takes="n k m seed", control={"scale": 6.0},
          note="at one-hot attention the factor is α/B: {first:.4g} at the first position, {later:.4g} at the third, "
          "not one over i",
          erratum=Erratum("factor 1/i", "1/4, and 1/2 at n+1", "harmless")),
    Claim("lemma_24", "Lemma 24", "after step 3 attention is one-hot to n^-9", Inequality(), lemma_24, at=_LOCKED,
          regime=Regime(*SECRETS, LOCKS), takes=TAKES, control={"per_secret": 0.1},
          note=f"{WIDTH_ONLY}; sides are logarithms, the error is ten to the {{log10_error:.4g}}"),
    Claim("lemma_25", "Lemma 25", "step 3 moves the input of a neuron active on one token of i by 2ε/3, within ε/300",
          Identity(1 / 300, relative=False), shifts, at={"n": 21, "k": 3, "m": 40.0}, takes="n k m seed",
          control={"eta_2": 16 / 3},
          note="the rate {rate:.4g} mε moves it by {later:.4g}ε ({first:.4g}ε at the first position): the proof takes "
          "one for α/B",
          erratum=Erratum("shift 2ε/3 with η_2 = 4mε/3", "shift 2ε/3 with η_2 = 16mε/3 (at n+1: 4ε/3)", "harmless")),
    Claim("lemma_26", "Lemma 26", "after three steps the output is within ε/3 of ±ε/3", Inequality(), outputs, at=LARGE,
          regime=Regime(*SECRETS, ONE_HOT, DRIFT, c=1.0, c_0=FIRST_FLIP), takes=TAKES, control={"per_secret": 0.01},
          note=WIDTH_ONLY),
    Claim("lemma_27", "Lemma 27", "under the hinge loss the three steps are those of the linear loss", Identity(1e-12),
          by_hinge, at={"n": 20, "k": 5, "m": 400.0, "epsilon": 1.0}, mode="three_step", takes="n k seed",
          control={"at": {"n": 20, "k": 5, "m": 400.0, "epsilon": 300.0}},
          note="population, orthonormal tokens; the largest margin is {largest:.3g}, below where the hinge bends"),
    Claim("lemma_32", "Lemma 32", "scores ≥ 2C log n on target and |scores| ≤ C log n off it: one-hot to 4/n^(C-1)",
          Inequality(), one_hot_by_scores, at=[{"n": n, "k": 1} for n in (2, 30, 10**6, 10**12)], takes="",
          control={"on": 1.5}, note="scores that leave the most off target, C from one to eleven"),
    Claim("theorem_3_width", "Theorem 3, Assumption 2", f"width m = 2k suffices ({WIDTH_ONLY})", Inequality(), learned,
          at=LARGE, regime=Regime(*SECRETS, ONE_HOT, DRIFT, c=1.0, c_0=FIRST_FLIP), takes=TAKES,
          control={"per_secret": 0.5}, note="attention off S[i] {one_hot_error:.2g}" + _MOVES),
    Claim("theorem_3_width_rates", "Theorem 3, Lemma 5", f"so it does at rates within Lemma 5.4 and 5.6 ({WIDTH_ONLY})",
          Inequality(), learned, at={"n": 10**12, "k": 1_200_000, "epsilon": 52.0, "rho": 0.002},
          regime=Regime(*SECRETS, LOCKS, DRIFT, c_0=1 / 120), takes=TAKES, control={"per_secret": 0.1},
          note="attention off S[i] ten to the {log10_error:.4g}" + _MOVES + "; the constants are the printed ones"),
    Claim("theorem_3_precision", "Theorem 3", "the same in Θ(log n) bits of precision",
          reason="the three steps are followed in closed form at sizes where no single neuron is stored, so their "
          "arithmetic cannot be rounded; Theorem 1's can (theorem_1_precision)"),
)  # fmt: skip
