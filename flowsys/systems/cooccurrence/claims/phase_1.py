"""Phase 1: the linear MLP aligns, all samples become correct, attention rests (Theorem 3.1, Sec. 4.1, App. E)."""

import numpy as np

from flowsys.claims import Claim, Inequality, Kit, Order, Path, Sides, Sign
from flowsys.systems.cooccurrence.claims.places import (
    CONDITION_1,
    FLOWS,
    MODE,
    MORE_SAMPLES,
    PHASES,
    PLACE,
    WIDER,
    phase_1,
    value_scale,
)

MANY = {name: x for name, x in PLACE.items() if name != "n"}
WIDE = {name: x for name, x in PLACE.items() if name != "m"}
FAMILIES = {"B": 1.0, "VV": 1.0, "S": 1.5, "KK": 2.0, "QQ": 2.0}
"""The powers of 1/m by which the families change in phase 1 (Theorem E.28, item 3)."""


def end_of_phase_1(run: Kit) -> dict[str, float]:
    """Values at T_1 = C_{T_1}/(σ_1² m m1)."""
    return run.values("T_1_clock", observe=("G_mu1", "G_mu2", "G_mu3", "least_margin", "loss", "c_growth"))


def values_align(run: Kit) -> dict[str, float]:
    """3.1, item 1: G(μ1), G(μ2), -G(μ3) at T_1."""
    end = end_of_phase_1(run)
    return {"G(μ1)": end["G_mu1"], "G(μ2)": end["G_mu2"], "-G(μ3)": -end["G_mu3"]}


def least_margin(run: Kit) -> float:
    """3.1, item 2 (E.28: Ω(1)): the least y F at T_1."""
    return end_of_phase_1(run)["least_margin"]


def training_loss(run: Kit) -> float:
    """3.1, item 4."""
    return end_of_phase_1(run)["loss"]


def neuron_sum(run: Kit) -> float:
    """E.27: Σ a_j1 a_j2 ⟨w_j1, w_j2⟩ over σ_1² m m1 at T_1."""
    return end_of_phase_1(run)["c_growth"]


def first_correct(run: Kit) -> float:
    """3.1: the first time at which all samples are correct."""
    return run.reached("T_1")


def margin_of_one_target(run: Kit, margin: float = 0.1) -> float:
    """E.20: the first time at which y F ≥ C on I_2 and I_3, C = 0.1."""
    there = phase_1(run, 400, observe=("F_type2", "F_type3"))
    reached = np.flatnonzero(np.maximum(there["F_type2"], there["F_type3"]) <= -margin)
    return float(there.t[reached[0]]) if len(reached) else np.inf


def changes_of_families(run: Kit, tied: bool = True) -> dict[str, float]:
    """E.28, item 3: the largest change of every family up to T_1, over its bound, the mean over three starts."""
    found: dict[str, list[float]] = {}
    end = run.p.C_T_1 / run.p.m
    for there in run.over_seeds(3):
        flow = there.run(0.0, end / 4, end / 2, end, observe=(), level="L2", variant="six_families")
        states = [flow.blocks(float(t)) for t in flow.t]
        for name, power in FAMILIES.items():
            block = "UU" if name == "B" else name
            change = max(float(np.abs(state[block] - states[0][block]).max()) for state in states[1:])
            scale = run.p.m**-power * ((1 / run.p.L + run.p.m**-0.5) if name == "S" else 1.0)
            found.setdefault(name, []).append(change / (scale if tied else scale / run.p.m))
    return {name: float(np.mean(x)) for name, x in found.items()}


def rates_of_targets(run: Kit, word: str = "mu1") -> dict[str, float]:
    """E.14: the least and the largest rate of G(μ1) on [0, T_1] over (σ_0² + σ_1²) m m1."""
    rate = phase_1(run, observe=(f"d_G_{word}",))[f"d_G_{word}"] / (value_scale(run.p) * run.p.m1)
    return {"least": float(rate.min()), "largest": float(rate.max())}


