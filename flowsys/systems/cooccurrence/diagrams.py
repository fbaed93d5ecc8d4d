"""The co-occurrence system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np
from scipy.optimize import brentq

from flowsys.phase.named import Boundary, Contour, Line, NamedDiagram
from flowsys.system import Setup
from flowsys.systems.cooccurrence.max_margin import max_margin

RISE = "loss_type2@loss_peak-loss_type2@t=0"
TEST_EXPONENT = "exponent(test_loss)@t=1e4..1e6"
KAPPAS = (0.0, 0.25, 0.5, 0.75)
MANY = {"n": 6e6, "alpha": 0.2, "beta": 4096.0, "m1": 16.0, "score_scale": 4096**-0.5}
"""Condition 1 at m = 4096, m1 = 16, with so many samples that irrelevant words play no part."""
RANDOM = {"n": 24, "L": 4, "width": 128, "score_scale": 128**-0.5, "m1": 4.0, "t_max": 1e4}
"""Random starts of width m = 128 with the paper's score scale; in the limit of this n, L type 2 rises, T_0.5 < T_1."""


def _within(x: np.ndarray, y: np.ndarray, low: float, high: float, label: str) -> Line:
    inside = np.isfinite(y) & (y >= low) & (y <= high)
    return Line(x[inside], y[inside], label)


def _rise(setup: Setup, n: np.ndarray, L: np.ndarray) -> list[Line]:
    """n = 3(L - 2), exactly: left of it (few samples, long sentences) the loss of type 2 never rises."""
    fine = np.geomspace(n.min(), n.max(), 400)
    lines = [(2 + fine / 3, "theory: n = 3(L - 2)"), (np.sqrt(fine), r"Condition 1: $n = L^2$")]
    return [_within(fine, y, L.min(), L.max(), label) for y, label in lines] + _test_exponents(setup, n, L)


def _test_exponents(setup: Setup, n: np.ndarray, L: np.ndarray) -> list[Line]:
    """Where the test loss falls like time^-κ along the max-margin direction; for κ < 0 it grows like log time."""
    fine = np.geomspace(n.min(), n.max(), 60)

    def length(samples: float, kappa: float) -> float:
        above = lambda L: max_margin(samples, L).test_exponent - kappa
        return brentq(above, L.min(), L.max()) if above(L.min()) > 0 > above(L.max()) else np.nan

    return [
        _within(fine, np.array([length(k, kappa) for k in fine]), L.min(), L.max(), rf"theory: $\kappa$ = {kappa:g}")
        for kappa in KAPPAS
    ]


def _first_order(n: float, rho: float) -> Boundary:
    """lambda at which L² max|p - 1/L| = 1 if attention responds in proportion to lambda, at every delta."""

    def boundary(setup: Setup, lambda_: np.ndarray, delta: np.ndarray) -> list[Line]:
        from flowsys.phase import Axis, make_sweep
        from flowsys.phase.memory import run_in_memory
        from flowsys.systems.cooccurrence import SYSTEM

        small, fine = 1e-6, np.geomspace(delta.min(), delta.max(), 24)
        sweep = make_sweep(SYSTEM, [Axis("delta", tuple(fine.tolist()), "log")], ["attention_deviation@T_star"],
                           mode="dimensionless", fixed={"n": n, "rho": rho, "lambda_": small})  # fmt: skip
        response = run_in_memory(sweep).quantities["attention_deviation@T_star"] / small
        inside = (1 / response >= lambda_.min()) & (1 / response <= lambda_.max())
        label = rf"theory, first order in $\lambda$: $L^2\,\max|p - 1/L| = 1$ ($\rho$ = {rho:g}, n = {n:g})"
        return [Line(1 / response[inside], fine[inside], label)]

    return boundary


