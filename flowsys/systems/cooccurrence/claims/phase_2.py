"""Phase 2: gradients stay balanced, scores and correlations move one way (Theorem 3.2, Section 4.2, Appendix F)."""

import numpy as np

from flowsys.claims import (
    Claim,
    Erratum,
    Identity,
    Inequality,
    Kit,
    Limit,
    Order,
    Provable,
    Series,
    Sides,
    Sign,
    signs_on,
)
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.cooccurrence.claims.phase_1 import MANY, RATES, WIDE, between_one_and_two
from flowsys.systems.cooccurrence.claims.places import (
    CONDITION_1,
    FLOWS,
    LATE,
    MODE,
    MORE_SAMPLES,
    PHASES,
    PLACE,
    PROPORTIONS,
    WIDER,
    phase_2,
    separator,
    sigma_0_squared,
)

SCORES = {"d_S_12": 1, "d_S_21": 1, "d_S_31": -1, "d_S_32": -1}
CORRELATIONS = {"VV_11": 1, "VV_12": 1, "VV_13": -1, "VV_22": 1, "VV_23": -1}


def quadratic_gradient_ratio(g_prime) -> float:
    """Lemma F.6: the positive root R of aR² + bR + c = 0, from g'_T = Σ_{i in I_T} g_i(1 − g_i), T = 1 … 4."""
    g_1, g_2, g_3, g_4 = g_prime
    a, b, c = g_1 + g_2, g_3 + g_4 - g_1, -(g_2 + g_3 + 2 * g_1)
    return float((-b + np.sqrt(b**2 - 4 * a * c)) / (2 * a))


def rates_of_scores(run: Kit) -> Trajectory:
    """3.2, item 1: the scores' rates from T_1 on."""
    return phase_2(run, observe=tuple(SCORES))


def rates_of_scores_with_drawn_proportions(run: Kit, draws: int = 6) -> dict[str, np.ndarray]:
    """2.3: the rates of the scores from T_1 on, the least over data sets whose types are drawn, and so their shares."""
    found = []
    for seed in range(draws):
        counts = np.random.default_rng(seed).multinomial(int(run.p.n), PROPORTIONS)
        shares = {f"share_{T}": float(counts[T - 1] / run.p.n) for T in (1, 2, 4)}
        found.append(phase_2(run.at(**shares), 40, observe=tuple(SCORES), variant="without_swap"))
    return {name: np.concatenate([there[name] for there in found]) for name in SCORES}


def steps_of_correlations(run: Kit, swap: bool = False) -> dict[str, np.ndarray]:
    """3.2, item 2; F.13: how value correlations step from one time to the next."""
    there = phase_2(run, observe=tuple(CORRELATIONS))
    return {name: np.diff(there[name]) * (-1 if swap else 1) for name in CORRELATIONS}


def values(run: Kit, names: str = "single") -> dict[str, Sides]:
    """3.2, items 3 and 4: values and their sums from T_1 on, against 1."""
    there = phase_2(run, observe=("G_mu1", "G_mu2", "G_mu3"))
    G_1, G_2, G_3 = (there[f"G_mu{i}"] for i in (1, 2, 3))
    found = {"G(μ1)": G_1, "G(μ2)": G_2, "-G(μ3)": -G_3}
    if names == "sums":
        found = {"G(μ1) + G(μ2) + G(μ3)": G_1 + G_2 + G_3, "-G(μ1) - G(μ3)": -G_1 - G_3, "-G(μ2) - G(μ3)": -G_2 - G_3}
    return {name: Sides(x, 1.0, there.t) for name, x in found.items()}


def common_value(run: Kit, word: str = "mu3") -> Series:
    """3.2, item 3 as printed: -G(μ3) from T_1 on, along t."""
    there = phase_2(run, observe=(f"G_{word}",))
    return Series(there.t * run.p.m, np.abs(there[f"G_{word}"]), "tau")


def imbalance(run: Kit, **shares: float) -> dict[str, Sides]:
    """4.4: |Σ_I2 g - Σ_I3 g| over the smaller from T_1 on, from targets that start apart by 0.1 and by 0.5."""
    found = {}
    for split in (0.1, 0.5):
        there = phase_2(run.at(split=split, **shares), observe=("target_imbalance",), variant="without_swap")
        found[f"split {split:g}"] = Sides(there["target_imbalance"], 1.0, there.t)
    return found


