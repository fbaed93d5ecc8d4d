"""Stage 1.2 for symmetric groups (Appendix E): Loss^{2,2} alone, from Q = 0 to the appendix's stop d^(3.025 - C_B).

Stage 1.2.1 ends where ε = 0.4, stage 1.2.2 at the stop. With n_x = ∞ the two clauses that do not matter have attention
ε/2 each, the right predicate (1 - ε + Δ)/2, the right answer (1 - ε - Δ)/2; c_1 = 1.005/(2 C_B), c_2 = 1/(4.02 C_B).
"""

from typing import Any

import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Inequality, Kit, Order, Path, Sides, Sign
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.lego.claims.regimes import (
    ANYWHERE,
    LARGER_CLIP,
    LAYER_SHAPE,
    LONG,
    MORE_VARIABLES,
    MUCH_LARGER_D,
    SYMMETRIES,
    SYMMETRY,
    c_2,
    in_powers_of_d,
)
from flowsys.systems.lego.closed_forms import c_1

SEEN = ("eps_attention", "gap", "alpha", "gamma", "alpha_rate", "gamma_rate")
FIRST, END = "stage_1_2_1", "stage_k_end"


def stage(run: Kit, end: str, n: int) -> Trajectory:
    """Times by their logarithm from where a stage begins."""
    kit = run.at(trained_steps="second", t_max=LONG)
    first, last = kit.reached(FIRST), kit.reached(end)
    start = first if end == END else 1e-5 * last
    return kit.at(t_max=10 * last).course(np.geomspace(start, last, n), observe=SEEN)


def stage_1_2_1(run: Kit, n: int = 40) -> Trajectory:
    return stage(run, FIRST, n)


def stage_1_2_2(run: Kit, n: int = 120) -> Trajectory:
    return stage(run, END, n)


def at_the_end(run: Kit, observe=SEEN) -> dict[str, float]:
    return run.at(trained_steps="second", t_max=LONG).values(END, observe=observe)


def rising_sum(run: Kit) -> dict[str, np.ndarray]:
    """Inductions E.1 (a), E.2 (a), Lemma E.19: d(α + γ)/dτ in both stages."""
    return {"stage 1.2.1": (a := stage_1_2_1(run))["alpha_rate"] + a["gamma_rate"],
            "stage 1.2.2": (b := stage_1_2_2(run))["alpha_rate"] + b["gamma_rate"]}  # fmt: skip


def eps_early(run: Kit, most: float = 0.5) -> Sides:
    """E.12: ε, which is Attn(pred_1) + Attn(ans_0), against 1/2 in stage 1.2.1."""
    there = stage_1_2_1(run)
    return Sides(there["eps_attention"], most, there.t)


def clauses_apart(run: Kit) -> float:
    """E.12, E.24: |Attn(pred_1) - Attn(ans_0)| where the loss is at its stop."""
    end = at_the_end(run, ("alpha", "beta", "gamma", "delta"))
    weights = np.exp([end[name] for name in ("alpha", "beta", "gamma", "delta")])
    return float(abs(weights[1] - weights[3]) / weights.sum())


def predicate_below_another(run: Kit, sign: float = 1.0) -> float:
    """E.21: the most by which Attn(pred_1) exceeds Attn(pred_2) in stage 1.2.1, or 0."""
    there = stage_1_2_1(run)
    excess = there["eps_attention"] / 2 - (1 - there["eps_attention"] + there["gap"]) / 2
    return float(max((sign * excess).max(), 0.0))


def scores_after_stage_1_2_1(run: Kit) -> dict[str, float]:
    """E.23 (a): α and γ where ε = 0.4."""
    end = run.at(trained_steps="second", t_max=LONG).values(FIRST, observe=("alpha", "gamma"))
    return {name: end[name] for name in ("alpha", "gamma")}


def gap_early(run: Kit, scale: float = 1.0) -> Sides:
    """E.22, Induction E.1 (d): Δ against c_1 in stage 1.2.1."""
    there = stage_1_2_1(run)
    return Sides(there["gap"], scale * c_1(run.p.C_B), there.t)


def gap_of_stage_1_2_2(run: Kit, scale: float = 1.0) -> Sides:
    """E.33, Induction E.2 (c): Δ against c_1 over the whole of stage 1.2.2."""
    there = stage_1_2_2(run)
    return Sides(there["gap"], scale * c_1(run.p.C_B), there.t)


def answer_over_predicate(run: Kit, slack: float = 0.0) -> Sides:
    """E.34: -Δ against Attn(pred_1) - c_2 = ε/2 - c_2 over the whole of stage 1.2.2."""
    there = stage_1_2_2(run)
    allowed = there["eps_attention"] / 2 - c_2(run.p.C_B) + slack
    share = float((-there["gap"] > allowed).mean())
    run.note(shares=run.noted.get("shares", "") + f"; {run.p.group}, C_B = {run.p.C_B:g}: {share:.2f}")
    return Sides(-there["gap"], allowed, there.t)


