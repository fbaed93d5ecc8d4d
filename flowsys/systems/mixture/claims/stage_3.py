"""Stage 3: the neurons train again and the loss falls (Sec. 5.3, Appendix F)."""

import numpy as np

from flowsys.claims import Claim, Kit, Order, Path, Series, Verdict, Word, judged, listed
from flowsys.program.arrays import observed
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.runs import (
    FLOWS,
    TRAINED,
    TWO_GROUPS,
    claim,
    course,
    rates,
    run,
    setup,
    slope_of_loss,
    stage_3,
    stage_3_length,
    time,
    values,
)

CASES = ((0.1, 1.0), (0.01, 1.0), (0.1, 0.25), (0.1, 3.0))
END = 1e5


def sum_of_signals_separates(at: str = "T_2") -> Verdict:
    """F: w_± = Σ c ± Σ v gives y f = Ω(1) on every sample at T_2."""
    found = {}
    for s_star in (0.25, 1.0, 3.0):
        problem, y = SYSTEM.problem(setup(s_star=s_star)), run(at, s_star=s_star).states[-1].copy()
        y[[problem.field.names.index(n) for n in ("w_c", "w_v")]] = 1.0
        observe = observed(problem.field.program, ("f_consistent", "f_conflicting"), "exact", np)
        found[s_star] = [float(x) for x in observe(y, problem.stages[2].arguments)]
    return judged(min(map(min, found.values())) > 0.1, "y f = Ω(1)",
                  "(consistent, conflicting) = "
                  + "; ".join(f"({listed(f, '.3g')}) at s_star = {s:g}" for s, f in found.items()),
                  parameters={"s_star": (0.25, 1, 3), "at": at}, values={"f": found})  # fmt: skip


def _without_stage_2(**options) -> Trajectory:
    """Neurons alone, under uniform attention, from t = 20 on."""
    return course(20 + np.geomspace(0.01, END, 200), T_1=2 * END, **options)


def _over_slope(neuron: str, kind: str, learns_attention: bool, s_star: float = 1.0) -> np.ndarray:
    """dw/dt divided by g of a kind of sample, from T_2 (or, without stage 2, from t = 20) to t = 1e5."""
    later = stage_3(s_star=s_star)[1] if learns_attention else _without_stage_2()
    return rates(later, 2)[neuron] / slope_of_loss(later[f"f_{kind}"])


def classification_neuron_grows_with_consistent_samples(kind: str = "consistent", learns: bool = True) -> Verdict:
    """F.1: dw_v/dt = Θ(g_+)."""
    ratio = _over_slope("w_v", kind, learns)
    low, high = float(ratio.min()), float(ratio.max())
    return judged(low > 0 and high < 10 * low, "dw_v/dt / g_+ = Θ(1) to t = 1e5", f"in [{low:.3f}, {high:.3f}]",
                  note="it doubles when the gate reopens", interval=(low, high),
                  parameters={"s_star": 1, "t": END}, values={"low": low, "high": high})  # fmt: skip


def group_neuron_grows_with_conflicting_samples(learns_attention: bool = True) -> Verdict:
    """F.2: dw_c/dt ≥ Ω(g_-)."""
    found = {s: _over_slope("w_c", "conflicting", learns_attention, s) for s in (1.0, 0.25)}
    ranges = {s: (float(r.min()), float(r.max())) for s, r in found.items()}
    return judged(min(low for low, _ in ranges.values()) > 1e-2, "dw_c/dt / g_- ≥ Ω(1) to t = 1e5",
                  "; ".join(f"in [{low:.3g}, {high:.3g}] at s_star = {s:g}" for s, (low, high) in ranges.items()),
                  note="the constant falls with the margin", interval=ranges[1.0],
                  parameters={"s_star": (1, 0.25), "t": END}, values={"ranges": ranges})  # fmt: skip


def loss_of_stage_3(run: Kit, learns_attention: bool = True) -> Series:
    """F.3: the loss over t - T_2; without attention, of neurons under uniform attention from t = 20 on."""
    lags = np.geomspace(1, END, 41)
    if learns_attention:
        kit, start = run, run.reached("T_2")
    else:
        kit, start = run.at(T_1=2 * END), 20.0
    there = kit.course(start + lags, observe=("loss",))
    return Series(there.t - start, there["loss"], "t - T_2")


def loss_times_time_tends_to_inverse_squared_margin(margin_at: str | float = END) -> Verdict:
    """[ours] loss · (t - T_2) → 1/γ², γ the max margin of the attention features with the final gates."""
    ratios = {}
    for s_star in (1.0, 0.25, 3.0):
        γ = values(margin_at, s_star=s_star, observe=("max_margin",))["max_margin"]
        ratios[s_star] = values(END, s_star=s_star)["loss"] * (END - time("T_2", s_star=s_star)) * γ**2
    error = max(abs(r - 1) for r in ratios.values())
    return judged(error < 0.01, "ratio 1 as t → ∞",
                  "; ".join(f"{r:.4f} at s_star = {s:g}" for s, r in ratios.items()) + " (t = 1e5)", tolerance=0.01,
                  parameters={"s_star": (1, 0.25, 3)}, values={"ratios": ratios})  # fmt: skip


def length_of_stage_3(run: Kit, learns_attention: bool = True) -> float:
    """4.1: T_3 - T_2; without attention, when the neurons alone reach ε."""
    if not learns_attention:
        return run.at(T_1=1e6, t_max=1e6).time("T_3")
    return run.time("T_3") - run.reached("T_2")