def power_of_imbalance(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] The imbalance falls like τ^(-k), k = A_2 (1 + (L - 2)/n_2), A_2 the dual weight of type 2."""
    there = run.at(split=0.1).run(
        300 / run.p.m, 1000 / run.p.m, observe=("target_imbalance", "clock"), variant="without_swap"
    )
    power = np.diff(np.log(there["target_imbalance"])) / np.diff(np.log(there["clock"]))
    k = separator(run).dual_weights[1] * (1 + (run.p.L - 2) / (run.p.n / 6))
    return Sides(-power, factor * k)


def balances(run: Kit) -> dict[str, Sides]:
    """4.5: Σg/(g_2 + g_3 + g_4 - g_1) and Σg/(g_1 - g_2) from T_1 on."""
    there = phase_2(run, observe=("balance_negative", "balance_positive"))
    return {name: Sides(1.0, there[f"balance_{name}"], there.t) for name in ("negative", "positive")}


def between(run: Kit) -> Sides:
    """4.5: the largest C from T_1 on."""
    return between_one_and_two(phase_2(run, observe=RATES))


def ratio_of_targets(run: Kit, word: str = "mu2") -> dict[str, float]:
    """F.6: the least and largest Ġ(μ1)/Ġ(μ2) from T_1 on, from targets that start apart by 0.5."""
    there = phase_2(run.at(split=0.5), observe=("d_G_mu1", f"d_G_{word}"), variant="without_swap")
    ratio = there["d_G_mu1"] / there[f"d_G_{word}"]
    return {"least": float(ratio.min()), "largest": float(ratio.max())}


def distance_to_the_root(run: Kit, scale: float = 1.0) -> float:
    """F.6, proof: the positive root of the quadratic in Σ_I g(1 - g), minus R = -Ġ(μ3)/Ġ(μ1), at τ = 10^6."""
    names = ("R", *(f"g_type{T}" for T in (1, 2, 3, 4)))
    late = run.values(LATE / run.p.m, observe=names)
    g = [late[f"g_type{T}"] * (1 - late[f"g_type{T}"] / share) for T, share in zip((1, 2, 3, 4), PROPORTIONS)]
    distance = quadratic_gradient_ratio(g) - late["R"]
    run.note(scaled=run.p.n * distance)
    return scale * distance


def late_ratio(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] R at τ = 10^6, against that of the max-margin direction."""
    return Sides(run.values(LATE / run.p.m, observe=("R",))["R"], factor * separator(run).gradient_ratio)


def order_of_gradients(run: Kit) -> dict[str, np.ndarray]:
    """F.1: the least gap of g_4 ≤ g_2, g_3 ≤ g_1 ≤ g_2 + g_3 + g_4 from T_1 on."""
    return {"gap": phase_2(run, observe=("gradient_order",))["gradient_order"]}


def ratios_of_values(run: Kit) -> dict[str, Sides]:
    """F.7: G(μ1)/(-G(μ3)) from T_1 on, from below and from above (G(μ1) = G(μ2) in the limit)."""
    there = phase_2(run, observe=("G_mu1", "G_mu3"))
    ratio = -there["G_mu1"] / there["G_mu3"]
    return {"G(μ1)/(-G(μ3))": Sides(ratio, 1.0, there.t), "-G(μ3)/G(μ1)": Sides(1 / ratio, 1.0, there.t)}


def score_rates(run: Kit, power: float = 1.0) -> dict[str, Series]:
    """4.7: the scores' rates over loss · σ_0² m/(√m L) from T_1 on."""
    there = phase_2(run, observe=("loss", *SCORES))
    scale = there["loss"] ** power * sigma_0_squared(run.p) * run.p.m / (run.p.m**0.5 * run.p.L)
    return {name: Series(there.t * run.p.m, sign * there[name] / scale, "tau") for name, sign in SCORES.items()}


def attention_deviation(run: Kit) -> Sides:
    """F.1, F.17: L² max|p - 1/L| from T_1 on."""
    there = phase_2(run, observe=("attention_deviation",))
    return Sides(there["attention_deviation"], 1.0, there.t)


def self_correlations(run: Kit) -> float:
    """F.19: the largest change of key and query correlations of special words by τ = 10^6."""
    names = [f"{M}_{pq}" for M in ("KK", "QQ") for pq in ("11", "12", "13", "33")]
    start, late = (run.values(t, observe=tuple(names)) for t in (0.0, LATE / run.p.m))
    return max(abs(late[name] - start[name]) for name in names)