def _first_rate_of_type_2(setup: Setup, share_1: np.ndarray, share_4: np.ndarray) -> list[Line]:
    """dF_2/dt = 0 at t = 0 (n = ∞): 2 p_1 - 2 p_2 - p_3 - p_4 = 0 with p_2 = p_3, so share_4 = 3 - 7 share_1."""
    fine = np.linspace(share_1.min(), share_1.max(), 400)
    line = np.where(fine + (3 - 7 * fine) < 0.98, 3 - 7 * fine, np.nan)  # something is left for types 2 and 3
    return [_within(fine, line, share_4.min(), share_4.max(), "theory: share_4 = 3 - 7 share_1")]


def _equal_initial_output(setup: Setup, alpha: np.ndarray, beta: np.ndarray) -> list[Line]:
    """rms F(0) = √(L α β/m) = σ_0 σ_1 √(L m m1): beyond about 1 the random start, not the data, decides."""
    L, m, fine = RANDOM["L"], RANDOM["width"], np.geomspace(alpha.min(), alpha.max(), 200)
    return [
        _within(fine, level**2 * m / (L * fine), beta.min(), beta.max(), f"theory: rms F(0) = {level:g}")
        for level in (0.3, 1.0)
    ]


DIAGRAMS = {
    "rise": NamedDiagram(
        title=r"How far the loss of samples with one target rises; the test loss falls like $\tau^{-\kappa}$",
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
        contours=lambda setup: [Contour(TEST_EXPONENT, -kappa, f"measured: {kappa:g}") for kappa in KAPPAS],
    ),
    "attention": NamedDiagram(
        title=r"Attention of $\mu_1$ on $\mu_2$ at loss $10^{-3}$: lazy or learned ($\rho$ = 1, n = 600)",
        axes=("lambda_=1e-4:1e2:60:log", "delta=1e-3:10:48:log"),
        observables=("p_type1_1_2@T_star", "attention_deviation@T_star", "d_S_31@T_star"),
        mode="dimensionless",
        fixed={"n": 600, "rho": 1.0},
        boundary=_first_order(600, 1.0),
        contours=lambda setup: (
            Contour("attention_deviation@T_star", 1.0, r"measured: $L^2\,\max|p - 1/L| = 1$"),
            Contour("d_S_31@T_star", 0.0, r"measured: $S_{31}$ turns"),
        ),
    ),
    "proportions": NamedDiagram(
        title=r"Gradient ratio $R$ at loss $10^{-2}$; late $R^\star = 3/2$ for all proportions (n = 6e6)",
        axes=("share_1=0.1:0.8:40", "share_4=0.05:0.8:40"),
        observables=("R@T_star",),
        fixed=MANY | {"epsilon": 1e-2},
        contours=lambda setup: (Contour("R@T_star", 1.5, r"measured: $R = R^\star = 3/2$"),),
    ),
    "proportions_rise": NamedDiagram(
        title=r"How far the loss of samples with one target rises, by proportions (n = 6e6)",
        axes=("share_1=0.1:0.8:40", "share_4=0.05:0.8:40"),
        observables=(RISE,),
        fixed=MANY,
        boundary=_first_rate_of_type_2,
    ),
    "initial_output": NamedDiagram(
        title="Random starts of width 128: share of seeds whose type-2 loss rises first",
        axes=("alpha=0.01:3:7:log", "beta=1:300:7:log", "seed=0,1,2,3,4,5,6,7"),
        observables=(RISE,),
        level="L2",
        fixed=RANDOM,
        boundary=_equal_initial_output,
        over_seeds="share above 0",
    ),
    "order_of_phases": NamedDiagram(
        title=r"Random starts of width 128: share of seeds with $T_{0.5} < T_1$",
        axes=("alpha=0.01:3:7:log", "beta=1:300:7:log", "seed=0,1,2,3,4,5,6,7"),
        observables=("T_1-T_0.5",),
        level="L2",
        fixed=RANDOM,
        boundary=_equal_initial_output,
        over_seeds="share above 0",
    ),
}
