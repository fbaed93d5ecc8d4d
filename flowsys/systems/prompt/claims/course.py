"""Where training goes: the late laws of score and loss, and the paper's surrogate."""

import numpy as np

from flowsys.claims import Verdict, Word, judged, listed, word_of
from flowsys.systems.prompt import planar, surrogate
from flowsys.systems.prompt.claims.runs import (
    FLOWS,
    SIZE,
    SIZES,
    TRAINED,
    at_event,
    claim,
    course,
    fitted,
    horizon,
    remark,
    setup,
    size,
    sizes,
    stretches,
)

LATE = np.geomspace(1, 1e7, 400)
"""Times of the flow, to the end of what is looked at."""


def pattern_score_is_bounded_below_late(start: float = 1e5) -> Verdict:
    """Eq. (49): u(t) ≥ ½ log(η (1-α)² t / (α² K M)) for large t, here a(t) from `start` on."""
    margins, broken, kept = [], [], []
    for M, K, alpha in sizes(SIZES):
        there = course(LATE, observe=("a",), **size(M, K, alpha))
        margin = there["a"] - surrogate.pattern_score_bound(there.t, M, K, alpha)
        kept.append(bool((margin[there.t >= start] >= 0).all()))
        margins.append(margin[-1])
        if (margin < 0).any():
            broken.append(f"({M}, {K}, {alpha:g}) {stretches(there.t, margin < 0)} by {-margin.min():.3f}")
    return Verdict(word_of(kept) if all(kept) else Word.FAILS, "a(t) ≥ ½ log((1-α)² t/(α² K M)) for large t",
                   f"margin {listed(margins, '.2f')} at t = 1e7{', about ½ log 2K' * all(kept)}; below the bound: "
                   + ("; ".join(broken) or "nowhere"), "for large t only, as stated" * all(kept),
                   parameters={"(M, K, alpha)": sizes(SIZES), "t from": start},
                   values={"margins": [float(m) for m in margins]})  # fmt: skip


def pattern_score_has_a_late_law(factor: float = 1.0) -> Verdict:
    """[ours] a ≃ ½ log(2 (1-α)² t / (α² (M-1)))."""
    off = [float(course([1e7], observe=("a",), **size(*s))["a"][0]
                 - planar.late_pattern_score(factor * 1e7, s[0], s[2]))
           for s in sizes(SIZES)]  # fmt: skip
    return judged(max(map(abs, off)) < 0.06, "a - ½ log(2 (1-α)² t/(α² (M-1))) → 0", f"{listed(off, '.3f')} at t = 1e7",
                  tolerance=0.06, parameters={"(M, K, alpha)": sizes(SIZES)},
                  values={"deviations": off})  # fmt: skip


def loss_goes_to_zero(start: float = 1e5, end: float = 1e7) -> Verdict:
    """Theorem 1: the loss falls to O(ε); here like (M-1)/(4t)."""
    there = course(np.geomspace(start, end, 12), observe=("loss",))
    fit = fitted(there.t, there["loss"])
    at = float(course([1e4], observe=("loss",))["loss"][0])
    reached = at_event("T_3", epsilon=1e-4, T_3_rule="squared")["loss"] / 1e-4
    ratio = float(there["loss"][-1] / planar.late_loss(there.t[-1], setup()["M"]))
    return judged(abs(fit.slope + 1) < 0.05 and reached < 1, "O(ε): L → 0",
                  f"t^{fit}, L 4t/(M-1) = {ratio:.3f} at t = {end:g}; L(1e4) = {at:.2e}; L/ε = {reached:.3f} where "
                  "(1-p)² = ε = 1e-4", interval=fit.interval, tolerance=0.05, fits={"loss over t": fit},
                  values={"exponent": fit.slope, "loss at 1e4": at, "loss/epsilon": float(reached)})  # fmt: skip


def every_fraction_is_learnt(products: tuple[float, ...] = (0.5, 0.6, 0.8, 2.0, 8.0)) -> Verdict:
    """Theorem 1 for every α > 0: the loss goes to 0. Found here: not below α M ≈ 0.66 (K = 3)."""
    numbers = (10, 20, 40)
    late = lambda M, product: course([1e5 * M], observe=("a", "loss"), M=M, alpha=product / M)
    loss = {(M, x): float(late(M, x)["loss"][0]) for M in numbers for x in products}
    stuck = sorted({x for (_, x), value in loss.items() if value > 0.2})
    rows = "; ".join(f"M = {M}: {listed([loss[M, x] for x in products], '.2g')}" for M in numbers)
    return Verdict(word_of([value < 0.01 for value in loss.values()]), "loss → 0 for every α",
                   f"loss at t = 1e5 M, α M = {listed(products, 'g')}: {rows}",
                   f"at α M = {listed(stuck, 'g') or 'none'} the scores of the query's pattern and step fall "
                   "instead (a, g < 0)" + remark(", the loss stays near 0.47; the edge is at α M = 0.67, 0.65, 0.67 "
                   "for M = 10, 20, 40") + ". Whether the paper's assumptions exclude α < 1/M is not settled here",
                   parameters={"K": setup()["K"], "M": numbers},
                   values={f"M={M}, αM={x:g}": value for (M, x), value in loss.items()})  # fmt: skip


