"""The layer stage 1 leaves (Theorems B.1, C.1, Eqs. 16–18): the isotropic flow from a = c = V_0, b' = e = 0.

Logits are clipped by min(F, B), along which the flow slides, unless a claim is about another clip: the rounded one, of
width ω, lets F go beyond B like ω log t.
"""

import numpy as np

from flowsys.claims import Claim, Identity, Inequality, Kit, Limit, Order, Path, Regime, Series, Sides
from flowsys.laws.fits import line
from flowsys.systems.lego.claims.regimes import ANYWHERE, LONG, SYMMETRIC, TRANSITIVE
from flowsys.systems.lego.closed_forms import C_alpha, clip_level, final_features, phase_1_rate, phase_1_time
from flowsys.systems.lego.groups import sizes

MODE = "stage_1"
SMALL = {"bias": 1e-3, "V_0": 1.1e-3, "C_B": 2.0, "clip": "hard"}
TIMES = np.geomspace(0.1, 1e4, 11)
"""Over `late`."""


def late(run: Kit) -> float:
    """10⁶ d^C_B, long after logits have reached B: rates fall like e^-B."""
    return 1e6 * float(run.p.d) ** float(run.p.C_B)


def growth(run: Kit, extra: int = 0) -> Sides:
    """Eq. (16): dV/dt against (V + b)^(q-1) in phase I."""
    there = run.course(1e-9, "phase_1", 40, observe=("V_psi",))
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
    return run.reached("phase_1")


def time_and_closed_form(run: Kit, extra_power: int = 0) -> Sides:
    """[ours] It against t_* (1 - (x_0/ϱ)^(q-2)), x_0 = b + V_0."""
    p = run.p
    return Sides(time_of_phase_1(run), phase_1_time(p.bias + p.V_0, *sizes(p.group), p.q + extra_power, p.rho))


def halves(run: Kit) -> float:
    """B.5 (a): V(g)/V(y) where V reaches log(d)/2."""
    return run.values("phase_2_1", observe=("a_over_c",))["a_over_c"]


def features_over_B(run: Kit) -> dict[str, float]:
    """Eq. (17a, b): V(g), V(y) in the combination and off it, over ±B."""
    end, B = run.at(t_max=LONG).values(late(run), observe=("a", "b_prime", "c", "e")), clip_level(run.p.C_B, run.p.d)
    return {"V(g)": end["a"] / B, "V(y)": end["c"] / B, "V(g')": -end["b_prime"] / B, "V(y')": -end["e"] / B}


def features_and_closed_form(run: Kit, clip: str = "hard") -> dict[str, Sides]:
    """[ours] All four against those of the conservation law at B + ϱ(1 - 1/q) - b."""
    p = run.p
    end = run.at(clip=clip, t_max=LONG).values(late(run), observe=("a", "b_prime", "c", "e"))
    exact = final_features(*sizes(p.group), clip_level(p.C_B, p.d) + p.rho * (1 - 1 / p.q) - p.bias)
    return {name: Sides(end[name], getattr(exact, name)) for name in ("a", "b_prime", "c", "e")}


def confounders(run: Kit) -> dict[str, Series]:
    """Eqs. (17c), (18c): (a + e)/2 and (b' + c)/2 along t."""
    there = run.at(t_max=LONG).course(TIMES * late(run), observe=("confounder_ae", "confounder_bc"))
    return {name: Series(there.t, np.abs(there[name])) for name in ("confounder_ae", "confounder_bc")}


def ratio(run: Kit) -> Series:
    """Theorem C.1 (C): V(g)/V(y) along t."""
    there = run.at(t_max=LONG).course(TIMES * late(run), observe=("a_over_c",))
    return Series(there.t, there["a_over_c"])


def symmetric_features(run: Kit) -> dict[str, float]:
    """Eq. (18): |V(g)/2B - 1| and |V(y) n_y/2B - 1|, B being (V(g) + V(y))/2."""
    end = run.at(t_max=LONG).values(late(run), observe=("a", "c"))
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


