"""The layer stage 1 leaves (Theorems B.1, C.1, Eqs. 16–18): the isotropic flow from a = c = V_0, b' = e = 0.

Logits are clipped by min(F, B), along which the flow slides, unless a claim is about another clip: the rounded one, of
width ω, lets F go beyond B like ω log t.
"""

from functools import partial
from typing import Any

import numpy as np

from flowsys.claims import (
    Claim,
    Condition,
    Erratum,
    Identity,
    Inequality,
    Kit,
    Limit,
    Order,
    Path,
    Regime,
    Series,
    Sides,
)
from flowsys.laws.fits import line
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.lego.claims.regimes import ANYWHERE, LONG, SYMMETRIC, TRANSITIVE
from flowsys.systems.lego.closed_forms import C_alpha, clip_level, final_features, phase_1_rate, phase_1_time
from flowsys.systems.lego.groups import sizes

MODE = "stage_1"
CLIPPED = {"C_B": 2.0, "clip": "hard"}
SMALL = {"bias": 1e-3, "V_0": 1.1e-3, **CLIPPED}
FEATURES = ("a", "b_prime", "c", "e")
OTHERS = {"V(g')": "b_prime", "V(y')": "e"}
TIMES = np.geomspace(0.1, 1e4, 11)
"""Over `late`."""


def late(run: Kit) -> float:
    """10^(4(q-2)) n_g n_y ϱ^(q-1) d^C_B after phase I.

    Rates fall like e^-B, and what confounders have above -b like (n_g n_y ϱ^(q-1)/t)^(1/(q-2)).
    """
    p = run.p
    n_g, n_y = sizes(p.group)
    first = phase_1_time(p.bias + p.V_0, n_g, n_y, p.q, p.rho)
    return first + 1e4 ** (p.q - 2) * n_g * n_y * p.rho ** (p.q - 1) * float(p.d) ** float(p.C_B)


def growth(run: Kit, extra: int = 0) -> Sides:
    """Eq. (16): dV/dt against (V + b)^(q-1) in phase I."""
    there = run.at(t_max=LONG).course(1e-9, "phase_1", 40, observe=("V_psi",))
    rate = run.rates(there)
    x = there["V_psi"] + run.p.bias
    return Sides((rate["a"] + rate["c"]) / 2, x ** (run.p.q - 1 + extra), there.t)


def growth_and_its_rate(run: Kit, factor: float = 1.0) -> Sides:
    """[ours] The same against k (V + b)^(q-1), k = (1 + f)/(4 n_g n_y ϱ^(q-1)), while V + b ≤ ϱ/2."""
    sides, k = growth(run), phase_1_rate(*sizes(run.p.group), run.p.q, run.p.rho)
    early = sides.right <= (run.p.rho / 2) ** (run.p.q - 1)
    return Sides(sides.left[early], factor * k * sides.right[early])


def time_of_phase_1(run: Kit) -> float:
    """Theorem 4.1, B.8: when V + b reaches ϱ."""
    return run.at(t_max=LONG).reached("phase_1")


def time_and_closed_form(run: Kit, extra_power: int = 0) -> Sides:
    """[ours] It against t_* (1 - (x_0/ϱ)^(q-2)), x_0 = b + V_0."""
    p = run.p
    return Sides(time_of_phase_1(run), phase_1_time(p.bias + p.V_0, *sizes(p.group), p.q + extra_power, p.rho))


def halves(run: Kit) -> float:
    """B.5 (a): V(g)/V(y) where V reaches log(d)/2."""
    return run.at(t_max=LONG).values("phase_2_1", observe=("a_over_c",))["a_over_c"]


def ended(run: Kit, *observe: str, **parameters) -> dict[str, float]:
    """Features, or what is asked for, at `late`."""
    return run.at(t_max=LONG, **parameters).values(late(run), observe=observe or FEATURES)


def features_over_B(run: Kit) -> dict[str, float]:
    """Eq. (17a, b): V(g), V(y) in the combination and off it, over ±B."""
    end, B = ended(run), clip_level(run.p.C_B, run.p.d)
    return {"V(g)": end["a"] / B, "V(y)": end["c"] / B, "V(g')": -end["b_prime"] / B, "V(y')": -end["e"] / B}


