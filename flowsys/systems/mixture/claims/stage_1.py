"""Stage 1: the neurons train under uniform attention (Sec. 5.1, Appendix D)."""

import numpy as np

from flowsys.claims import Claim, Identity, Kit, Order, Regime, Verdict, equals, judged
from flowsys.claims.conditions import at_level
from flowsys.systems.mixture.claims.runs import (
    AFTER_ONSET,
    FLOWS,
    OMEGAS,
    SMALLER_OMEGA,
    TRAINED,
    TWO_GROUPS,
    claim,
    course,
    rates,
    run,
    setup,
    slope_of_loss,
    start_deviation,
    time,
    values,
)
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_neurons

EXACT = 1e-11
BIASES = (0.05, 0.25, 0.5, 1.0, 1.5)


def _window(name: str):
    """Times inside stage 1.1 or stage 1.2 and their course."""
    onset = time("T_0.5")
    return course(np.linspace(0, onset, 42)[1:-1] if name == "1.1" else np.linspace(onset, setup()["T_1"], 42)[1:])


def _neuron_rate(neuron: str, window: str, multiple: float, formula: str) -> Verdict:
    """dw/dt against a multiple of g on consistent samples."""
    there = _window(window)
    expected = multiple * slope_of_loss(there["f_consistent"])
    error, tolerance = float(np.abs(rates(there, 0)[neuron] - expected).max()), EXACT + start_deviation()
    return judged(error <= tolerance, f"d{neuron}/dt = {formula}", f"largest difference {error:.1e} on stage {window}",
                  tolerance=tolerance, parameters={"omega": setup()["omega"], "b": setup()["b"]},
                  values={"error": error})  # fmt: skip


def classification_signal_grows_by_all_consistent_samples(window: str = "1.1") -> Verdict:
    """D.1: dw_v/dt = 1/8 Σ g over the four consistent samples."""
    return _neuron_rate("w_v", window, 4 / 8, "1/8 Σ_{k', s = s'} g(X_{k',s,s'})")


def group_signal_rests_before_the_gate_closes(window: str = "1.1") -> Verdict:
    """D.2: dw_c/dt = 0 while every gate is open."""
    return _neuron_rate("w_c", window, 0.0, "0")


def classification_signal_keeps_growing(window: str = "1.2") -> Verdict:
    """D.4: dw_v/dt = 1/8 Σ_k' g(X_{k',+,+})."""
    return _neuron_rate("w_v", window, 2 / 8, "1/8 Σ_{k'} g(X_{k',+,+})")


def group_signal_grows_after_the_gate_closes(window: str = "1.2") -> Verdict:
    """D.5: dw_c/dt = 1/8 g(X_{k,+,+})."""
    return _neuron_rate("w_c", window, 1 / 8, "1/8 g(X_{k,+,+})")


def onset(run: Kit) -> float:
    """D.3: T_0.5, while the neurons train alone."""
    return run.time("T_0.5")


def onset_and_its_closed_form(run: Kit, exponential: float = 2.0) -> tuple[float, float]:
    """[ours] T_0.5 = K/2 [b + (e^(2b) - 1)/2], whatever ω."""
    return run.time("T_0.5"), run.p.K / 2 * (run.p.b + (np.exp(exponential * run.p.b) - 1) / 2)


def stage_1_has_a_closed_form(clock: float = 1.0) -> Verdict:
    """[ours] F + e^F = 2b + e^(2b) + 5/8 (τ - τ_0.5), τ = 2t/K."""
    errors = []
    for K in (2, 3, 8):
        there = course((0.5 * K, 2.0 * K, 10.0 * K), K=K)
        exact = np.array([stage_1_neurons(clock * t, K, 0.5) for t in there.t]).T
        errors.append(np.abs(np.array([there["w_c"], there["w_v"]]) - exact).max())
    error, end, tolerance = float(max(errors)), values("T_1"), 1e-9 + start_deviation()
    return judged(error < tolerance, "closed form in Lambert's W",
                  f"largest difference {error:.1e}; w_c = {end['w_c']:.6f}, w_v = {end['w_v']:.6f} at T_1 = 10K",
                  tolerance=tolerance, parameters={"K": (2, 3, 8)}, values={"error": error})  # fmt: skip