def _both(name: str, M: int, K: int, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times to 1e7, and an observable along training and along the surrogate."""
    exact = course(np.geomspace(1, horizon(1e7), 57), observe=(name,), **size(M, K, alpha))
    paper = course(exact.t, observe=(name,), level="L4", **size(M, K, alpha))
    return exact.t, exact[name], paper[name]


def _short(t: float) -> str:
    return f"{t:.2g}".replace("e+0", "e")


def surrogate_is_a_lower_bound(swap: bool = False) -> Verdict:
    """Eqs. (156)-(159): the attention p of training is at least the paper's p."""
    least = []
    for M, K, alpha in sizes(SIZES):
        _, exact, paper = _both("p_min", M, K, alpha)
        least.append(float((paper - exact if swap else exact - paper).min()))
    return judged(min(least) >= 0, "p(t) ≥ p_4(t)", f"smallest difference {listed(least, '.2g')} over t = 1 to "
                  f"{_short(horizon(1e7))}", note="du/dt has the constant 1 where the paper has ≳",
                  parameters={"(M, K, alpha)": sizes(SIZES)},
                  values={"least": least})  # fmt: skip


def surrogate_bounds_other_steps(swap: bool = False) -> Verdict:
    """Eq. (157): attention on other steps is at most the surrogate's."""
    texts, kept = [], []
    for M, K, alpha in sizes(SIZES):
        ts, exact, paper = _both("mass_other_step_max", M, K, alpha)
        above = (exact <= paper) if swap else (exact > paper)
        kept.append(not above.any())
        text = "never"
        if above.any():
            first, last = _short(ts[above][0]), _short(horizon(1e7))
            text = f"above from t = {first}, {exact[-1]:.1e} against {paper[-1]:.1e} at {last}"
        texts.append(f"({M}, {K}, {alpha:g}) {text}")
    return Verdict(word_of(kept), "attention on other steps ≤ the surrogate's", "; ".join(texts),
                   "" if all(kept) else "over-optimistic late: the true attention falls like a power of t, the "
                   "surrogate's exponentially in its drive", parameters={"(M, K, alpha)": sizes(SIZES)},
                   values={"kept": kept})  # fmt: skip


CLAIMS = [
    claim("Eq49", "Lemma F.7, Eq. (49)", "u(t) ≥ ½ log(η (1-α)² t/(α² K M)) for large t",
          pattern_score_is_bounded_below_late, control={"start": 10.0}, regime="four sizes, t ≥ 1e5", levels=FLOWS,
          takes=SIZE),
    claim("late_score", "Lemma F.7 [ours]", "a(t) ≃ ½ log(2 (1-α)² t/(α² (M-1)))", pattern_score_has_a_late_law,
          control={"factor": 2.0}, regime="four sizes, t = 1e7", levels=FLOWS, takes=SIZE),
    claim("theorem_1_loss", "Theorem 1, Eq. (19)", "the loss falls to O(ε)", loss_goes_to_zero,
          control={"start": 1.0, "end": 50.0}, levels=FLOWS, takes=SIZE),
    claim("theorem_1_alpha", "Theorem 1 [ours]", "training succeeds for every fraction α of matching examples",
          every_fraction_is_learnt, control={"products": (0.45, 0.55)}, regime="K = 3, M = 10, 20, 40, t = 1e5 M",
          takes="K"),
    claim("surrogate_p", "Appendix F, Eqs. (156)-(159)", "the surrogate bounds the attention from below",
          surrogate_is_a_lower_bound, control={"swap": True}, regime="four sizes, t = 1 to 1e7", is_cheap=False,
          levels=TRAINED, takes=SIZE),
    claim("surrogate_other_steps", "Appendix F, Eqs. (157), (158)",
          "the surrogate bounds attention on other steps from above", surrogate_bounds_other_steps,
          control={"swap": True}, regime="four sizes, t = 1 to 1e7", is_cheap=False, levels=TRAINED, takes=SIZE),
]  # fmt: skip