def rates_of_irrelevant_words(run: Kit, words: tuple[str, ...] = ("r1", "r2", "r4")) -> float:
    """E.15: the largest rate of an irrelevant word on [0, T_1], a neuron's share of it, over (σ_0² + σ_1²) m."""
    there = phase_1(run, observe=tuple(f"d_G_{word}" for word in words))
    return max(float(np.abs(there[f"d_G_{word}"]).max()) for word in words) / (value_scale(run.p) * run.p.m1)


def softmax_change(run: Kit) -> float:
    """E.3, E.24: the largest change of an attention on [0, T_1]."""
    return float(phase_1(run, observe=("attention_deviation",))["attention_deviation"].max()) / run.p.L**2


def between_one_and_two(there) -> Sides:
    """The largest C with (1 + C) max(Ġ1, Ġ2) ≤ -Ġ3 ≤ (1 - C)(Ġ1 + Ġ2), at each time."""
    faster, both = np.maximum(there["d_G_mu1"], there["d_G_mu2"]), there["d_G_mu1"] + there["d_G_mu2"]
    return Sides(np.minimum(-there["d_G_mu3"] / faster - 1, 1 + there["d_G_mu3"] / both), 1.0, there.t)


RATES = ("d_G_mu1", "d_G_mu2", "d_G_mu3")


def common_word_turns(run: Kit, least: float = 1.1) -> Sides:
    """4.3: on [T_0.5, T_1], T_0.5 the first time at which -Ġ3 ≥ 1.1 max(Ġ1, Ġ2)."""
    there = run.course("T_0.5", "T_1_clock", 200, observe=RATES)
    since = np.flatnonzero(between_one_and_two(there).left >= least - 1)
    sides = between_one_and_two(there)
    rows = slice(int(since[0]), None) if len(since) else slice(0)
    return Sides(sides.left[rows], 1.0, there.t[rows])


def targets_keep_growing(run: Kit, word: str = "mu1") -> Sides:
    """E.19, "Further": Ġ(μ1) on [T_0.5, T_1] against (σ_0² + σ_1²) m m1."""
    there = run.course("T_0.5", "T_1_clock", 100, observe=(f"d_G_{word}",))
    return Sides(there[f"d_G_{word}"], value_scale(run.p) * run.p.m1, there.t)


def rise_of_one_target(run: Kit, other: int = 3) -> dict[str, np.ndarray]:
    """Section 4.1: how far the loss of samples with one target rises above its start."""
    start, top = (run.values(at, observe=("loss_type2", "loss_type3", "loss_type4")) for at in (0.0, "loss_peak"))
    return {f"type {T}": np.array([top[f"loss_type{T}"] - start[f"loss_type{T}"]]) for T in (2, other)}


def edge_of_the_rise(run: Kit, per_word: float = 3.0) -> dict[str, np.ndarray]:
    """[ours] dF_2/dt at t = 0 is positive for n > 3(L - 2) and negative for n < 3(L - 2), on both sides of the edge."""
    at = lambda step: run.at(L=2 + run.p.n / per_word + step).values(0.0, observe=("d_F_type2",))["d_F_type2"]
    return {"shorter": np.array([at(-0.05)]), "longer": np.array([-at(0.05)])}