def length_of_stage_3_over_final_score(power: float = 2.0) -> Verdict:
    """[ours] T_3 - T_2 ≈ 1/(γ² ε) for every s_star."""
    ratios, lengths = [], []
    for s_star in (0.25, 1.0, 3.0):
        γ = values(END, s_star=s_star, observe=("max_margin",))["max_margin"]
        lengths.append(stage_3_length(s_star=s_star))
        ratios.append(lengths[-1] * γ**power * 0.01)
    return judged(max(abs(np.log(ratios))) < np.log(1.25), "1/(γ² ε), within 25 % at ε = 0.01",
                  f"T_3 - T_2 = {listed(lengths, '.5g')} at s_star = 0.25, 1, 3; times γ² ε: {listed(ratios, '.3f')}",
                  tolerance=0.25, parameters={"s_star": (0.25, 1, 3), "epsilon": 0.01},
                  values={"ratios": ratios})  # fmt: skip


def alignments_are_of_order_one_up_to_logarithms(times: tuple[float, ...] = (1e3, 1e4, END)) -> Verdict:
    """4.1: w_c, w_v = Θ̃(1) at T_3: positive, growing like log t."""
    there = course(times)
    over_log = np.array([there["w_c"], there["w_v"]]) / np.log(there.t)
    low, high = float(over_log.min()), float(over_log.max())
    return judged(low > 0.1 and high < 2, "positive, at most of order log t",
                  f"w_c = {there['w_c'][-1]:.2f}, w_v = {there['w_v'][-1]:.2f} at loss {there['loss'][-1]:.1e}; "
                  f"over log t in [{low:.2f}, {high:.2f}]",
                  note="large constants: w_c is of order 1/margin", interval=(low, high),
                  parameters={"t": times}, values={"w_over_log_t": over_log.tolist()})  # fmt: skip


def closed_gate_stays_closed_later(start: str = "T_0.5") -> Verdict:
    """D.6 beyond its window: the gate closed in stage 1 reopens in stage 3 and in simultaneous training."""
    lags = {}
    for ω, s_star in CASES:
        _, later = stage_3(omega=ω, s_star=s_star)
        start_of_stage = time("T_2", omega=ω, s_star=s_star)
        switches = [t for t in later.statistics["switch_times"] if t > start_of_stage]
        lags[ω, s_star] = min(switches, default=np.inf) - start_of_stage
    simultaneous = course(np.linspace(146, 147, 21), mode="simultaneous")
    both = float(np.interp(0, simultaneous["preactivation_minus_consistent"], simultaneous.t))
    from_start = time("T_0.5") if start == "T_0.5" else 0.0
    before = course(np.linspace(from_start + 1e-6, time("T_2"), 100))["preactivation_minus_consistent"].max()
    later = Word.HOLDS if min(lags.values()) == np.inf else Word.IN_PART
    return Verdict(
        later if before < 0 else Word.FAILS, "closed for all t ≥ T_0.5",
        "reopens at T_2 + " + listed(lags.values(), ".1f") + " for (ω, s_star) = "
        + ", ".join(f"({ω:g}, {s:g})" for ω, s in lags) + f"; simultaneous at t = {both:.2f}",
        note="holds on [T_0.5, T_2], the corollary's window and stage 2",
        parameters={"cases": CASES}, values={"lags": list(lags.values()), "simultaneous": both},
    )  # fmt: skip


CLAIMS = [
    claim("D.6-later", "Corollary D.6 (after T_1)", "the gate closed at T_0.5 stays closed",
          closed_gate_stays_closed_later, control={"start": "0"}),
    claim("F-separation", "Appendix F", "w_± = Σ c ± Σ v gives y f = Ω(1) at T_2", sum_of_signals_separates,
          control={"at": "T_1"}, takes="omega T_1"),
    claim("F.1", "Lemma F.1", "dw_v/dt = Θ(g_+) in stage 3", classification_neuron_grows_with_consistent_samples,
          control={"kind": "conflicting", "learns": False}, levels=FLOWS, takes="omega b T_1"),
    claim("F.2", "Lemma F.2", "dw_c/dt ≥ Ω(g_-) in stage 3", group_neuron_grows_with_conflicting_samples,
          control={"learns_attention": False}, levels=FLOWS, takes="omega b T_1"),
    Claim("F.3", "Theorem F.3", "the loss is O(1/(t - T_2 + 1))", Order("O", lambda p, lag: 1 / (lag + 1), along="t"),
          loss_of_stage_3, at=[{"omega": ω, "s_star": s} for ω, s in CASES], regime=TWO_GROUPS, levels=TRAINED,
          takes="b T_1", control={"learns_attention": False}),
    claim("stage_3_law", "Theorem F.3", "loss · (t - T_2) → 1/γ²", sharpens="F.3",
          measure=loss_times_time_tends_to_inverse_squared_margin, control={"margin_at": "T_2"}, levels=FLOWS,
          takes="omega b T_1"),
    Claim("4.1-T_3", "Theorem 4.1, Theorem F.3", "T_3 - T_2 = O(1/ε)", Order("O", lambda p: 1 / p.epsilon),
          length_of_stage_3, at={"t_max": 1e9}, path=Path("epsilon", (0.1, 0.03, 0.01, 0.003, 0.001)),
          regime=TWO_GROUPS, levels=TRAINED, takes="omega b T_1 s_star", control={"learns_attention": False}),
    claim("stage_3_margin", "Theorem F.3 [ours]", "T_3 - T_2 ≈ 1/(γ² ε)", length_of_stage_3_over_final_score,
          control={"power": 1.0}, levels=FLOWS, takes="omega b T_1"),
    claim("4.1-alignments", "Theorem 4.1", "w_c, w_v = Θ̃(1) at T_3", alignments_are_of_order_one_up_to_logarithms,
          control={"times": (1.1, 1.2, 1.3)}, levels=TRAINED, takes="omega b T_1 s_star"),
]  # fmt: skip