def features_and_closed_form(run: Kit, clip: str = "hard") -> dict[str, Sides]:
    """[ours] All four against those of the conservation law at B + ϱ(1 - 1/q) - b."""
    p, end = run.p, ended(run, clip=clip)
    exact = final_features(*sizes(p.group), clip_level(p.C_B, p.d) + p.rho * (1 - 1 / p.q) - p.bias)
    return {name: Sides(end[name], getattr(exact, name)) for name in FEATURES}


def distance_from_B(run: Kit) -> float:
    """Theorem B.1 (A): |V - B| of the combination, V = (V(g) + V(y))/2."""
    return abs(ended(run, "V_psi")["V_psi"] - clip_level(run.p.C_B, run.p.d))


def confounders(run: Kit) -> dict[str, Series]:
    """Eqs. (17c), (18c): what the neuron reads of confounders, (a + e)/2 + b and (b' + c)/2 + b, along t."""
    there = run.at(t_max=LONG).course(TIMES * late(run), observe=("confounder_ae", "confounder_bc"))
    return {name: Series(there.t, there[name] + run.p.bias) for name in ("confounder_ae", "confounder_bc")}


def ratio(run: Kit) -> float:
    """Theorem C.1 (C): V(g)/V(y) in the end."""
    return ended(run, "a_over_c")["a_over_c"]


def ratio_and_confounders(run: Kit, scale: float = 1.0) -> Sides:
    """Lemma C.7: |V(g) - C_α V(y)| against V_0 + 2(1 + C_α) δ, δ the largest confounding feature, in the end."""
    end, ratio = ended(run), C_alpha(*sizes(run.p.group))
    largest = max(abs(end["a"] + end["e"]), abs(end["b_prime"] + end["c"])) / 2
    return Sides(abs(end["a"] - ratio * end["c"]), scale * (run.p.V_0 + 2 * (1 + ratio) * largest))


def growth_of_the_value(run: Kit) -> Sides:
    """Induction C.2: dV(y)/dt against n_g/n_y dV(g)/dt in phase I."""
    there = run.at(t_max=LONG).course(1e-9, "phase_1", 40, observe=("V_psi",))
    rate, (n_g, n_y) = run.rates(there), sizes(run.p.group)
    return Sides(rate["c"], n_g / n_y * rate["a"], there.t)


def time_of_falling(run: Kit, sign: float = -1.0) -> float:
    """Inductions B.3 (d), C.1 (d): for how long V falls between the end of phase I and 1 - p = d^(-1/2)."""
    there = run.at(t_max=LONG).course("phase_1", "phase_2_2", 60, observe=("V_psi",))
    rate = run.rates(there)
    return float(np.gradient(there.t)[sign * (rate["a"] + rate["c"]) > 0].sum())


def probability_in_phase_2_1(run: Kit) -> float:
    """Induction B.3 (a): p of the right value where V has reached log(d)/2; before, it is smaller."""
    return 1 - run.at(t_max=LONG).values("phase_2_1", observe=("miss",))["miss"]


def off_the_combination(run: Kit) -> Trajectory:
    """V(g') = b' and V(y') = e from the end of phase I on."""
    first = run.at(t_max=LONG).reached("phase_1")
    return run.at(t_max=LONG).course(np.geomspace(first, late(run), 60), observe=("b_prime", "e"))


def largest_other(run: Kit) -> dict[str, Sides]:
    """Inductions B.3 (c), C.3: the largest V(g') and V(y') against μ = b + V_0."""
    there = off_the_combination(run)
    return {name: Sides(max(there[x].max(), 0.0), run.p.bias + run.p.V_0) for name, x in OTHERS.items()}


def beyond_B(run: Kit, times: float = 1.0) -> dict[str, float]:
    """Inductions B.3 (c), C.3: by how much the least V(g') and V(y') lie below -B, or another multiple of B; or 0."""
    there, B = off_the_combination(run), clip_level(run.p.C_B, run.p.d)
    return {name: max(float(-there[x].min() - times * B), 0.0) for name, x in OTHERS.items()}


