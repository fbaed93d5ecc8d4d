"""Stage 1: the neurons train under uniform attention (Sec. 5.1, Appendix D)."""

import numpy as np

from flowsys.claims import Claim, Identity, Kit, Order, Regime, Sides, Sign, equals
from flowsys.claims.kit import NotReached
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture.claims.measured import SEEN, exactly, rates, slope_of_loss
from flowsys.systems.mixture.claims.regimes import (
    AFTER_ONSET,
    ANY_GROUPS,
    FLOWS,
    SIZES,
    SMALLER_OMEGA,
    TRAINED,
    TWO_GROUPS,
)
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_neurons

BIASES = (0.05, 0.25, 0.5, 1.0, 1.5)
GATES = ("plus_consistent", "plus_conflicting", "minus_conflicting")
CASES = [{"omega": ω, "s_star": s} for ω, s in ((0.1, 1.0), (0.01, 1.0), (0.1, 0.25), (0.1, 3.0))]
"""The (ω, s_star) that stage 3 is looked at for."""


def _window(run: Kit, window: str) -> Trajectory:
    """The course inside stage 1.1 (every gate is open) or stage 1.2."""
    onset = min(run.time("T_0.5"), run.p.T_1)
    start, end = (0.0, onset) if window == "1.1" else (onset, run.p.T_1)
    if not end > start:
        raise NotReached(f"stage {window} is empty: T_0.5 is not reached before T_1 = {run.p.T_1:g}.")
    return run.course(np.linspace(start, end, 42)[1:-1], observe=SEEN)


def neuron_rate(run: Kit, neuron: str, window: str, share: float) -> Sides:
    """dw/dt against g summed over a share of the eight samples, consistent ones all alike."""
    there = _window(run, window)
    return Sides(rates(there, 0)[neuron], share * slope_of_loss(there["f_consistent"]), there.t)


def _rate(neuron: str, of_window: str, samples: int):
    return lambda run, window=of_window: neuron_rate(run, neuron, window, samples / 8)


def onset(run: Kit) -> float:
    """D.3: T_0.5, while the neurons train alone."""
    return run.time("T_0.5")


def onset_and_its_closed_form(run: Kit, exponential: float = 2.0) -> tuple[float, float]:
    """[ours] T_0.5 = K/2 [b + (e^(2b) - 1)/2], whatever ω."""
    return run.time("T_0.5"), run.p.K / 2 * (run.p.b + (np.exp(exponential * run.p.b) - 1) / 2)


def neurons_and_their_closed_form(run: Kit, clock: float = 1.0) -> dict[str, Sides]:
    """[ours] F + e^F = 2b + e^(2b) + 5/8 (τ - τ_0.5), τ = 2t/K."""
    K, b, T_1 = run.p.K, run.p.b, run.p.T_1
    there = run.course(np.array([0.05, 0.2, 1.0]) * T_1, observe=SEEN)
    exact = np.array([stage_1_neurons(clock * t, K, b) for t in there.t]).T
    return {name: Sides(there[name], exact[i], there.t) for i, name in enumerate(("w_c", "w_v"))}


def gates_of_stage_1(run: Kit, closed: str = "minus_consistent") -> dict[str, np.ndarray]:
    """D.6: H + b on (T_0.5, T_1] by head and kind of sample."""
    there = run.course("T_0.5", "T_1", 200, log=True, observe=SEEN)
    return {"closed": there[f"preactivation_{closed}"], **{gate: there[f"preactivation_{gate}"] for gate in GATES}}


def gate_of_stage_3(run: Kit, end: float = 1e4) -> dict[str, float]:
    """[ours] H_- + b on consistent samples from T_2 on: negative at T_2, positive later."""
    start = run.reached("T_2")
    there = run.run("T_2", start + end, observe=SEEN)
    switches = [t for t in there.statistics["switch_times"] if t > start]
    run.note(reopens=[*run.noted.get("reopens", ()), round(min(switches, default=np.inf) - start, 1)])
    gate = there["preactivation_minus_consistent"]
    return {"at T_2": gate[0], "later": gate[-1]}


def neurons_at_the_end(run: Kit) -> dict[str, float]:
    """D.7: w_c and w_v at T_1."""
    v = run.values("T_1", observe=SEEN)
    return {name: v[name] for name in ("w_c", "w_v")}


def output(run: Kit, kind: str, at: str = "T_1") -> float:
    """y f at T_1, mean over a kind of sample."""
    return run.values(at, observe=SEEN)[f"f_{kind}"]


def attention_without_group_signal(run: Kit) -> Sides:
    """[ours] S_cv at the end of a long stage 2, where stage 1 ended before T_0.5."""
    there = run.run("T_1", 2e4, observe=SEEN)
    run.note(w_c=there["w_c"][0], onset=onset_of_group_signal(run.p.K, run.p.b))
    return Sides(there["S_cv_same"], 0.0, there.t)


def length_of_stage_2_and_its_surrogate(run: Kit, power: float = 1.0) -> tuple[float, float]:
    """[ours] (T_2 - T_1) w_c(T_1) against 9(K-1)/2 asinh(K s*/((K-1) ω²)): attention frozen until T_2."""
    K, length = run.p.K, run.reached("T_2") - run.p.T_1
    product = length * run.values("T_1", observe=SEEN)["w_c"] ** power
    return product, 9 * (K - 1) / 2 * np.arcsinh(K * run.p.s_star / ((K - 1) * run.p.omega**2))


