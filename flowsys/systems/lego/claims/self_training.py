"""Recursive self-training (Algorithm 2, Theorem 5.1, Appendix F): rounds at L = 2, 4, …, each to the appendix's stop.

Round k trains Loss^{L_k,2} on the labels of round k - 1 from where that ended to the loss d^(3.025 - C_B). Expectations
that cannot be enumerated are over 1024 fixed sequences, accuracy is over 256.
"""

from math import exp, log

import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Inequality, Kit, Order, Path, Sides, Sign
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.lego.claims.regimes import (
    ANYWHERE,
    LARGE_CLIP,
    LARGER_CLIP,
    LAYER_SHAPE,
    LONG,
    SYMMETRIES,
    SYMMETRY,
    c_2,
    in_powers_of_d,
)
from flowsys.systems.lego.closed_forms import c_1, log_loss_threshold

LENGTHS = (2, 4, 8, 16, 32, 64)
FEW = (2, 8, 64)
SEEN = ("eps_attention", "gap", "alpha", "gamma", "alpha_rate", "gamma_rate")
END = "stage_k_end"
SOLVED = 0.9


def round_at(run: Kit, L: int, **parameters) -> Kit:
    """The round at length L; those before it end at the same stop."""
    stop = exp(log_loss_threshold(run.p.C_B, run.p.d))
    return run.at(mode="algorithm_2", L=int(L), loss_target=stop, t_max=LONG, **parameters)


def ended(run: Kit, L: int, *observe: str, **parameters) -> dict[str, float]:
    """Observables where the round at length L ends."""
    return round_at(run, L, **parameters).values(END, observe=observe)