def one_gate_is_closed_after_onset(window: str = "1.2") -> Verdict:
    """D.6: on [T_0.5, T_1] only the wrong head's gate on consistent samples is closed."""
    start = time("T_0.5")
    times = np.geomspace(start + 1e-6, 1e4, 200) if window == "1.2" else np.linspace(0, start, 50)[:-1]
    there = course(times, T_1=1e4)
    closed = there["preactivation_minus_consistent"]
    others = ("preactivation_plus_consistent", "preactivation_plus_conflicting", "preactivation_minus_conflicting")
    least = min(float(there[name].min()) for name in others)
    return judged(bool((closed < 0).all() and least > 0), "H_-s(X_{k,s,s}) + b < 0, all others > 0",
                  f"{closed.max():.2g} at most; the others at least {least:.4g}, for T_1 up to 1e4",
                  parameters={"T_1": 1e4}, values={"closed": float(closed.max()), "open": least})  # fmt: skip


def neurons_are_of_order_one(**bias: float) -> Verdict:
    """D.7: w_c, w_v = Θ(1) at T_1, whatever ω."""
    there, ends = setup(**bias), [values("T_1", omega=ω, **bias) for ω in OMEGAS]
    w_c, w_v = (np.array([v[name] for v in ends]) for name in ("w_c", "w_v"))
    spread = float(max(np.ptp(w_c), np.ptp(w_v)))
    return judged(bool(min(w_c.min(), w_v.min()) > 0.1 and spread < at_level(1e-8, 0.1)), "Θ(1)",
                  f"w_c = {w_c[0]:.6f}, w_v = {w_v[0]:.6f} at T_1 = {there['T_1']:g}; spread over ω {spread:.1e}",
                  note=f"b = {there['b']:g}, T_0.5 = {onset_of_group_signal(2, there['b']):.3f}",
                  parameters={"b": there["b"], "T_1": there["T_1"], "omega": OMEGAS},
                  values={"w_c": float(w_c[0]), "w_v": float(w_v[0])})  # fmt: skip


def consistent_samples_are_learnt_and_conflicting_are_not(at: str = "T_1") -> Verdict:
    """D.8: y f = Ω(1) on consistent samples, 0 on conflicting ones."""
    v, tolerance = values(at), EXACT + start_deviation()
    return judged(v["f_consistent"] > 0.1 and abs(v["f_conflicting"]) < tolerance, "Ω(1) and 0",
                  f"y f = {v['f_consistent']:.4g} and {v['f_conflicting']:.1e} at {at}", tolerance=tolerance,
                  values={"consistent": v["f_consistent"], "conflicting": v["f_conflicting"]})  # fmt: skip


def attention_needs_the_group_signal(T_1: float = 20.0) -> Verdict:
    """[ours] If stage 1 ends before T_0.5 then w_c = 0 and stage 2 never moves."""
    end = run("T_1", 2e4, b=2.0, T_1=T_1, t_max=2e4)
    largest = float(np.abs(end["S_cv_same"]).max())
    return judged(largest < 1e-14, "S_cv = 0 for ever",
                  f"w_c(T_1) = {end.at('T_1')['values']['w_c']:.3g}, largest S_cv to t = 2e4 is {largest:.2g}",
                  note=f"b = 2, T_1 = {T_1:g}, T_0.5 = {onset_of_group_signal(2, 2.0):.2f}", tolerance=1e-14,
                  parameters={"b": 2.0, "T_1": T_1}, values={"S_cv": largest})  # fmt: skip