CLAIMS = [
    Claim("D.1", "Lemma 5.2, Lemma D.1", "before T_0.5 dw_v/dt = 1/8 Σ g over the four consistent samples",
          Identity(exactly()), _rate("w_v", "1.1", 4), regime=SIZES, levels=FLOWS, control={"window": "1.2"}),
    Claim("D.2", "Lemma 5.2, Lemma D.2", "before T_0.5 dw_c/dt = 0", Identity(exactly(), relative=False),
          _rate("w_c", "1.1", 0), regime=SIZES, levels=FLOWS, control={"window": "1.2"}),
    Claim("D.3", "Corollary D.3", "the wrong head's gate closes at T_0.5 = Θ(1)", Order("Θ"), onset,
          at={"T_1": 1000.0}, path=SMALLER_OMEGA, regime=TWO_GROUPS, levels=TRAINED,
          control={"kind": Order("Θ", lambda p: p.omega)}),
    Claim("D.3-law", "Corollary D.3", "T_0.5 = K/2 [b + (e^(2b) - 1)/2] at every ω, exponential in b", Identity(1e-8),
          onset_and_its_closed_form, at=[{"K": K, "b": b, "T_1": 1000.0} for K in (2, 3, 8) for b in BIASES],
          regime=Regime(equals("L", 3), AFTER_ONSET), sharpens="D.3", levels="L3", control={"exponential": 1.0}),
    Claim("stage_1_closed_form", "Lemma 5.3 [ours]", "stage 1 solved in closed form, by Lambert's W",
          Identity(exactly(1e-8)), neurons_and_their_closed_form, at=[{"K": K, "T_1": 10.0 * K} for K in (2, 3, 8)],
          regime=Regime(equals("L", 3)), levels=FLOWS, control={"clock": 1.01}),
    Claim("D.4", "Lemma 5.3, Lemma D.4", "after T_0.5 dw_v/dt = 1/8 Σ_k' g(X_{k',+,+})", Identity(exactly()),
          _rate("w_v", "1.2", 2), regime=SIZES, levels=FLOWS, control={"window": "1.1"}),
    Claim("D.5", "Lemma 5.3, Lemma D.5", "after T_0.5 dw_c/dt = 1/8 g(X_{k,+,+})", Identity(exactly()),
          _rate("w_c", "1.2", 1), regime=SIZES, levels=FLOWS, control={"window": "1.1"}),
    Claim("D.6", "Corollary D.6", "on [T_0.5, T_1] only the wrong head's gate on consistent samples is closed",
          Sign({"closed": -1} | dict.fromkeys(GATES, 1), strict=True), gates_of_stage_1, at={"T_1": 1e4}, regime=SIZES,
          levels=TRAINED, control={"closed": "plus_consistent"}),
    Claim("D.6-later", "Corollary D.6", "after T_2 that gate opens again",
          Sign({"at T_2": -1, "later": 1}, strict=True), gate_of_stage_3, at=CASES, regime=SIZES, sharpens="D.6",
          levels="L3", control={"end": 1.0},
          note="it opens after T_2 by {reopens}"),
    Claim("D.7", "Corollary D.7, Theorem 4.1", "w_c, w_v = Θ(1) at T_1 = Θ(1)", Order("Θ"), neurons_at_the_end,
          path=SMALLER_OMEGA, regime=TWO_GROUPS, levels=TRAINED, control={"kind": Order("Θ", lambda p: p.omega)}),
    Claim("D.8", "Theorem D.8", "y f = Ω(1) on consistent samples at T_1", Order("Ω"),
          lambda run: output(run, "consistent"), path=SMALLER_OMEGA, regime=TWO_GROUPS, levels=TRAINED,
          control={"kind": Order("Ω", lambda p: 1 / p.omega)}),
    Claim("D.8-conflicting", "Theorem D.8", "f = 0 on conflicting samples at T_1", Identity(exactly(), relative=False),
          lambda run, when="T_1": (output(run, "conflicting", when), 0.0), regime=TWO_GROUPS, levels=TRAINED,
          control={"when": "T_2"}),
    Claim("stage_1_too_short", "Corollary D.3 [ours]", "with T_1 < T_0.5(b) stage 2 never moves",
          Identity(1e-12, relative=False), attention_without_group_signal, at={"b": 2.0, "T_1": 20.0, "t_max": 2e4},
          levels=TRAINED, takes="omega", control={"at": {"b": 2.0, "T_1": 80.0, "t_max": 2e4}},
          note="w_c = {w_c:.3g} at T_1 = {T_1:g}, T_0.5 = {onset:.4g}"),
    Claim("stage_2_times_w_c", "Lemma E.3 [ours]",
          "(T_2 - T_1) w_c(T_1) = 9(K-1)/2 asinh(K s*/((K-1) ω²)) within a fifth, over (b, T_1)", Identity(0.2),
          length_of_stage_2_and_its_surrogate,
          at=[{"b": b, "T_1": T_1, "t_max": 2e4} for b, T_1 in ((0.05, 1.0), (0.05, 100.0), (0.5, 3.0), (0.5, 100.0),
          (1.0, 10.0), (1.0, 100.0), (2.0, 80.0))], regime=ANY_GROUPS, levels=TRAINED, takes="omega s_star",
          control={"power": 0.0}),
]  # fmt: skip