CLAIMS = (
    Claim("3.2-1", "Theorem 3.2, Lemma F.16", "item 1: S_21, S_12 increase, S_31, S_32 decrease on (T_1, T_2)",
          Sign(SCORES, True), rates_of_scores, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Sign(SCORES | {"d_S_31": 1}, True)},
          provable=Provable(signs_on("[T_1_clock, T_star]", SCORES), {"n": 600.0})),
    Claim("2.3-drawn", "Assumption 2.3", "exact proportions can be replaced by concentration: item 1 of Theorem 3.2 "
          "holds where the types of n samples are drawn", Sign(SCORES, True), rates_of_scores_with_drawn_proportions,
          at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS, what="remark",
          control={"kind": Sign(SCORES | {"d_S_31": 1}, True)}, is_cheap=False),
    Claim("3.2-2", "Theorem 3.2, Corollary 4.6, Corollary F.13, Lemma F.11",
          "item 2: VV_12 (and VV_11, VV_22) increase, VV_13, VV_23 decrease on (T_1, T_2)", Sign(CORRELATIONS, True),
          steps_of_correlations, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"swap": True}),
    Claim("3.2-3", "Theorem 3.2", "item 3: G(μ1), G(μ2), -G(μ3) ≥ Ω(1) on (T_1, T_2)", Inequality(">=", None), values,
          at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS, control={"kind": Inequality(">=", 2.0)}),
    Claim("3.2-3-printed", "Theorem 3.2", "item 3 as printed: -G(μ3) ≤ Ω(1), bounded by a constant on (T_1, T_2)",
          Order("O", along="tau"), common_value, at=PLACE, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Order("Õ", along="tau")},
          erratum=Erratum("-G(μ3) ≤ Ω(1)", "-G(μ3) ≥ Ω(1)", "harmless", "3.2-3")),
    Claim("3.2-4", "Theorem 3.2", "item 4: G(μ1) + G(μ2) + G(μ3) ≥ Ω(1), G(μ1) + G(μ3), G(μ2) + G(μ3) ≤ -Ω(1)",
          Inequality(">=", None), lambda run, names="sums": values(run, names), at=MANY, path=MORE_SAMPLES, mode=MODE,
          regime=PHASES, levels=FLOWS, control={"at": MANY | {"C_T_1": 8.0}, "regime": CONDITION_1}),
    Claim("4.4", "Lemma 4.4, Lemma F.5", "|Σ_I2 g - Σ_I3 g| ≤ C min(Σ_I2 g, Σ_I3 g) with a small constant (0.2)",
          Inequality("<=", 0.2), imbalance, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"share_2": 0.05}),
    Claim("4.4-law", "Lemma F.5", "the imbalance falls like τ^(-k), k = A_2 (1 + (L - 2)/n_2)", Identity(0.15),
          power_of_imbalance, at=PLACE, mode=MODE, sharpens="4.4", levels=FLOWS, control={"factor": 0.5}),
    Claim("4.5", "Lemma 4.5, Lemma F.6", "Σg/(g_2 + g_3 + g_4 - g_1) and Σg/(g_1 - g_2) are O(1) on [T_1, T_2]",
          Inequality("<=", None), balances, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Inequality("<=", 4.0)}),
    Claim("4.5-C", "Lemma 4.5, Lemma F.6",
          "(1 + C) max(Ġ(μ1), Ġ(μ2)) ≤ -Ġ(μ3) ≤ (1 - C)(Ġ(μ1) + Ġ(μ2)) on [T_1, T_2]", Inequality(">=", None), between,
          at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS, control={"kind": Inequality(">=", 0.4)}),
    Claim("F.6", "Lemma F.6", "Ġ(μ1)/Ġ(μ2) = Θ(1) on [T_1, T_2]", Order("Θ"), ratio_of_targets, at=MANY,
          path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS, control={"word": "r1"}),
    Claim("F.6-root", "Lemma F.6", "in its proof R tends to the positive root of the quadratic in g', up to o(1)",
          Limit(0.0, 0.01), distance_to_the_root, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          what="proof step", control={"scale": 100.0},
          note="n times the distance is {scaled:.3g}"),
    Claim("F.6-margin", "Lemma F.6", "R tends to that of the max-margin direction at every n", Identity(0.01),
          late_ratio,
          at=MANY, path=MORE_SAMPLES, mode=MODE, sharpens="F.6", levels=FLOWS, control={"factor": 1.1}),
    Claim("F.1-order", "Definition F.1", "g_4 ≤ g_2, g_3 ≤ g_1 ≤ g_2 + g_3 + g_4 on [T_1, T_2]", Sign({"gap": 1}),
          order_of_gradients, at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"at": MANY | {"share_1": 0.25, "share_4": 0.65}, "regime": CONDITION_1}),
    Claim("F.7", "Corollary F.7", "G(μ1)/(-G(μ3)) = Θ(1) on [T_1, T_2]", Inequality(">=", None), ratios_of_values,
          at=MANY, path=MORE_SAMPLES, mode=MODE, regime=PHASES, levels=FLOWS, control={"kind": Inequality(">=", 1.0)}),
    Claim("4.7", "Lemma 4.7, Lemma F.16", "the rates of S_12, S_21, -S_31, -S_32 are Θ̃(loss σ_0² m/(√m L))",
          Order("Θ̃", along="tau"), score_rates, at=PLACE, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"power": 1.5}),
    Claim("F.17", "Definition F.1, Corollary F.17", "|p - 1/L| ≤ O(1/L²) on [T_1, T_2]", Inequality("<=", None),
          attention_deviation, at=WIDE, path=WIDER, mode=MODE, regime=PHASES, levels=FLOWS,
          control={"kind": Inequality("<=", 1e-7)}),
    Claim("F.19", "Lemma F.19, Definition F.1", "key and query correlations change by Õ(σ_0² √m) on [T_1, T_2]",
          Order("Õ", lambda p: sigma_0_squared(p) * p.m**0.5), self_correlations, at=WIDE, path=WIDER, mode=MODE,
          regime=PHASES, levels=FLOWS, control={"kind": Order("Õ", lambda p: p.m**-8)}),
)  # fmt: skip
