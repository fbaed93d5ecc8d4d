"""How long a chain the trained attention solves (Theorems 1.2, 4.1): ε along d, Acc at lengths d^c*, and L* against ε.

A chain of length L is solved up to Ω(1/ε^{2,2}): a length d^c* needs ε to fall like a power of d, "a constant factor"
is an ε that does not.
"""

from collections.abc import Iterable

import numpy as np

from flowsys.claims import Claim, Existence, Inequality, Kit, Order, Path, Regime, Series, Sides
from flowsys.laws.fits import Fit, power_law
from flowsys.systems.lego.claims.regimes import (
    CLIP,
    LARGER_D,
    LAYER_SHAPE,
    SIMPLY_TRANSITIVE,
    SIZES,
    in_powers_of_d,
    late,
)
from flowsys.systems.lego.closed_forms import largest_solvable_eps
from flowsys.systems.lego.lengths import following

CYCLIC, SYMMETRICS = ("C6",), ("S4", "S5")
POWERS = (0.0, 0.5)
LENGTH_POWER = 0.1
SHARE = 0.1
TIMES = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)


def eps_late(run: Kit, power: float) -> float:
    """ε^{2,2} at τ = d^(C_B - 1 + power)."""
    return late(run, power, "eps_attention")["eps_attention"]


def exponent(run: Kit, group: str, power: float, sizes: Iterable[float] = SIZES) -> Fit:
    """ε^{2,2} as a power of d."""
    sizes = np.array(list(sizes))
    return power_law(sizes, [eps_late(run.at(group=group, d=float(d)), power) for d in sizes])


def _named(run: Kit, group: str, power: float) -> str:
    return f"{group} at τ = d^{run.p.C_B - 1 + power:g}"


def reach_of_both_families(run: Kit) -> dict[str, float]:
    """Theorem 1.2: 1/(ε d^c*) for simply transitive actions, c* = 0.1, and ε for symmetric ones; both are to stay."""
    found = {_named(run, g, power): run.p.d**-LENGTH_POWER / eps_late(run.at(group=g), power)
             for g in CYCLIC for power in POWERS}  # fmt: skip
    found |= {_named(run, g, power): eps_late(run.at(group=g), power) for g in SYMMETRICS for power in POWERS}
    if run.p.d == SIZES[-1]:
        fits = {_named(run, g, power): exponent(run, g, power).slope
                for g in (*CYCLIC, *SYMMETRICS) for power in POWERS}  # fmt: skip
        run.note(exponents=fits, told=", ".join(f"{name} {slope:.2f}" for name, slope in fits.items()))
    return found


def separation(run: Kit, group: str = "C6") -> dict[str, float]:
    """[ours] The least exponent with which ε_S/ε_C grows over d at τ = d^(C_B - 1/2): the end of its interval."""
    found = {}
    cyclic = exponent(run, group, 0.5).y
    for name in SYMMETRICS:
        fit = power_law(SIZES, exponent(run, name, 0.5).y / cyclic)
        found[name] = fit.interval[0]
        run.note(**{name: fit.slope, f"{name}_last": float(fit.y[-1])})
    return found


def concentration(run: Kit, power: float = 0.5) -> dict[str, float]:
    """Theorem 4.1 (8): the least c* with ε^{2,2} = O(d^-c*) after τ = d^(C_B - 1 + power), over d."""
    fit = exponent(run, run.p.group, power)
    run.note(c_star=-fit.slope, power=run.p.C_B - 1 + power)
    return {f"{run.p.group}": -fit.interval[1]}


def accuracy_in_powers(run: Kit, power: float = 0.5) -> Sides:
    """Theorem 4.1 (7): -log(1 - Acc_L)/log d at L = 1/(10 ε), which is Θ(d^c*), against a constant."""
    L = max(4, int(SHARE / eps_late(run, power)))
    run.note(L=L, share=L / run.p.d)
    miss = late(run, power, "inaccuracy", L_test=L)["inaccuracy"]
    return Sides(in_powers_of_d(miss, run.p.d), 1.0)


def solvable_length(run: Kit) -> Series:
    """[ours] L* ε^{2,2} along τ."""
    found = run.run(*TIMES, observe=("L_star", "eps_22"))
    run.note(first=int(found["L_star"][0]), last=int(found["L_star"][-1]))
    return Series(found.t, found["L_star"] * found["eps_22"], "τ")