def course(run: Kit, L: int, n: int = 30) -> Trajectory:
    """The round at length L from its start, by the logarithm of the time since then."""
    there, before = round_at(run, L), 0.0 if L == 2 else round_at(run, L // 2).reached(END)
    last = there.reached(END)
    first = max(1e-9 * (last - before), 1e-7 * before)  # ends are known to about 1e-9
    times = before + np.geomspace(first, last - before, n)
    return there.at(t_max=10 * last).course(np.unique(times), observe=SEEN)


def missed(run: Kit, L: int) -> float:
    """1 - Acc at the doubled length 2 L where the round at L ends."""
    return ended(run, L, "inaccuracy", L_test=2 * L)["inaccuracy"]


def accuracy_in_powers(run: Kit, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Sides]:
    """5.1 (1): -log(1 - Acc_{2L})/log d of every round, against a constant."""
    return {f"L = {L}": Sides(in_powers_of_d(missed(run, L), run.p.d), 1.0) for L in lengths}


def accuracy_over_lengths(run: Kit) -> float:
    """Corollary 5.1: -log(1 - Acc_{2L})/log d of one round."""
    return in_powers_of_d(missed(run, run.p.length), run.p.d)


def least_accuracy_in_powers(run: Kit) -> Sides:
    """[ours] The least -log(1 - Acc_{2L})/log d over the rounds, against 1: 1 - Acc ≤ 1/d."""
    return Sides(min(in_powers_of_d(missed(run, L), run.p.d) for L in FEW), 1.0)


def solved_over_trained(run: Kit, factor: float = 1.0) -> dict[str, Sides]:
    """5.1 (1): the longest L with Acc_L ≥ 0.9 over the trained one, of the rounds 32 and 64."""
    return {f"{run.p.group}, L = {L}": Sides(factor * longest_solved(run, L) / L, 1.0) for L in LENGTHS[-2:]}


def longest_solved(run: Kit, L: int, share: float = 0.02) -> int:
    """L* to 2 %, from the grid's by bisection."""
    low = int(ended(run, L, "L_star")["L_star"])
    high = int(np.ceil(2 ** (1 / 3) * low)) + 1
    while high - low > max(1, share * low):
        middle = (low + high) // 2
        solves = ended(run, L, "accuracy", L_test=middle)["accuracy"] >= SOLVED
        low, high = (middle, high) if solves else (low, middle)
    return low


def eps_of_the_last_step(run: Kit, lengths: tuple[int, ...] = FEW) -> dict[str, float]:
    """5.1 (2): ε^{L,ℓ} where the round ends, at ℓ = L, where it is largest."""
    found = {f"L = {L}": ended(run, L, "eps_test", L_test=L, ell_test=L)["eps_test"] for L in lengths}
    run.note(enough=max(run.noted.get("enough", 0.0), run.p.C_B * max(found.values()) / 0.01))
    return found


def labels(run: Kit, lengths: tuple[int, ...] = LENGTHS[1:]) -> dict[str, Sides]:
    """Fact F.1: the share of self-labels that are right, against 1."""
    return {f"L = {L}": Sides(ended(run, L, "label_accuracy")["label_accuracy"], 1.0) for L in lengths}


def eps_after_doubling(run: Kit, times: int = 2) -> dict[str, Sides]:
    """Remark F.1: ε at the doubled length against ε at the length trained."""
    found = {}
    for L in LENGTHS:
        end = ended(run, L, "eps_attention", "eps_test", L_test=times * L, ell_test=2)
        found[f"L = {L}"] = Sides(end["eps_test"], end["eps_attention"])
    return found


def gap_after_doubling(run: Kit, is_reversed: bool = False) -> dict[str, Sides]:
    """Remark F.1: |Δ| at the doubled length against that at the length trained."""
    found = {}
    for L in LENGTHS:
        end = ended(run, L, "gap", "gap_test", L_test=2 * L, ell_test=2)
        pair = abs(end["gap_test"]), abs(end["gap"])
        found[f"L = {L}"] = Sides(*(pair[::-1] if is_reversed else pair))
    return found


def bounds_of_eps(run: Kit, least: float = 4 / 3) -> dict[str, Sides]:
    """F.9 (1): ε against (4/3) c_1, and twice ε of the round before against ε, through the rounds."""
    found = {}
    for L in FEW[1:]:
        there = course(run, L)
        found[f"below, L = {L}"] = Sides(there["eps_attention"], least * c_1(run.p.C_B), there.t)
        before = ended(run, L // 2, "eps_attention")["eps_attention"]
        found[f"above, L = {L}"] = Sides(2 * before, there["eps_attention"], there.t)
    return found


def rising_sum(run: Kit) -> dict[str, np.ndarray]:
    """F.12, Induction F.1 (1): d(α + γ)/dτ through the rounds."""
    return {f"L = {L}": (there := course(run, L))["alpha_rate"] + there["gamma_rate"] for L in FEW[1:]}


def predicate_over_answer(run: Kit, scale: float = 1.0) -> dict[str, Sides]:
    """F.14: Δ against c_1 through every round from the second on."""
    found = {}
    for L in LENGTHS[1:]:
        there = course(run, L)
        found[f"L = {L}"] = Sides(there["gap"], scale * c_1(run.p.C_B), there.t)
    told = ", ".join(f"{sides.left[-1] / c_1(run.p.C_B):.2f}" for sides in found.values())
    run.note(ends=run.noted.get("ends", "") + f"; {run.p.group}, C_B = {run.p.C_B:g}: {told}")
    return found


def answer_over_predicate(run: Kit, lower: float = 0.0) -> dict[str, Sides]:
    """F.15: -Δ against (L - 1)/L ε - c_2 through every round from the second on."""
    found = {}
    for L in LENGTHS[1:]:
        there = course(run, L)
        allowed = (L - 1) / L * there["eps_attention"] - c_2(run.p.C_B) - lower
        found[f"L = {L}"] = Sides(-there["gap"], allowed, there.t)
    return found


def eps_where_rounds_end(run: Kit, scale: float = 1.0) -> dict[str, Sides]:
    """F.16 (a): ε^{L_k,2} against 5.04 c_1."""
    bound = scale * 5.04 * c_1(run.p.C_B)
    return {f"L = {L}": Sides(ended(run, L, "eps_attention")["eps_attention"], bound) for L in LENGTHS}


def times_of_rounds(run: Kit) -> Sides:
    """[ours] The longest τ that a round takes against the shortest."""
    ends = [0.0, *(round_at(run, L).reached(END) for L in LENGTHS)]
    return Sides(np.diff(ends).max(), np.diff(ends).min())


def growth_in_rounds(run: Kit) -> Sides:
    """[ours] What rounds add to log(e^α + e^γ), against log 2."""
    scores = [ended(run, L, "alpha", "gamma") for L in LENGTHS]
    weights = [np.logaddexp(end["alpha"], end["gamma"]) for end in scores]
    return Sides(np.diff(weights), log(2), LENGTHS[1:], "L")


LONGER = Path("length", (*LENGTHS, 128))
"""As long as the program tests: chains of 2 L."""
AT_8 = [{"group": g, "C_B": 8.0} for g in SYMMETRIES]
AT_16 = [{"group": g, "C_B": 16.0} for g in SYMMETRIES]
AT_ALL = [{"group": g, "C_B": C} for g in SYMMETRIES for C in (6.0, 8.0, 16.0)]
TAKES = f"group d C_B {LAYER_SHAPE}"
CLAIMS = [
    Claim("5.1", "Theorem 5.1, Theorem F.1", "(1) round k solves the doubled length: 1 - Acc_{2L} = 1/poly(d)",
          Inequality(">=", None), accuracy_in_powers, at=AT_16, path=Path("d", (1e2, 3e2, 1e3, 3e3, 1e4)),
          regime=LARGE_CLIP, takes=f"group C_B {LAYER_SHAPE}", is_cheap=False,
          control={"at": [{"group": g, "C_B": 3.5} for g in SYMMETRIES], "regime": ANYWHERE,
                   "kind": Inequality(">=", 1.0)}),
    Claim("5.1-length", "Theorem 5.1", "(1) L* ≥ 2 L, with Acc ≥ 0.9", Inequality(">=", 2.0), solved_over_trained,
          at=AT_16, regime=LARGE_CLIP, takes=TAKES, is_cheap=False, control={"factor": 0.2}),
    Claim("5.1-clip", "Theorem 5.1", "1 - Acc_{2L} ≤ 1/d for a clip this large", Inequality(">="),
          least_accuracy_in_powers,
          at=[{"group": g, "C_B": C} for g in SYMMETRIES for C in (4.0, 6.0, 8.0, 12.0, 16.0)],
          regime=LARGE_CLIP.with_constant("C", 12.0), sharpens="5.1", takes=TAKES, is_cheap=False,
          control={"kind": Inequality(">=", 6.0)}),
    Claim("5.1_attention", "Theorem 5.1", "(2) ε^{L,ℓ} ≤ a small constant for all ℓ: it falls like 1/C_B", Order("O",
          lambda p: 1 / p.C_B), eps_of_the_last_step, at=[{"group": g} for g in SYMMETRIES], path=LARGER_CLIP,
          regime=SYMMETRY, takes=f"group d {LAYER_SHAPE}", is_cheap=False,
          control={"kind": Order("O", lambda p: p.C_B**-2.0)},
          note="the constant of the text, one per cent, needs C_B ≥ {enough:.0f}"),
    Claim("cor_5.1", "Corollary 5.1", "1 - Acc_{2L} stays 1/poly(d) from round to round", Order("Ω"),
          accuracy_over_lengths, at=AT_16, path=LONGER, regime=LARGE_CLIP, takes=TAKES, is_cheap=False,
          control={"kind": Order("Ω", lambda p: p.length**0.5)}),
    Claim("F.1_labels", "Fact F.1, Section 6.2.2", "greedy self-labels are right, so the two losses are one",
          Identity(0.0), labels, at=[*AT_8, *AT_16], regime=SYMMETRY, takes=TAKES, is_cheap=False,
          control={"at": {"group": "S4", "C_B": 3.1}, "lengths": (4, 8), "regime": ANYWHERE}),
    Claim("F.1", "Remark F.1", "doubling the length at most doubles ε", Inequality("<=", 2.0), eps_after_doubling,
          at=[*AT_8, *AT_16], regime=SYMMETRY, takes=TAKES, is_cheap=False, control={"times": 8}),
    Claim("F.1_gap", "Remark F.1", "|Δ| does not grow when the length doubles", Inequality("<="), gap_after_doubling,
          at=[*AT_8, *AT_16], regime=SYMMETRY, takes=TAKES, is_cheap=False, control={"is_reversed": True}),
    Claim("F.9", "Lemma F.9", "4/3 c_1 ≤ ε ≤ 2 ε_{k-1} through a round", Inequality(">="), bounds_of_eps, at=AT_8,
          regime=SYMMETRY, takes=TAKES, is_cheap=False, control={"least": 3.0}),
    Claim("F.12", "Lemma F.12, Induction F.1", "α + γ rises through a round", Sign({f"L = {L}": 1 for L in FEW[1:]},
          strict=True), rising_sum, at=AT_8, regime=SYMMETRY, takes=TAKES, is_cheap=False,
          control={"kind": Sign({"L = 8": 1, "L = 64": -1}, strict=True)}),
    Claim("F.14", "Lemma F.14, Induction F.1", "Attn(pred_2) - Attn(ans_1) ≤ c_1 in every round", Inequality("<="),
          predicate_over_answer, at=[*AT_8, *AT_16], regime=SYMMETRY, takes=TAKES, is_cheap=False,
          control={"scale": 4.0}, note="the gap over its bound where rounds end, from the second on{ends}",
          erratum=Erratum("Δ^{L,2} ≤ c_1 in every round", "Δ^{L,2} ≤ 2 c_1: for small n_y the largest exceeds c_1 as L "
                          "grows", "affects a statement", "F.14-twice")),
    Claim("F.14-twice", "Lemma F.14", "Δ ≤ 2 c_1 in every round", Inequality("<=", 2.0), predicate_over_answer,
          at=[*AT_8, *AT_16], regime=SYMMETRY, sharpens="F.14", takes=TAKES, is_cheap=False,
          control={"kind": Inequality("<=", 1.0)}),
    Claim("F.15", "Lemma F.15, Induction F.1", "Attn(ans_1) - Attn(pred_2) ≤ (L - 1)/L ε - c_2 in every round",
          Inequality("<="), answer_over_predicate, at=AT_8, regime=SYMMETRY, takes=TAKES, is_cheap=False,
          control={"lower": 1.0}),
    Claim("F.16", "Lemma F.16", "(a) ε^{L_k,2} ≤ 5.04 c_1 where a round ends", Inequality("<="), eps_where_rounds_end,
          at=[*AT_8, *AT_16], regime=SYMMETRY, takes=TAKES, is_cheap=False, control={"scale": 0.5}),
    Claim("rounds_time", "Appendix F [ours]", "to L = 64 no round takes twice the time of another",
          Inequality("<=", 2.0), times_of_rounds, at=AT_ALL, takes=TAKES, is_cheap=False,
          control={"kind": Inequality("<=", 1.05)}),
    Claim("rounds_growth", "Appendix F [ours]", "a round adds at most log 2 to log(e^α + e^γ)", Inequality("<="),
          growth_in_rounds, at=AT_ALL, takes=TAKES, is_cheap=False, control={"kind": Inequality("<=", 0.5)}),
]  # fmt: skip