CLAIMS = (
    Claim("3.1-1", "Theorem 3.1, Theorem E.27, Theorem E.28", "item 1: G(μ1), G(μ2), -G(μ3) ≥ Ω(1) at T_1", Order("Ω"),
          values_align, at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Ω", lambda p: p.m**0.25)}),
    Claim("3.1-2", "Theorem 3.1, Theorem E.27, Theorem E.28", "item 2: y_i F_i ≥ Ω(1) for every sample at T_1",
          Order("Ω"),
          least_margin, at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"at": WIDE | {"C_T_1": 2.0}, "regime": CONDITION_1}),
    Claim("3.1-3", "Theorem 3.1, Theorem E.26, Theorem E.28, Proposition E.12, Lemma E.9, Lemma E.23, Lemma E.25",
          "item 3: on [0, T_1] neuron and value correlations change by Õ(1/m), scores by Õ(m^(-3/2)), key and query "
          "correlations by Õ(m^(-2))", Order("Õ"), changes_of_families,
          at={"n": 36, "L": 4, "m1": 8, "C_T_1": 14.0}, path=Path("m", (64.0, 256.0, 1024.0, 4096.0)), mode=MODE,
          regime=CONDITION_1, levels="L2", control={"tied": False}, is_cheap=False),
    Claim("3.1-4", "Theorem 3.1, Theorem E.28", "item 4: the training loss is Θ(1) at T_1", Order("Θ"), training_loss,
          at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Θ", lambda p: p.m**-0.25)}),
    Claim("3.1-T_1", "Theorem 3.1, Theorem E.28", "all samples are correct from a time Õ(1/m) on",
          Order("Õ", lambda p: 1 / p.m), first_correct, at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Õ", lambda p: p.m**-2)}),
    Claim("E.14", "Theorem E.14", "on [0, T_1] targets grow at Θ((σ_0² + σ_1²) m) a neuron", Order("Θ"),
          rates_of_targets, at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS, control={"word": "mu3"}),
    Claim("E.15", "Theorem E.15", "on [0, T_1] irrelevant words grow at O((σ_0² + σ_1²) m/n) a neuron",
          Order("O", lambda p: 1 / p.n), rates_of_irrelevant_words, at=MANY, path=MORE_SAMPLES, mode=MODE,
          regime=PHASES, levels=FLOWS, control={"words": ("mu1",)}),
    Claim("E.20", "Corollary E.20", "y F reaches a constant on I_2 and I_3 after a time O(1/m)",
          Order("O", lambda p: 1 / p.m), margin_of_one_target, at=WIDE, path=WIDER, mode=MODE, regime=PHASES,
          levels=FLOWS, control={"kind": Order("O", lambda p: p.m**-2)}),
    Claim("E.24", "Proposition E.3, Corollary E.24", "the softmax changes by O(1/(√m L) + L/m) on [0, T_1]",
          Order("O", lambda p: 1 / (p.m**0.5 * p.L) + p.L / p.m), softmax_change, at=WIDE, path=WIDER, mode=MODE,
          regime=PHASES, levels=FLOWS, control={"kind": Order("O", lambda p: p.m**-4)}),
    Claim("E.27", "Theorem E.27", "Σ a_j1 a_j2 ⟨w_j1, w_j2⟩ = Θ(σ_1² m m1) at T_1", Order("Θ"), neuron_sum, at=WIDE,
          path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS, control={"kind": Order("Θ", lambda p: p.m)}),
    Claim("4.3", "Lemma 4.3, Theorem E.19",
          "on [T_0.5, T_1] (1 + C) max(Ġ(μ1), Ġ(μ2)) ≤ -Ġ(μ3) ≤ (1 - C)(Ġ(μ1) + Ġ(μ2))", Inequality(">=", None),
          common_word_turns, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Inequality(">=", 0.6)}),
    Claim("4.3-further", "Theorem E.19", "on [T_0.5, T_1] Ġ(μ1), Ġ(μ2) ≥ Ω((σ_0² + σ_1²) m m1)", Inequality(">=", None),
          targets_keep_growing, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"word": "mu3"}),
    Claim("4-rise", "Section 4.1, Fig. 1", "the loss of samples with one target first rises", Sign({"type 2": 1,
          "type 3": 1}, True),
          rise_of_one_target, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=CONDITION_1, levels=FLOWS, what="remark",
          control={"kind": Sign({"type 2": 1, "type 4": 1}, True), "other": 4}),
    Claim("4-rise-edge", "Section 4.1 [ours]", "it rises exactly when n > 3(L - 2)", Sign({"shorter": 1, "longer": 1},
          True),
          edge_of_the_rise, at=[{"n": n, "m": 4096.0, "m1": 16} for n in (12, 60, 300)], mode=MODE, levels=FLOWS,
          what="remark", control={"per_word": 3.05}),
)  # fmt: skip