STARTS = {"bias": 0.01, "V_0": 0.01}
EARLY = [{"group": g, "q": q, **STARTS} for g in ("C3", "C5", "S3") for q in (4, 6)]
SMALLER_START = Path("bias", (0.01, 0.005, 0.0025, 0.00125, 0.000625), V_0=lambda p: p.bias)
CYCLIC, SYMMETRIC_ONLY = Regime(TRANSITIVE), Regime(SYMMETRIC)
LARGER_D = Path("d", (1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e12))
SHAPE = "group d"
CLAIMS = [
    Claim("Eq16", "Eq. (16), Lemma B.2", "in phase I dV/dt ≥ Ω((V + b)^(q-1))", Inequality(">=", None), growth,
          at={"group": "C3"}, path=SMALLER_START, mode=MODE, takes="group", control={"extra": -1}),
    Claim("Eq16-rate", "Eq. (16)", "dV/dt = (1 + f)/(4 n_g n_y ϱ^(q-1)) (V + b)^(q-1)", Identity(5e-3),
          growth_and_its_rate, at=EARLY, mode=MODE, sharpens="Eq16", takes="", control={"factor": 1.1}),
    Claim("phase_1_exponent", "Theorem 4.1, Lemma B.8", "phase I takes a time Õ(σ_0^-(q-2)), b and V_0 ∝ σ_0",
          Order("Õ", lambda p: p.bias ** -(p.q - 2.0)), time_of_phase_1, at=[{"group": "C3", "q": q} for q in (4, 6)],
          path=SMALLER_START, mode=MODE, takes="group d",
          control={"kind": Order("Õ", lambda p: p.bias ** -(p.q - 3.0))}),
    Claim("phase_1_time", "Theorem 4.1, Lemma B.13, Corollary B.1",
          "phase I ends at t_* (1 - (x_0/ϱ)^(q-2)), t_* = 4 n_g n_y ϱ^(q-1) / ((1 + f)(q - 2) x_0^(q-2))",
          Identity(5e-3), time_and_closed_form, at=EARLY, mode=MODE, sharpens="phase_1_exponent", takes="",
          control={"extra_power": 2}),
    Claim("B.5", "Lemma B.5", "(a) V(g) and V(y) are both log(d)/2 + o(1) where V is", Limit(1.0), halves,
          at=[{"group": g, **SMALL} for g in ("C3", "C5")], path=LARGER_D, regime=CYCLIC, mode=MODE,
          takes="group", control={"at": {"group": "S4", **SMALL}, "regime": ANYWHERE}),
    Claim("Eq17ab", "Eq. (17), Theorem B.1", "(A, C) V(g), V(y) → B in the combination and -B off it, over B",
          Limit(1.0), features_over_B, at=[{"group": g, **SMALL} for g in ("C3", "C5")], path=LARGER_D, regime=CYCLIC,
          mode=MODE, takes="group", control={"at": {"group": "C3", **SMALL, "clip": "none"}}),
    Claim("Eq17-law", "Eq. (17), Eq. (18)", "V ends at B + ϱ(1 - 1/q) - b, where min(F, B) stops it, shared as C_α : 1",
          Identity(1e-3), features_and_closed_form, at=[{"group": g, **SMALL} for g in ("C3", "C5", "S3", "S4")],
          mode=MODE, sharpens="Eq17ab", takes="group d", control={"clip": "none"}),
    Claim("Eq17c_18c", "Eqs. (17), (18), Theorem B.1, Theorem C.1", "(B) confounding features cancel: o(1)",
          Limit(0.0), confounders, at=[{"group": g, **SMALL, "clip": clip} for g in ("C3", "S3") for clip in
                                       ("hard", "smooth")],
          mode=MODE, takes=SHAPE, control={"at": {"group": "C3", **SMALL, "clip": "none"}}),
    Claim("C.1_C", "Theorem C.1, Lemma C.7", "(C) V(g)/V(y) → C_α", Limit(lambda p: float(C_alpha(*sizes(p.group))),
          1e-3), ratio, at=[{"group": g, **SMALL} for g in ("S3", "S4", "S5")], mode=MODE, takes=SHAPE,
          control={"at": {"group": "S3", **SMALL, "clip": "none"}}),
    Claim("Eq18", "Eq. (18)", "V(g) = 2B and V(y) = 2B/n_y to leading order in 1/n_y", Order("O", lambda p: 1 / p.n),
          symmetric_features, at=SMALL, path=Path("n", (3, 4, 5, 6), group=lambda p: f"S{p.n}"), mode=MODE,
          regime=SYMMETRIC_ONLY, takes="d", control={"kind": Order("O", lambda p: p.n**-3.0)}),
    Claim("additive_trap", "Section 6.1.2 [ours]", "too large a bias traps the layer: F_c = F_w, loss log n_y",
          Identity(1e-3), trapped,
          at=[{"group": "C3", "bias": 0.1, "V_0": 0.1 * r} for r in (0.05, 0.1, 0.2, 0.4, 0.8)], mode=MODE,
          takes="", control={"at": {"group": "C3", "bias": 0.01, "V_0": 0.001}}),
    Claim("clip_creep", "Assumption 3.4 [ours]", "a rounded clip is passed at ω log t", Identity(0.05), creep,
          at={"group": "C3", **SMALL}, mode=MODE, takes="", control={"width": 2.0}),
]  # fmt: skip
