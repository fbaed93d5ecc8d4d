"""The co-occurrence system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np
from scipy.optimize import brentq

from flowsys.sweeps import Axis, make_sweep
from flowsys.sweeps.memory import run_in_memory
from flowsys.sweeps.named import Contour, Line, NamedDiagram, along
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.sentences import shares_of

RISE = "loss_type2@loss_peak-loss_type2@t=0"
TEST_EXPONENT = "exponent(test_loss)@t=1e4..1e6"
KAPPAS = (0.0, 0.25, 0.5, 0.75)
MANY = {"n": 6e6, "alpha": 0.2, "beta": 4096.0, "m1": 16.0, "score_scale": 4096**-0.5}
"""Condition 1 at m = 4096, m1 = 16, with so many samples that irrelevant words play no part."""
RANDOM = {"n": 24, "L": 4, "width": 128, "score_scale": 128**-0.5, "m1": 4.0, "t_max": 1e4}
"""Random starts of width m = 128 with the paper's score scale; in the limit of this n, L type 2 rises, T_0.5 < T_1."""


def _rise(setup: Setup, n: np.ndarray, L: np.ndarray) -> list[Line]:
    """dF_2/dt = 0 at t = 0, n = 3(L - 2) with the paper's shares: left of it the loss of type 2 never rises."""
    fine = along(n)
    p_1, p_2, p_3, p_4 = shares_of(setup)
    per_sample = 2 * p_1 - 2 * p_2 - p_3 - p_4  # L - 2 irrelevant words take as much back as n of these give
    lines = [Line(fine, np.sqrt(fine), r"Condition 1: $n = L^2$")]
    if per_sample > 0:
        lines.insert(0, Line(fine, 2 + fine * per_sample, f"theory: $n = {1 / per_sample:.3g}(L - 2)$"))
    return lines


def _test_exponents(setup: Setup, n: np.ndarray, L: np.ndarray) -> list[Line]:
    """Where the test loss falls like time^-κ along the max-margin direction; for κ < 0 it grows like log time."""
    fine, shares = along(n, 60), shares_of(setup)

    def length(samples: float, kappa: float) -> float:
        above = lambda L: max_margin(samples, L, shares).test_exponent - kappa
        return brentq(above, L.min(), L.max()) if above(L.min()) > 0 > above(L.max()) else np.nan

    lines = [(kappa, np.array([length(k, kappa) for k in fine])) for kappa in KAPPAS]
    return [Line(fine[y > 0], y[y > 0], rf"theory: $\kappa$ = {kappa:g}") for kappa, y in lines]  # NaN is not


def _first_order(setup: Setup, lambda_: np.ndarray, delta: np.ndarray) -> list[Line]:
    """lambda at which L² max|p - 1/L| = 1 if attention responds in proportion to lambda, at every delta."""
    small, fine = 1e-6, np.geomspace(delta.min(), delta.max(), 24)
    there = {name: setup[name] for name in ("n", "L", "rho", "share_1", "share_4", "epsilon")}
    sweep = make_sweep(SYSTEM, [Axis("delta", tuple(fine.tolist()), "log")], ["attention_deviation@T_star"],
                       mode="dimensionless", fixed=there | {"lambda_": small})  # fmt: skip
    response = run_in_memory(sweep).quantities["attention_deviation@T_star"] / small
    return [Line(1 / response, fine, r"theory, first order in $\lambda$: $L^2\,\max|p - 1/L| = 1$")]


def _first_rate_of_type_2(setup: Setup, share_1: np.ndarray, share_4: np.ndarray) -> list[Line]:
    """dF_2/dt = 0 at t = 0: 2 p_1 - 2 p_2 - p_3 - p_4 = (L - 2)/n with p_2 = p_3."""
    fine = along(share_1)
    line = 3 - 7 * fine + 2 * (setup["L"] - 2) / setup["n"]
    left = fine + line < 0.98  # something is left for types 2 and 3
    return [Line(fine[left], line[left], r"theory: $p_4 = 3 - 7 p_1 + 2(L - 2)/n$")]


