"""Stage 2 for simply transitive groups (Appendix D): the gap opens, stays bounded, closes; attention concentrates.

Stage 2.1 ends where α reaches 1/log d, stage 2.2 where it reaches a constant, 1 here (the paper has 0.0001, which is
above 1/log d only for log d > 10⁴). Rates are those of the whole block over n_x, dα/dτ = -n_x ∂Loss/∂[Q_43]_{s,s}.
"""

from typing import Any

import numpy as np

from flowsys.claims import (
    Claim,
    Identity,
    Inequality,
    Kit,
    Limit,
    Order,
    Path,
    Provable,
    Series,
    Sides,
    Sign,
)
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.lego.claims.regimes import (
    ANYWHERE,
    LARGER_D,
    LAYER_SHAPE,
    LONG,
    MORE_VARIABLES,
    MUCH_LARGER_D,
    SIMPLY_TRANSITIVE,
    SIZES,
    in_powers_of_d,
    late,
    late_time,
)
from flowsys.systems.lego.closed_forms import clip_level

RATES = ("alpha_rate", "gamma_rate", "alpha", "gamma")
SCORES = ("alpha", "gamma", "alpha_minus_gamma", "gap", "eps_attention")
AT_ONCE = 1e-9
STOP, BEFORE = 1.01, 0.5
"""ε = d^-1.01 is the largest that Lemma D.45 takes; our law looks at ε = d^(-1/2), long before."""


def stage_2_1(run: Kit, n: int = 24) -> Trajectory:
    """From the start to where α = 1/log d."""
    last = run.at(t_max=LONG).reached("stage_2_1")
    return run.at(t_max=10 * last).course(np.geomspace(1e-4 * last, last, n), observe=RATES)


def stage_2_2(run: Kit, n: int = 24) -> Trajectory:
    first, last = (run.at(t_max=LONG).reached(event) for event in ("stage_2_1", "stage_2_2"))
    return run.at(t_max=10 * last).course(np.linspace(first, last, n + 1)[1:], observe=(*SCORES, *RATES))


def stage_2_3(run: Kit, until: float = 1.5, n: int = 60) -> Trajectory:
    """From α = 1 on, by the logarithm of τ, to d^(C_B - 1 + until) or 30 times the scale, where the gap has digits."""
    first = 1.01 * run.at(t_max=LONG).reached("stage_2_2")
    last = max(min(late_time(run.p, until), 30 * late_time(run.p, 0.0)), 2 * first)
    return run.at(t_max=10 * last).course(np.geomspace(first, last, n), observe=SCORES)


def rate_of_alpha(run: Kit) -> dict[str, float]:
    """D.16: dα/dτ at the start and at the end of stage 2.1."""
    there = stage_2_1(run)
    return {"start": float(there["alpha_rate"][0]), "end": float(there["alpha_rate"][-1])}


def decrease_of_gamma(run: Kit, sign: float = 1.0) -> Sides:
    """D.17: -dγ/dτ against dα/dτ / log d in stage 2.1."""
    there = stage_2_1(run)
    return Sides(-sign * there["gamma_rate"], there["alpha_rate"] / np.log(run.p.d), there.t)


def growth_of_the_gap(run: Kit) -> Sides:
    """D.18: d(α - γ)/dτ against dα/dτ in stage 2.1, to α = 1/B: of the order of 1/log d, and logits are still O(1)."""
    there = stage_2_1(run.at(alpha_1=1 / clip_level(run.p.C_B, run.p.d)))
    return Sides(there["alpha_rate"] - there["gamma_rate"], there["alpha_rate"], there.t)


def gap_without_the_first_step(run: Kit, trained_steps: str = "second") -> dict[str, Sides]:
    """[ours] α and γ of both when only ℓ = 2 is trained."""
    times = (0.1, 1.0, 3.0) if run.is_finite else ("stage_2_1", "stage_2_2", "loss_threshold", 1e6)
    found = {}
    for group in ("C3", "C5"):
        there = run.at(group=group, trained_steps=trained_steps).run(*times, observe=("alpha", "gamma"))
        found[group] = Sides(there["alpha"], there["gamma"], there.t)
    return found