def symmetric_features(run: Kit) -> dict[str, float]:
    """Eq. (18): |V(g)/2B - 1| and |V(y) n_y/2B - 1|, B being (V(g) + V(y))/2."""
    end = ended(run)
    B = (end["a"] + end["c"]) / 2
    return {"V(g)": abs(end["a"] / (2 * B) - 1), "V(y)": abs(end["c"] * run.p.n / (2 * B) - 1)}


def trapped(run: Kit) -> dict[str, Sides]:
    """[ours] F_c against F_w and the loss against log n_y at t = 10⁶, without a clip."""
    end = run.at(clip="none").values(1e6, observe=("F_c", "F_w", "loss"))
    return {"logits": Sides(end["F_c"], end["F_w"]), "loss": Sides(end["loss"], np.log(sizes(run.p.group)[1]))}


def creep(run: Kit, width: float = 1.0) -> Sides:
    """[ours] dF_c / dlog t from t = 10⁹ to 10¹² with the rounded clip, against ω."""
    times = (1e9, 1e10, 1e11, 1e12)  # once the confounders are gone
    F = run.at(clip="smooth").course(times, observe=("F_c",))["F_c"]
    return Sides(line(np.log(times), F).slope, width * run.p.clip_width)


STARTS: dict[str, Any] = {"bias": 0.01, "V_0": 0.01}
EARLY = [{"group": g, "q": q, **STARTS} for g in ("C3", "C5", "S3") for q in (4, 6)]
SMALLER_START = Path("bias", (0.01, 0.005, 0.0025, 0.00125, 0.000625), V_0=lambda p: p.bias)
PHASE_1 = Condition("ϱ^(q-1)/(b + V_0)^(q-2) ≥ c log d",
                    lambda p, c: (p.rho ** (p.q - 1) / (p.bias + p.V_0) ** (p.q - 2), c * np.log(p.d)))  # fmt: skip