def length_of_stage_2_times_group_neuron_is_constant(T_1: float = 100.0) -> Verdict:
    """[ours] (T_2 - T_1) w_c(T_1) is nearly constant over (b, T_1), up to the boundary T_1 = T_0.5(b)."""
    corners = ((0.05, 1.0), (0.05, T_1), (0.5, 3.0), (0.5, 20.0), (0.5, T_1), (1.0, 10.0), (1.0, T_1), (2.0, 80.0))
    products = []
    for b, end in corners:
        reached = time("T_2", b=b, T_1=end, t_max=2e4)
        products.append((reached - end) * values("T_1", b=b, T_1=end)["w_c"])
    low, high = float(np.min(products)), float(np.max(products))
    return judged(bool(low > 27.3 and high < 29.4), "27.3 to 29.4 at ω = 0.1", f"{low:.4g} to {high:.4g}",
                  interval=(low, high), parameters={"(b, T_1)": corners}, values={"products": products})  # fmt: skip


CLAIMS = [
    claim("D.1", "Lemma 5.2, Lemma D.1", "before T_0.5 dw_v/dt = 1/8 Σ g over consistent samples",
          classification_signal_grows_by_all_consistent_samples, control={"window": "1.2"}, levels=FLOWS,
          takes="omega b T_1"),
    claim("D.2", "Lemma 5.2, Lemma D.2", "before T_0.5 dw_c/dt = 0",
          group_signal_rests_before_the_gate_closes, control={"window": "1.2"}, levels=FLOWS, takes="omega b T_1"),
    Claim("D.3", "Corollary D.3", "the wrong head's gate closes at T_0.5 = Θ(1)", Order("Θ"), onset,
          at={"T_1": 1000.0}, path=SMALLER_OMEGA, regime=TWO_GROUPS, levels=TRAINED,
          control={"kind": Order("Θ", lambda p: p.omega)}),
    Claim("D.3-law", "Corollary D.3", "T_0.5 = K/2 [b + (e^(2b) - 1)/2] at every ω, exponential in b", Identity(1e-8),
          onset_and_its_closed_form, at=[{"K": K, "b": b, "T_1": 1000.0} for K in (2, 3, 8) for b in BIASES],
          regime=Regime(equals("L", 3), AFTER_ONSET), sharpens="D.3", levels="L3", control={"exponential": 1.0}),
    claim("stage_1_closed_form", "Lemma 5.3 [ours]", "stage 1 solved in closed form", stage_1_has_a_closed_form,
          control={"clock": 1.01}, regime="L = 3, any K", levels=FLOWS, takes="omega"),
    claim("D.4", "Lemma 5.3, Lemma D.4", "after T_0.5 dw_v/dt = 1/8 Σ_k' g(X_{k',+,+})",
          classification_signal_keeps_growing, control={"window": "1.1"}, levels=FLOWS, takes="omega b T_1"),
    claim("D.5", "Lemma 5.3, Lemma D.5", "after T_0.5 dw_c/dt = 1/8 g(X_{k,+,+})",
          group_signal_grows_after_the_gate_closes, control={"window": "1.1"}, levels=FLOWS, takes="omega b T_1"),
    claim("D.6", "Corollary D.6", "on [T_0.5, T_1] only the wrong head's gate on consistent samples is closed",
          one_gate_is_closed_after_onset, control={"window": "1.1"}, levels=TRAINED, takes="omega b"),
    claim("D.7", "Corollary D.7", "w_c, w_v = Θ(1) at T_1", neurons_are_of_order_one, control={"b": 2.0},
          levels=TRAINED, takes="b T_1"),
    claim("D.8", "Theorem D.8", "at T_1 y f = Ω(1) on consistent samples and 0 on conflicting ones",
          consistent_samples_are_learnt_and_conflicting_are_not, control={"at": "T_2"}, levels=TRAINED,
          takes="omega b T_1"),
    claim("stage_1_too_short", "Corollary D.3 [ours]", "with T_1 < T_0.5(b) stage 2 never moves",
          attention_needs_the_group_signal, control={"T_1": 80.0}, levels=TRAINED, takes="omega"),
    claim("stage_2_times_w_c", "Lemma E.3 [ours]", "(T_2 - T_1) w_c(T_1) is nearly constant over (b, T_1)",
          length_of_stage_2_times_group_neuron_is_constant, control={"T_1": 1.3}, levels=TRAINED),
]  # fmt: skip