def _equal_initial_output(setup: Setup, alpha: np.ndarray, beta: np.ndarray) -> list[Line]:
    """rms F(0) = √(L α β/m) = σ_0 σ_1 √(L m m1): beyond about 1 the random start, not the data, decides."""
    L, m, fine = setup["L"], setup["width"], along(alpha, 200)
    return [Line(fine, level**2 * m / (L * fine), f"theory: rms $F(0)$ = {level:g}") for level in (0.3, 1.0)]


def _late_ratio(setup: Setup) -> tuple[Contour]:
    """R = R*, the late-time ratio of the paper's shares; at n = ∞ that of all shares."""
    late = max_margin(setup["n"], setup["L"], shares_of(setup)).gradient_ratio
    return (Contour("R@T_star", late, rf"measured: $R = R^\star = {late:.4g}$"),)


def _random_starts(title: str, quantity: str) -> NamedDiagram:
    """Of how many random starts a quantity is positive, over the scales of the weights; no two cells share a start."""
    return NamedDiagram(
        f"Random starts: {title}",
        ("alpha=0.01:3:11:log", "beta=1:300:11:log", "seed=0:9:10"),
        observables=(quantity,),
        level="L2",
        fixed=RANDOM,
        fresh_seeds=True,
        boundary=_equal_initial_output,
        over_seeds="share above 0",
    )


DIAGRAMS = {
    "rise": NamedDiagram(
        title="How far the loss of samples with one target rises",
        axes=("n=12:3000:60:log", "L=4:40:48"),
        observables=(RISE,),
        boundary=_rise,
    ),
    "test_exponent": NamedDiagram(
        title=r"How the test loss falls: the exponent of time, late ($-\kappa$ in theory)",
        axes=("n=12:3000:60:log", "L=4:40:48"),
        observables=(TEST_EXPONENT, "test_loss@T_star"),
        fixed={name: value for name, value in MANY.items() if name != "n"},
        boundary=_test_exponents,
        contours=lambda setup: [Contour(TEST_EXPONENT, -kappa, rf"measured: $\kappa$ = {kappa:g}") for kappa in KAPPAS],
    ),
    "attention": NamedDiagram(
        title=r"Attention of $\mu_1$ on $\mu_2$ at $T_\star$: lazy or learned",
        axes=("lambda_=1e-4:1e2:60:log", "delta=1e-3:10:48:log"),
        observables=("p_type1_1_2@T_star", "attention_deviation@T_star", "d_S_31@T_star"),
        mode="dimensionless",
        fixed={"n": 600, "rho": 1.0},
        boundary=_first_order,
        contours=lambda setup: (
            Contour("attention_deviation@T_star", 1.0, r"measured: $L^2\,\max|p - 1/L| = 1$"),
            Contour("d_S_31@T_star", 0.0, r"measured: $S_{31}$ turns"),
        ),
    ),
    "proportions": NamedDiagram(
        title=r"Gradient ratio $R$ at $T_\star$; late, with many samples, $R^\star = 3/2$ for all proportions",
        axes=("share_1=0.1:0.8:40", "share_4=0.05:0.8:40"),
        observables=("R@T_star",),
        fixed=MANY | {"epsilon": 1e-2},
        contours=_late_ratio,
    ),
    "proportions_rise": NamedDiagram(
        title=r"How far the loss of samples with one target rises, by proportions",
        axes=("share_1=0.1:0.8:40", "share_4=0.05:0.8:40"),
        observables=(RISE,),
        fixed=MANY,
        boundary=_first_rate_of_type_2,
    ),
    "initial_output": _random_starts("share of seeds whose loss of type 2 rises first", RISE),
    "order_of_phases": _random_starts(r"share of seeds with $T_{0.5} < T_1$", "T_1-T_0.5"),
}