def growth_of_gamma(run: Kit) -> float:
    """D.19: dγ/dτ over dα/dτ where α = 1/log d."""
    end = run.at(t_max=LONG).values("stage_2_1", observe=RATES)
    return end["gamma_rate"] / end["alpha_rate"]


def drive_of_one_step(run: Kit, step: str, name: str) -> float:
    """The rate of a score at Q = 0 by the loss of one step."""
    return run.at(trained_steps=step).values(AT_ONCE, observe=RATES)[f"{name}_rate"]


def drive_of_gamma(run: Kit) -> float:
    """Section 6.2.1: dγ/dτ over dα/dτ at Q = 0 by Loss^{2,1}."""
    return drive_of_one_step(run, "first", "gamma") / drive_of_one_step(run, "first", "alpha")


def drive_of_the_second_step(run: Kit, over: str = "second") -> float:
    """Section 6.2.1: dα/dτ at Q = 0 by Loss^{2,2} over that by Loss^{2,1}, at the paper's b."""
    there = run.at(bias=0.0, bias_scale=1.0, d=1e8)
    return drive_of_one_step(there, over, "alpha") / drive_of_one_step(there, "first", "alpha")


def drive_and_its_law(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] The same against 3/(4 n_y)."""
    return Sides(drive_of_the_second_step(run), factor * 3 / (4 * run.p.n))


def off_diagonal(run: Kit) -> dict[str, float]:
    """D.20: |β/α| and |δ/γ| where the loss is 1e-4."""
    end = run.values("loss_threshold", observe=("alpha", "beta", "gamma", "delta"))
    return {"β/α": abs(end["beta"] / end["alpha"]), "δ/γ": abs(end["delta"] / end["gamma"])}


def gap_at_the_end_of_stage_2_1(run: Kit) -> float:
    """D.21 (b): α - γ where α = 1/log d."""
    return run.at(t_max=LONG).values("stage_2_1", observe=SCORES)["alpha_minus_gamma"]


def least_gap_of_stage_2_2(run: Kit) -> float:
    """D.31, D.33 (b): the least α - γ."""
    return float(stage_2_2(run)["alpha_minus_gamma"].min())


def largest_gap_of_stage_2_2(run: Kit) -> float:
    """D.33 (b): the largest α - γ."""
    return float(stage_2_2(run)["alpha_minus_gamma"].max())


def rising_scores(run: Kit, first: str = "gamma") -> dict[str, np.ndarray]:
    """Inductions D.1 (a), D.2 (a): dα/dτ to the end of stage 2.2, dγ/dτ in stage 2.2."""
    early, later = stage_2_1(run), stage_2_2(run)
    return {"alpha": np.concatenate([early["alpha_rate"], later["alpha_rate"]]), "gamma": later[f"{first}_rate"]}


def size_of_gamma(run: Kit, factor: float = 1.0) -> Sides:
    """Induction D.1 (b): |γ| against α in stage 2.1."""
    there = stage_2_1(run)
    return Sides(factor * np.abs(there["gamma"]), there["alpha"], there.t)


def attention_on_the_predicate(run: Kit, share: float = 1.0) -> Sides:
    """D.44: Attn(pred) - 1/2 = (Δ - ε)/2 against 1/(2 C_B), the constant of the proof, in stage 2.3."""
    there = stage_2_3(run)
    return Sides((there["gap"] - there["eps_attention"]) / 2, share / (2 * run.p.C_B), there.t)


def gap_late(run: Kit) -> float:
    """D.45, Section 6.2.1: |Δ^{2,2}| at τ = d^C_B."""
    return abs(late(run, 1.0, "gap")["gap"])


def gap_where_eps_is(run: Kit, power: float = STOP) -> float:
    """D.45 (a): |Δ^{2,2}| where ε^{2,2} has fallen to d^-power."""
    return abs(run.at(t_max=LONG, eps_target=run.p.d**-power).values("eps_reached", observe=SCORES)["gap"])


def gap_off_its_law(run: Kit, shift: float = 0.0) -> float:
    """[ours] |Δ - (1 - c)/C_B| where ε = d^-c, c = 1/2."""
    return abs(gap_where_eps_is(run, BEFORE) - (1 - BEFORE) / run.p.C_B - shift)


def scores_late(run: Kit) -> dict[str, float]:
    """D.45 (b), D.43: α and γ at τ = d^C_B."""
    return late(run, 1.0, "alpha", "gamma")


def loss_in_powers(run: Kit) -> Sides:
    """D.45 (c): -log(loss)/log d at τ = d^C_B."""
    return Sides(in_powers_of_d(late(run, 1.0, "loss")["loss"], run.p.d), 1.0)


def time_of_the_largest_gap(run: Kit) -> float:
    """[ours] τ where the gap turns."""
    return run.at(t_max=LONG).reached("gap_peak")


def slope_of_eps(run: Kit, factor: float = 1.0) -> Series:
    """[ours] dlog ε / dlog τ."""
    there = run.at(t_max=LONG).course(np.geomspace(1e2, 1e6, 13) * late_time(run.p, 0.0), observe=("log_eps_rate",))
    return Series(there.t, factor * there.t * there["log_eps_rate"], "τ")


STAGE: dict[str, Any] = {"regime": SIMPLY_TRANSITIVE, "takes": f"group C_B {LAYER_SHAPE}"}
HERE = [{"group": g, "C_B": 4.0} for g in ("C3", "C5")]
UP_TO_ROUNDING = Path("d", (1e2, 3e2, 1e3, 3e3, 1e4, 1e5, 1e6))
MORE_VALUES = Path("n", (3, 4, 5, 6, 8, 10, 12), group=lambda p: f"C{p.n}")
inverse_log = lambda p: 1 / np.log(p.d)
CLAIMS = [
    Claim("D.16", "Lemma D.16, Lemma D.29", "dα/dτ = Θ(log d) in stage 2.1", Order("Θ", lambda p: np.log(p.d)),
          rate_of_alpha, at=HERE, path=MUCH_LARGER_D, **STAGE, is_cheap=False, control={"kind": Order("Θ")}),
    Claim("D.17", "Lemma D.17", "dγ/dτ ≥ -O(1/log d) dα/dτ in stage 2.1", Inequality("<=", None), decrease_of_gamma,
          at=HERE, path=MUCH_LARGER_D, **STAGE, control={"sign": -1.0}),
    Claim("D.18", "Lemma D.18", "d(α - γ)/dτ ≥ Ω(dα/dτ) in stage 2.1, to α = 1/B", Inequality(">=", None),
          growth_of_the_gap, at=HERE, path=MUCH_LARGER_D, **STAGE,
          control={"at": {"group": "C5", "C_B": 4.0, "trained_steps": "second"}, "kind": Inequality(">=", 0.1)}),
    Claim("D.18-second", "Lemma D.18, Section 6.2.1", "the gap is made by the first step alone: without it α = γ",
          Identity(1e-7, relative=False), gap_without_the_first_step, sharpens="D.18", levels="L0 L2 L3",
          takes=f"d C_B n_x {LAYER_SHAPE}", control={"trained_steps": "first_two"}),
    Claim("D.19", "Lemma D.19", "dγ/dτ ≥ Ω(dα/dτ) once α = Ω(1/log d)", Order("Ω"), growth_of_gamma, at=HERE,
          path=MUCH_LARGER_D, **STAGE, control={"kind": Order("Ω", lambda p: np.log(p.d) ** 2)}),
    Claim("drive_of_gamma", "Section 6.2.1", "Loss^{2,1} drives α and not γ: their rates' ratio at Q = 0 tends to 0",
          Limit(0.0), drive_of_gamma, at=[{"group": g, "C_B": C} for g in ("C3", "C5") for C in (4.0, 8.0)],
          path=MUCH_LARGER_D, regime=SIMPLY_TRANSITIVE, what="remark", takes=f"group C_B {LAYER_SHAPE}",
          control={"at": {"group": "C5", "C_B": 2.0}, "regime": ANYWHERE}),
    Claim("drive_of_step_2", "Section 6.2.1", "at first -∇Loss^{2,2} is negligible beside -∇Loss^{2,1}, as n_y → ∞",
          Limit(0.0), drive_of_the_second_step, at={"C_B": 4.0}, path=MORE_VALUES, regime=SIMPLY_TRANSITIVE,
          what="remark", takes="C_B rho q", control={"over": "first"}),
    Claim("drive_of_step_2-law", "Section 6.2.1", "their ratio is 3/(4 n_y), from actions or values that coincide",
          Identity(2e-3), drive_and_its_law, at={"C_B": 4.0}, path=MORE_VALUES, regime=SIMPLY_TRANSITIVE,
          sharpens="drive_of_step_2", takes="C_B", control={"factor": 1.1}),
    Claim("D.20", "Lemma D.20, Lemma D.32, Lemma D.41, Induction D.1",
          "off-diagonal scores are O(1/n_x) of diagonal ones", Order("O", lambda p: 1 / p.n_x), off_diagonal,
          at={"group": "C3"}, path=MORE_VARIABLES, regime=SIMPLY_TRANSITIVE, takes=f"group d C_B {LAYER_SHAPE}",
          control={"kind": Order("O", lambda p: p.n_x**-2.0)}),
    Claim("D.20-law", "Lemma D.20", "they are Θ(1/n_x)", Order("Θ", lambda p: 1 / p.n_x), off_diagonal,
          at={"group": "C3"}, path=MORE_VARIABLES, regime=SIMPLY_TRANSITIVE, sharpens="D.20", takes="group d C_B",
          is_cheap=False, control={"kind": Order("Θ")}),
    Claim("D.21", "Lemma D.21, Section 6.2.1", "a gap α - γ = Ω(1/log d) has opened where α = Θ(1/log d)",
          Order("Ω", inverse_log), gap_at_the_end_of_stage_2_1, at=HERE, path=MUCH_LARGER_D, **STAGE,
          control={"at": {"group": "C5", "C_B": 2.0}, "regime": ANYWHERE}),
    Claim("D.1_induction", "Induction D.1, Induction D.2", "α rises in stages 2.1 and 2.2, γ in stage 2.2",
          Sign({"alpha": 1, "gamma": 1}, strict=True), rising_scores, at=HERE, path=LARGER_D, **STAGE,
          control={"kind": Sign({"alpha": 1, "gamma": -1}, strict=True)}),
    Claim("D.1_b", "Induction D.1", "|γ| ≤ α in stage 2.1", Inequality("<="), size_of_gamma, at=HERE, path=LARGER_D,
          **STAGE, control={"factor": 4.0},
          provable=Provable(["gamma < alpha on (0, stage_2_1]", "gamma > -alpha on (0, stage_2_1]"])),
    Claim("D.33", "Lemma D.31, Lemma D.33, Induction D.2", "α - γ = Ω(1/log d) through stage 2.2",
          Order("Ω", inverse_log), least_gap_of_stage_2_2, at=HERE, path=MUCH_LARGER_D, **STAGE,
          control={"at": {"group": "C5", "C_B": 2.0}, "regime": ANYWHERE}),
    Claim("D.33-upper", "Lemma D.33, Induction D.2", "α - γ = O(1) through stage 2.2", Order("O"),
          largest_gap_of_stage_2_2, at=HERE, path=MUCH_LARGER_D, **STAGE,
          is_cheap=False, control={"kind": Order("O", lambda p: p.d**-0.2)}),
    Claim("D.42", "Lemma D.42, Induction D.3", "Δ^{2,1}, Δ^{2,2} ≥ 0 in stage 2.3", Sign({"alpha_minus_gamma": 1,
          "gap": 1}), stage_2_3, at=[{"group": g, "C_B": C} for g in ("C3", "C5", "C6") for C in (3.0, 4.0, 6.0)],
          regime=SIMPLY_TRANSITIVE, takes=f"group d C_B {LAYER_SHAPE}",
          control={"at": {"group": "S3", "C_B": 8.0}, "regime": ANYWHERE}),
    Claim("D.44", "Lemma D.44, Induction D.3", "Attn(pred) ≤ 1/2 + c̃ in stage 2.3, 2 c̃ C_B = 1", Inequality("<="),
          attention_on_the_predicate, at=[{"group": g, "C_B": C} for g in ("C3", "C5") for C in (3.0, 4.0, 6.0)],
          regime=SIMPLY_TRANSITIVE, takes=f"group d C_B {LAYER_SHAPE}", control={"share": 0.1}),
    Claim("D.45_gap", "Lemma D.45, Section 6.2.1", "the gap closes: Δ^{2,2} = o(1) after poly(d) time, τ = d^C_B here",
          Limit(0.0), gap_late, at=[{"group": g, "C_B": C} for g in ("C3", "C5") for C in (3.0, 4.0)], path=LARGER_D,
          regime=SIMPLY_TRANSITIVE, takes=f"group C_B n_x {LAYER_SHAPE}", levels="L3",
          control={"at": {"group": "S3", "C_B": 3.0}, "regime": ANYWHERE}),
    Claim("D.45_a", "Lemma D.45", "(a) Δ^{2,2} ≤ O((d^1.01 ε)^(1/(q-1)) / log d) for ε ≤ O(d^-1.01), the largest here",
          Order("O", inverse_log), gap_where_eps_is, at=HERE, path=UP_TO_ROUNDING, **STAGE, control={"power": BEFORE}),
    Claim("D.45_a-law", "Lemma D.45", "before, Δ^{2,2} = (1 - c)/C_B + O(1/log d) where ε = d^-c, c = 1/2 here",
          Order("O", inverse_log), gap_off_its_law, at=HERE, path=MUCH_LARGER_D, **STAGE, sharpens="D.45_a",
          control={"shift": 0.05}),
    Claim("D.45_scores", "Lemma D.45, Lemma D.43", "α, γ = Ω(log d) in the end, Õ(1) throughout",
          Order("Ω", lambda p: np.log(p.d)), scores_late, at=[{"group": g, "C_B": 3.0} for g in ("C3", "C5")],
          path=LARGER_D, **STAGE, control={"kind": Order("Ω", lambda p: p.d**0.5)}),
    Claim("D.45_loss", "Lemma D.45", "the loss is 1/poly(d) in the end", Inequality(">=", None), loss_in_powers,
          at=[{"group": g, "C_B": 3.0} for g in ("C3", "C5")], path=LARGER_D, **STAGE,
          control={"kind": Inequality(">=", 6.0)}),
    Claim("gap_peak", "Section 6.2.1 [ours]", "the gap turns at τ = Θ̃(d^(C_B - 1)), the inverse of the loss floor",
          Order("Θ̃", lambda p: p.d ** (p.C_B - 1)), time_of_the_largest_gap,
          at=[{"group": "C5", "C_B": C} for C in (3.0, 4.0)], path=LARGER_D, takes=f"group {LAYER_SHAPE}",
          control={"kind": Order("Θ̃", lambda p: p.d ** (p.C_B - 2))}),
    Claim("eps_rate", "Section 6.2.1 [ours]", "late, ε falls like 1/τ", Limit(-1.0), slope_of_eps,
          at=[{"group": "C5", "C_B": C, "d": d} for C in (2.0, 3.0) for d in SIZES[:3]],
          takes=f"group {LAYER_SHAPE}", control={"factor": 0.5}),
]  # fmt: skip