def where_chains_break(run: Kit, shift: float = 0.0) -> Sides:
    """[ours] ε^{L,L} of the first length that is not solved against (1 - 1/C_B)/2, where 2B(1/2 - ε) meets log d."""
    end = run.values(1e6, observe=("L_star", "alpha", "gamma"))
    others = 2 * following(int(end["L_star"])) - 2
    eps = others / (others + np.exp(end["alpha"]) + np.exp(end["gamma"]))  # ε^{L,L} at β = δ = 0
    return Sides(eps, largest_solvable_eps(run.p.C_B) + shift)


def rollout_and_teacher_forcing(run: Kit, observed: str = "accuracy_greedy") -> Sides:
    """Section 7: shares of right greedy answers past the solved lengths, given the true prefix and the model's own."""
    names = (observed, "accuracy_rollout")
    end = run.at(n_steps=run.p.L_test).values(1e5, observe=names)
    run.note(forced=end[observed], rollout=end["accuracy_rollout"])
    return Sides(end[observed] - 0.01, end["accuracy_rollout"])


LENGTHS = Path("d", (1e2, 3e2, 1e3, 3e3, 1e4))
CLAIMS = [
    Claim("1.2", "Theorem 1.2",
          "1/ε = Ω(d^c*) for simply transitive actions, ε = Ω(1) for symmetric ones, after τ = d^(C_B - 1) and more",
          Order("Ω"), reach_of_both_families, at={"C_B": 3.0}, path=LARGER_D, what="theorem",
          takes=f"C_B {LAYER_SHAPE}",
          control={"kind": Order("Ω", lambda p: 1 / p.d)}, is_cheap=False,
          note="ε as a power of d: {told}; trained for longer, symmetric actions gain a power of d as well, a smaller "
          "one: the constant factor is where Algorithm 2 stops, and the paper proves no upper bound for them"),
    Claim("1.2-separation", "Theorem 1.2", "at τ = d^(C_B - 1/2) ε_S/ε_C grows like a power of d", Existence(True),
          separation, at={"C_B": 3.0}, sharpens="1.2", takes=f"C_B {LAYER_SHAPE}", control={"group": "S4"},
          is_cheap=False,
          note="fitted exponents {S4:.2f} and {S5:.2f}; the ratio ends at {S4_last:.1f} and {S5_last:.1f}"),
    Claim("4.1_8", "Theorem 4.1, Eq. (8), Lemma D.45", "ε^{2,2} = O(d^-c*) for some c* > 0 after poly(d) time",
          Existence(True), concentration, at=[{"group": g, "C_B": 3.0} for g in ("C3", "C5", "C6")],
          regime=SIMPLY_TRANSITIVE, takes=f"group C_B {LAYER_SHAPE}", control={"power": -1.0},
          note="c* = {c_star:.2f} at τ = d^{power:g}, set by the stopping time"),
    Claim("4.1_7", "Theorem 4.1, Theorem D.1, Eq. (7)", "Acc_L ≥ 1 - 1/poly(d) for every L = O(d^c*)",
          Inequality(">=", None), accuracy_in_powers, at={"group": "C3", "C_B": 3.0}, path=LENGTHS,
          regime=SIMPLY_TRANSITIVE, takes=f"group C_B {LAYER_SHAPE}", is_cheap=False,
          control={"kind": Inequality(">=", 4.0)}, note="the last length is {L}, {share:.2f} of d"),
    Claim("L_star", "Theorem 4.1", "the solvable length, Acc ≥ 0.9, is Θ(1/ε^{2,2}), for symmetric actions too",
          Order("Θ", along="τ"), solvable_length, at=[{"group": "C3"}, {"group": "S4"}], sharpens="4.1_7",
          takes=f"d C_B {LAYER_SHAPE}", is_cheap=False, control={"kind": Order("Θ", lambda p, x: x**0.3, along="τ")},
          note="L* from {first} to {last}"),
    Claim("L_star_boundary", "Section 6.2 [ours]",
          "no chain fails before the correct logit 2B(1/2 - ε^{L,L}) has fallen to log d", Inequality(">="),
          where_chains_break, at=[{"group": g, "C_B": C} for g in ("C3", "C5", "S4") for C in (3.0, 4.0, 6.0)],
          regime=Regime(CLIP, C=3.0), takes=f"d C_B {LAYER_SHAPE}", is_cheap=False, control={"shift": 0.3}),
    Claim("rollout", "Section 7", "self-rollout is harder than teacher forcing", Inequality(">="),
          rollout_and_teacher_forcing, at={"group": "S3", "L_test": 76}, what="remark", takes="d C_B",
          is_cheap=False, control={"at": {"group": "S3", "L_test": 2}},
          note="right answers given the true prefix {forced:.3f}, given the model's own {rollout:.3f}"),
]  # fmt: skip