"""Phase I, which decides between the features, takes longer than what follows: a power of d against its logarithm where
b = σ_0 log d, V_0 = Õ(σ_0) with σ_0 = d^(-1/2), and ϱ = 1/polylog d."""
POWER_BRANCH, CYCLIC = Regime(PHASE_1, c=1.0), Regime(TRANSITIVE, PHASE_1, c=1.0)
SYMMETRIC_ONLY = Regime(SYMMETRIC, PHASE_1, c=1.0)
LARGE_D = Regime(Condition("d ≥ D", lambda p, D: (p.d, D)), PHASE_1, D=1e3, c=1.0)
"""What our closed forms of phase I leave out is the share 1/d that the softmax gives every class at the start."""
LARGER_D = Path("d", (1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12))
NARROWER = Path("d", LARGER_D.values, rho=lambda p: 1 / np.log(p.d))
"""ϱ = Θ(1/polylog d), as Definition 3.4 has it."""
C_1 = 0.25
"""A generous value for the small constant c_1 of δ_1 = d^c_1 μ, μ = d^(-1/2) log d."""
SHAPE = "group rho q"
BOTH = [{"group": g, **SMALL} for g in ("C3", "C5")]
FIBRES = [{"group": g, **SMALL} for g in ("S3", "S4", "S5")]
STEP: dict[str, Any] = {"mode": MODE, "takes": SHAPE, "path": LARGER_D, "what": "proof step"}
CLAIMS = [
    Claim("Eq16", "Eq. (16), Lemma B.2", "in phase I dV/dt ≥ Ω((V + b)^(q-1))", Inequality(">=", None), growth,
          at={"group": "C3"}, path=SMALLER_START, regime=POWER_BRANCH, mode=MODE, takes=SHAPE, control={"extra": -1}),
    Claim("Eq16-rate", "Eq. (16)", "dV/dt = (1 + f)/(4 n_g n_y ϱ^(q-1)) (V + b)^(q-1)", Identity(5e-3),
          growth_and_its_rate, at=EARLY, mode=MODE, regime=LARGE_D, sharpens="Eq16", takes="d rho",
          control={"factor": 1.1}),
    Claim("phase_1_exponent", "Theorem 4.1, Lemma B.8", "phase I takes a time Õ(σ_0^-(q-2)), b and V_0 ∝ σ_0",
          Order("Õ", lambda p: p.bias ** -(p.q - 2.0)), time_of_phase_1, at=[{"group": "C3", "q": q} for q in (4, 6)],
          path=SMALLER_START, regime=POWER_BRANCH, mode=MODE, takes=f"{SHAPE} d",
          control={"kind": Order("Õ", lambda p: p.bias ** -(p.q - 3.0))}),
    Claim("phase_1_time", "Theorem 4.1, Lemma B.13, Corollary B.1",
          "phase I ends at t_* (1 - (x_0/ϱ)^(q-2)), t_* = 4 n_g n_y ϱ^(q-1) / ((1 + f)(q - 2) x_0^(q-2))",
          Identity(5e-3), time_and_closed_form, at=EARLY, mode=MODE, regime=LARGE_D, sharpens="phase_1_exponent",
          takes="d rho", control={"extra_power": 2}),
    Claim("B.5", "Lemma B.5", "(a) V(g) and V(y) are both log(d)/2 + o(1) where V is", Limit(1.0), halves,
          at=BOTH, path=LARGER_D, regime=CYCLIC, mode=MODE,
          takes=SHAPE, control={"at": {"group": "S4", **SMALL}, "regime": ANYWHERE}),
    Claim("Eq17ab", "Eq. (17), Theorem B.1, Induction B.4", "V(g), V(y) → B in the combination and -B off it, over B",
          Limit(1.0), features_over_B, at=BOTH, path=LARGER_D, regime=CYCLIC,
          mode=MODE, takes=SHAPE, control={"at": {"group": "C3", **SMALL, "clip": "none"}}),
    Claim("B.1_A", "Theorem B.1, Induction B.4", "(A) V = B + O(δ_1), δ_1 = d^c_1 μ",
          Order("O", lambda p: p.d ** (C_1 - 0.5) * np.log(p.d)), distance_from_B,
          at=[{"group": g, **CLIPPED, "bias": 1e-4, "V_0": 1.1e-4} for g in ("C3", "C5")], path=NARROWER,
          regime=CYCLIC, mode=MODE, takes="group",
          control={"kind": Order("O", lambda p: p.rho)},
          erratum=Erratum("V = B + O(δ_1)", "V = B + ϱ(1 - 1/q) + O(δ_1): min(F, B) stops F = V + b - ϱ(1 - 1/q), and "
                          "ϱ = 1/polylog d is larger than δ_1", "harmless", "Eq17-law")),
    Claim("Eq17-law", "Eq. (17), Eq. (18)", "V ends at B + ϱ(1 - 1/q) - b, where min(F, B) stops it, shared as C_α : 1",
          Identity(1e-3), features_and_closed_form, at=[{"group": g, **SMALL} for g in ("C3", "C5", "S3", "S4")],
          regime=POWER_BRANCH, mode=MODE, sharpens="Eq17ab", takes=f"{SHAPE} d", control={"clip": "none"}),
    Claim("Eq17c_18c", "Eqs. (17), (18), Theorem B.1, Theorem C.1, Inductions B.4, C.4",
          "(B) confounding features cancel: they tend to -b, b = σ_0 log d = o(1)", Limit(0.0), confounders,
          at=[{"group": g, **SMALL, "clip": clip} for g in ("C3", "S3") for clip in ("hard", "smooth")],
          regime=POWER_BRANCH, mode=MODE, takes=f"{SHAPE} d", control={"at": {"group": "C3", **SMALL, "clip": "none"}}),
    Claim("C.1_C", "Theorem C.1, Induction C.4", "(C) V(g)/V(y) → C_α", Limit(
          lambda p: float(C_alpha(*sizes(p.group))), 1e-3), ratio, at=[{"group": g, **CLIPPED} for g in ("S3", "S4",
          "S5")], path=SMALLER_START, regime=POWER_BRANCH, mode=MODE, takes=f"{SHAPE} d",
          control={"at": {"group": "S3", **CLIPPED, "clip": "none"}}),
    Claim("C.7", "Lemma C.7", "|V(g) - C_α V(y)| ≤ O(δ), δ the largest confounding feature", Inequality("<="),
          ratio_and_confounders, at=[{"group": g, **CLIPPED} for g in ("S3", "S4", "S5")], path=SMALLER_START,
          regime=POWER_BRANCH, mode=MODE, takes=f"{SHAPE} d", control={"scale": 0.01}),
    Claim("Eq18", "Eq. (18)", "V(g) = 2B and V(y) = 2B/n_y to leading order in 1/n_y", Order("O", lambda p: 1 / p.n),
          symmetric_features, at=SMALL, path=Path("n", (3, 4, 5, 6), group=lambda p: f"S{p.n}"), mode=MODE,
          regime=SYMMETRIC_ONLY, takes="d rho q", control={"kind": Order("O", lambda p: p.n**-3.0)}),
    Claim("B.3_a", "Induction B.3", "(a) p ≤ O(d^(-1/2)) up to V = log(d)/2", Order("O", lambda p: p.d**-0.5),
          probability_in_phase_2_1, at=BOTH, regime=CYCLIC, **STEP, control={"kind": Order("O", lambda p: 1 / p.d)}),
    Claim("B.3_c", "Inductions B.3, C.3", "(c) V(g'), V(y') ≤ O(μ) off the combination", Inequality("<=", None),
          largest_other, at=[*BOTH, *FIBRES], regime=POWER_BRANCH, **STEP, control={"kind": Inequality("<=", 1e-3)}),
    Claim("B.3_below", "Induction B.3", "(c) V(g'), V(y') ≥ -B - O(1)", Order("O"), beyond_B, at=BOTH, regime=CYCLIC,
          **STEP, control={"times": 0.5}),
    Claim("C.3_below", "Induction C.3", "V(g'), V(y') ≥ -B - O(1)", Order("O"), beyond_B, at=FIBRES,
          regime=SYMMETRIC_ONLY, **STEP, control={"times": 2.0},
          erratum=Erratum("V(g'), V(y') > -B - O(1)", "> -2B - O(1): V(y') tends to -2B, as Eq. (18b) has it",
                          "harmless", "C.3_below-twice")),
    Claim("C.3_below-twice", "Induction C.3", "V(g'), V(y') ≥ -2B - O(1)", Order("O"), partial(beyond_B, times=2.0),
          at=FIBRES, regime=SYMMETRIC_ONLY, sharpens="C.3_below", mode=MODE, takes=SHAPE, path=LARGER_D,
          control=beyond_B),
    Claim("B.3_d", "Inductions B.3, C.1", "(d) V falls for a bounded time until 1 - p = d^(-1/2)", Order("O"),
          time_of_falling, at=[*BOTH, *FIBRES], regime=POWER_BRANCH, **STEP, control={"sign": 1.0}),
    Claim("C.2", "Induction C.2", "V(y) grows Ω(n_g/n_y) times as fast as V(g) in phase I", Inequality(">=", None),
          growth_of_the_value, at={"bias": 0.01, "V_0": 0.01}, regime=POWER_BRANCH, mode=MODE, what="proof step",
          path=Path("n", (3, 4, 5, 6), group=lambda p: f"S{p.n}"), takes="d rho q",
          control={"kind": Inequality(">=", 2.0)}),
    Claim("additive_trap", "Section 6.1.2 [ours]", "too large a bias traps the layer: F_c = F_w, loss log n_y",
          Identity(1e-3), trapped,
          at=[{"group": "C3", "bias": 0.1, "V_0": 0.1 * r} for r in (0.05, 0.1, 0.2, 0.4, 0.8)], mode=MODE,
          takes="", control={"at": {"group": "C3", "bias": 0.01, "V_0": 0.001}}),
    Claim("clip_creep", "Assumption 3.4 [ours]", "a rounded clip is passed at ω log t", Identity(0.05), creep,
          at={"group": "C3", **SMALL}, mode=MODE, takes="", control={"width": 2.0}),
]  # fmt: skip
