"""Stage 3: the neurons train again and the loss falls (Sec. 5.3, Appendix F)."""

import numpy as np

from flowsys.claims import Claim, Kit, Limit, Order, Path, Series
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture.claims.measured import (
    SEEN,
    all_samples,
    matrix_of,
    outputs,
    rates,
    slope_of_loss,
)
from flowsys.systems.mixture.claims.regimes import (
    BOUNDED_SCORES,
    FLOWS,
    SMALLER_OMEGA,
    TRAINED,
    TWO_GROUPS,
)
from flowsys.systems.mixture.claims.stage_1 import CASES

END = 1e5
LAGS = np.geomspace(1, END, 41)
SCORES_AT_T_2 = [{"s_star": s, "t_max": 1e12} for s in (1.0, 0.25, 3.0)]
SMALLER_EPSILON = Path("epsilon", (0.1, 0.03, 0.01, 0.003, 0.001))


def outputs_of_summed_signals(run: Kit, when: str = "T_2") -> dict[str, float]:
    """F: the least y f at T_2 of w_± = Σ c_k ± Σ v_k, by kind of sample."""
    X, v, K = all_samples(2, 3), run.values(when, observe=SEEN), 2
    heads = {h: (np.repeat([1.0, h], K), matrix_of(v, K, h)) for h in (1, -1)}
    y_f = X.y * outputs(X, heads, run.p.b)[0]
    return {kind: float(y_f[getattr(X, kind) > 0].min()) for kind in ("consistent", "conflicting")}


def _later(run: Kit, learns_attention: bool = True) -> tuple[float, Trajectory]:
    """(start, course) of stage 3; without attention, of neurons under uniform attention from t = 20 on."""
    start = run.reached("T_2") if learns_attention else 20.0
    kit = run if learns_attention else run.at(T_1=2 * END)
    return start, kit.course(start + LAGS, observe=SEEN)


def neuron_over_slope(run: Kit, neuron: str, kind: str, learns_attention: bool = True) -> Series:
    """F.1, F.2: dw/dt over g of a kind of sample, along t - T_2."""
    start, later = _later(run, learns_attention)
    return Series(later.t - start, rates(later, 2)[neuron] / slope_of_loss(later[f"f_{kind}"]), "t - T_2")


def loss_of_stage_3(run: Kit, learns_attention: bool = True) -> Series:
    """F.3: the loss over t - T_2."""
    start, later = _later(run, learns_attention)
    return Series(later.t - start, later["loss"], "t - T_2")


def loss_times_squared_margin(run: Kit, margin_at: str | float = END) -> Series:
    """[ours] loss · (t - T_2) · γ², γ the max margin of the attention features with the final gates."""
    γ, start = run.values(margin_at, observe=("max_margin",))["max_margin"], run.reached("T_2")
    later = run.course(start + np.geomspace(1e4, 1e8, 25), observe=("loss",))
    return Series(later.t - start, later["loss"] * (later.t - start) * γ**2, "t - T_2")


def length_of_stage_3(run: Kit, learns_attention: bool = True) -> float:
    """4.1: T_3 - T_2; without attention, when the neurons alone reach ε."""
    if not learns_attention:
        return run.at(T_1=1e6, t_max=1e6).time("T_3")
    return run.time("T_3") - run.reached("T_2")


def length_times_squared_margin(run: Kit, power: float = 2.0) -> float:
    """[ours] (T_3 - T_2) γ² ε."""
    return length_of_stage_3(run) * run.values(END, observe=("max_margin",))["max_margin"] ** power * run.p.epsilon


def neurons_at_T_3(run: Kit, names: tuple[str, str] = ("w_c", "w_v")) -> dict[str, float]:
    """4.1: the alignments at T_3."""
    v = run.values("T_3", observe=SEEN)
    return {name: v[name] for name in names}


CLAIMS = [
    Claim("F-separation", "Appendix F", "w_± = Σ c_k ± Σ v_k gives y f = Ω(1) at T_2", Order("Ω"),
          outputs_of_summed_signals, path=SMALLER_OMEGA, regime=BOUNDED_SCORES, levels=TRAINED,
          control={"when": "T_1"}),
    Claim("F.1", "Lemma F.1", "dw_v/dt = Θ(g_+) + Õ(ω g_-) in stage 3", Order("Θ", along="t"),
          lambda run, over="consistent", learns_attention=True: neuron_over_slope(run, "w_v", over, learns_attention),
          at=CASES, regime=TWO_GROUPS, levels=FLOWS, control={"over": "conflicting", "learns_attention": False}),
    Claim("F.2", "Lemma F.2", "dw_c/dt ≥ Ω(g_-) in stage 3", Order("Ω", along="t"),
          lambda run, learns_attention=True: neuron_over_slope(run, "w_c", "conflicting", learns_attention),
          at=CASES, regime=TWO_GROUPS, levels=FLOWS, control={"learns_attention": False}),
    Claim("F.3", "Theorem F.3", "the loss is O(1/(t - T_2 + 1))", Order("O", lambda p, lag: 1 / (lag + 1), along="t"),
          loss_of_stage_3, at=CASES, regime=TWO_GROUPS, levels=TRAINED, takes="b T_1",
          control={"learns_attention": False}),
    Claim("stage_3_law", "Theorem F.3", "loss · (t - T_2) → 1/γ², γ the max margin with the final gates", Limit(1.0),
          loss_times_squared_margin, at=SCORES_AT_T_2, regime=TWO_GROUPS, sharpens="F.3", levels="L3",
          control={"margin_at": "T_2"}),
    Claim("4.1-T_3", "Theorem 4.1, Theorem F.3", "T_3 - T_2 = O(1/ε)", Order("O", lambda p: 1 / p.epsilon),
          length_of_stage_3, at={"t_max": 1e12}, path=SMALLER_EPSILON, regime=TWO_GROUPS, levels=TRAINED,
          control={"learns_attention": False}),
    Claim("stage_3_margin", "Theorem F.3", "T_3 - T_2 → 1/(γ² ε) as ε → 0", Limit(1.0), length_times_squared_margin,
          at=SCORES_AT_T_2, path=Path("epsilon", tuple(np.geomspace(1e-3, 1e-6, 7))),
          regime=TWO_GROUPS, sharpens="4.1-T_3", levels="L3", control={"power": 1.0}),
    Claim("4.1-alignments", "Theorem 4.1", "w_c, w_v = Θ̃(1) at T_3", Order("Θ̃"), neurons_at_T_3, at={"t_max": 1e12},
          path=Path("epsilon", tuple(np.geomspace(0.1, 1e-7, 13))), regime=TWO_GROUPS, levels=TRAINED,
          takes="omega b T_1 s_star", control={"kind": Order("Θ̃", lambda p: p.epsilon)}),
]  # fmt: skip