def answer_without_c_2(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] -Δ against Attn(pred_1) = ε/2 over the whole of stage 1.2.2."""
    there = stage_1_2_2(run)
    return Sides(-there["gap"], factor * there["eps_attention"] / 2, there.t)


def answer_over_predicate_as_printed(run: Kit, slack: float = 0.0) -> Sides:
    """Induction E.2 (d) as printed: -Δ against min(Attn(pred_1) - c_2, 0)."""
    there = stage_1_2_2(run)
    allowed = np.minimum(there["eps_attention"] / 2 - c_2(run.p.C_B), 0.0) + slack
    return Sides(-there["gap"], allowed, there.t)


def bounds_of_eps(run: Kit, least: float = 4 / 3) -> dict[str, Sides]:
    """E.24 (1): ε against (4/3) c_1, and 0.4 against ε, in stage 1.2.2."""
    there = stage_1_2_2(run)
    return {"below": Sides(there["eps_attention"], least * c_1(run.p.C_B), there.t),
            "above": Sides(0.4, there["eps_attention"], there.t)}  # fmt: skip


def predicate_over_others(run: Kit) -> Sides:
    """E.24 (2): Attn(pred_2) - Attn(ans_0) in stage 1.2.2 against a constant."""
    there = stage_1_2_2(run)
    return Sides((1 - there["eps_attention"] + there["gap"]) / 2 - there["eps_attention"] / 2, 1.0, there.t)


def eps_at_the_end(run: Kit, scale: float = 1.0) -> Sides:
    """E.35 (a): ε against 2.52 c_1 at the stop."""
    return Sides(at_the_end(run)["eps_attention"], scale * 2.52 * c_1(run.p.C_B))


def eps_over_c_1(run: Kit, group: str = "S4") -> dict[str, Sides]:
    """[ours] ε/c_1 at the stop, of all groups, against that of one."""
    of = lambda name: at_the_end(run.at(group=name))["eps_attention"]
    return {name: Sides(of(name), of(group)) for name in SYMMETRIES}


def error_and_gap(run: Kit) -> dict[str, float]:
    """Section 6.2.2: ε^{2,2} and |Δ^{2,2}| at the stop."""
    end = at_the_end(run)
    return {"ε": end["eps_attention"], "Δ": abs(end["gap"])}


def accuracy_at_length_4(run: Kit) -> Sides:
    """Theorem 5.1 at k = 1: -log(1 - Acc_4)/log d at the stop."""
    miss = run.at(trained_steps="second", t_max=LONG, L_test=4).values(END, observe=("inaccuracy",))["inaccuracy"]
    return Sides(in_powers_of_d(miss, run.p.d), 1.0)


CLIPS = (4.0, 6.0, 8.0)
PLACES = [{"group": g, "C_B": C} for g in SYMMETRIES for C in CLIPS]
WIDER = [{"group": g, "C_B": C} for g in SYMMETRIES for C in (4.0, 8.0, 16.0, 24.0)]
GROUPS = [{"group": g, "C_B": 6.0} for g in SYMMETRIES]
STAGE: dict[str, Any] = {"regime": SYMMETRY, "takes": f"group d C_B {LAYER_SHAPE}"}
SIZES = Path("d", (1e2, 3e2, 1e3, 3e3, 1e4, 3e4))
CLAIMS = [
    Claim("E.19", "Lemma E.19, Lemma E.31, Induction E.1, Induction E.2", "α + γ rises throughout stage 1.2",
          Sign({"stage 1.2.1": 1, "stage 1.2.2": 1}, strict=True), rising_sum, at=PLACES, **STAGE,
          control={"kind": Sign({"stage 1.2.1": 1, "stage 1.2.2": -1}, strict=True)}),
    Claim("E.12", "Lemma E.12", "Attn(pred_1) + Attn(ans_0) ≤ 1/2 in stage 1.2.1", Inequality("<="), eps_early,
          at=PLACES, **STAGE, control={"most": 0.42}),
    Claim("E.12_apart", "Lemma E.12, Lemma E.24, Lemma E.20, Lemma E.32", "|Attn(pred_1) - Attn(ans_0)| = Õ(1/n_x)",
          Order("Õ", lambda p: 1 / p.n_x), clauses_apart, at=GROUPS[:2], path=MORE_VARIABLES, **STAGE,
          control={"kind": Order("Õ", lambda p: p.n_x**-2.0)}),
    Claim("E.21", "Lemma E.21, Induction E.1", "Attn(pred_2) - Attn(pred_1) ≥ -O(log log d / log d) in stage 1.2.1",
          Order("O", lambda p: np.log(np.log(p.d)) / np.log(p.d)), predicate_below_another, at=GROUPS, path=SIZES,
          regime=SYMMETRY, takes=f"group C_B {LAYER_SHAPE}",
          control={"sign": -1.0, "kind": Order("O", lambda p: p.d**-0.5)}),
    Claim("E.22", "Lemma E.22, Induction E.1", "Δ ≤ c_1 in stage 1.2.1", Inequality("<="), gap_early, at=PLACES,
          **STAGE, control={"scale": 0.01}),
    Claim("E.23", "Lemma E.23", "α, γ = Ω(1) where ε = 0.4", Order("Ω"), scores_after_stage_1_2_1, at=GROUPS,
          path=SIZES, regime=SYMMETRY, takes=f"group C_B {LAYER_SHAPE}",
          is_cheap=False, control={"kind": Order("Ω", lambda p: p.d**0.2)}),
    Claim("E.24", "Lemma E.24", "4/3 c_1 ≤ ε ≤ 0.4 in stage 1.2.2", Inequality(">="), bounds_of_eps, at=PLACES,
          **STAGE, control={"least": 2.3}),
    Claim("E.24_predicate", "Lemma E.24", "Attn(pred_2) - Attn(ans_0) = Ω(1) in stage 1.2.2", Inequality(">=", None),
          predicate_over_others, at=GROUPS, path=SIZES, regime=SYMMETRY, takes=f"group C_B {LAYER_SHAPE}",
          is_cheap=False, control={"kind": Inequality(">=", 0.4)}),
    Claim("E.33", "Lemma E.33, Induction E.2", "Δ ≤ c_1 throughout stage 1.2.2", Inequality("<="), gap_of_stage_1_2_2,
          at=PLACES, **STAGE, control={"scale": 0.05}),
    Claim("E.34", "Lemma E.34", "Attn(ans_1) - Attn(pred_2) ≤ Attn(pred_1) - c_2 throughout stage 1.2.2",
          Inequality("<="), answer_over_predicate, at=WIDER, **STAGE, control={"slack": 1.0},
          note="the proof lets n_y → ∞; violated at these shares of the times looked at{shares}",
          erratum=Erratum("Attn(ans_1) - Attn(pred_2) ≤ Attn(pred_1) - c_2", "≤ Attn(pred_1): without c_2 it holds for "
                          "small n_y and all C_B", "affects a statement", "E.34-without")),
    Claim("E.34-without", "Lemma E.34", "Attn(ans_1) - Attn(pred_2) ≤ Attn(pred_1) throughout stage 1.2.2",
          Inequality("<="), answer_without_c_2, at=WIDER, **STAGE, sharpens="E.34", control={"factor": 0.3}),
    Claim("E.2_d", "Induction E.2", "(d) Attn(ans_1) - Attn(pred_2) ≤ min(Attn(pred_1) - c_2, 0)", Inequality("<="),
          answer_over_predicate_as_printed, at=PLACES, **STAGE, control={"slack": 1.0},
          erratum=Erratum("min(Attn(pred_1) - c_2, 0)", "Attn(pred_1) - c_2, as Lemma E.34 has it: with the minimum "
                          "the answer could never have more attention than the predicate", "affects a statement",
                          "E.34")),
    Claim("E.35", "Lemma E.35", "(a) ε^{2,2} ≤ 2.52 c_1 at the end of stage 1.2.2", Inequality("<="), eps_at_the_end,
          at=PLACES, **STAGE, control={"scale": 0.8}),
    Claim("E.35-groups", "Lemma E.35", "ε at the stop is the same for all groups, C_B ≥ 6", Identity(0.03),
          eps_over_c_1, at=[{"C_B": C} for C in (6.0, 8.0, 12.0)], sharpens="E.35", takes="C_B",
          control={"group": "C3"}),
    Claim("symmetric_gap", "Section 6.2.2", "ε^{2,2} ≤ C_1 and Δ^{2,2} ≤ C_2, small constants: both fall with C_B",
          Order("O", lambda p: 1 / p.C_B), error_and_gap, at=[{"group": g} for g in SYMMETRIES], path=LARGER_CLIP,
          regime=SYMMETRY, what="remark", takes=f"group d {LAYER_SHAPE}",
          is_cheap=False, control={"kind": Order("O", lambda p: p.C_B**-2.0)}),
    Claim("5.1_threshold", "Theorem 5.1", "k = 1: the model of stage 1.2 solves length 4, 1 - Acc_4 = 1/poly(d)",
          Inequality(">=", None), accuracy_at_length_4, at=[{"group": g, "C_B": 8.0} for g in SYMMETRIES],
          path=MUCH_LARGER_D, regime=SYMMETRY, takes=f"group C_B {LAYER_SHAPE}", is_cheap=False,
          control={"at": [{"group": g, "C_B": 3.5} for g in SYMMETRIES], "regime": ANYWHERE,
                   "kind": Inequality(">=", 1.0)}),
]  # fmt: skip
