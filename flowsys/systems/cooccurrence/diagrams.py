"""The co-occurrence system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np

from flowsys.phase.named import Line, NamedDiagram


def _rise(n: np.ndarray, L: np.ndarray) -> list[Line]:
    """n = 3(L - 2), exactly: left of it (few samples, long sentences) the loss of type 2 never rises."""
    fine = np.geomspace(n.min(), n.max(), 400)
    lines = []
    for y, label in ((2 + fine / 3, "theory: n = 3(L - 2)"), (np.sqrt(fine), r"Condition 1: $n = L^2$")):
        inside = (y >= L.min()) & (y <= L.max())
        lines.append(Line(fine[inside], y[inside], label))
    return lines


def _equal_initial_output(alpha: np.ndarray, beta: np.ndarray, L: float = 5, m: float = 128) -> list[Line]:
    """rms F(0) = √(L α β/m): beyond about 1 the random start, not the data, decides how far type 2 rises."""
    lines = []
    for level in (0.3, 1.0):
        y = level**2 * m / (L * alpha)
        inside = (y >= beta.min()) & (y <= beta.max())
        lines.append(Line(alpha[inside], y[inside], f"rms F(0) = {level:g}"))
    return lines


def _lazy(score_scale: np.ndarray, beta: np.ndarray) -> list[Line]:
    """lambda = s²/β (α = 1): from about 0.06 on attention leaves the uniform (ρ = δ = 1); near 1 S_31 turns."""
    lines = []
    for value in (0.06, 1.0):
        y = score_scale**2 / value
        inside = (y >= beta.min()) & (y <= beta.max())
        lines.append(Line(score_scale[inside], y[inside], rf"$\lambda = {value:g}$"))
    return lines


DIAGRAMS = {
    "rise": NamedDiagram(
        title="Peak of the loss of samples with one target (0.693 at the start)",
        axes=("n=12:3000:60:log", "L=4:40:48"),
        observables=("loss_type2@loss_peak", "test_loss@T_star"),
        boundary=_rise,
    ),
    "attention": NamedDiagram(
        title=r"Attention of $\mu_1$ on $\mu_2$ at loss $10^{-3}$: lazy or learned",
        axes=("score_scale=0.01:10:50:log", "beta=0.3:300:50:log"),
        observables=("p_type1_1_2@T_star", "attention_deviation@T_star", "d_S_31@T_star"),
        fixed={"n": 600, "alpha": 1.0, "m1": 1.0},
        boundary=_lazy,
    ),
    "proportions": NamedDiagram(
        title=r"Gradient ratio $R$ at loss $10^{-2}$: a transient, $R^\star$ does not depend on shares at $n = \infty$",
        axes=("share_1=0.1:0.8:40", "share_4=0.05:0.8:40"),
        observables=("R@T_star", "loss_type2@loss_peak"),
        fixed={"n": 6e6, "alpha": 0.2, "beta": 4096.0, "m1": 16.0, "score_scale": 4096**-0.5, "epsilon": 1e-2},
    ),
    "initial_output": NamedDiagram(
        title="Random starts of width 128: how far the loss of type 2 rises (median over seeds)",
        axes=("alpha=0.01:3:7:log", "beta=1:300:7:log", "seed=0,1,2,3"),
        observables=("loss_type2@loss_peak-loss_type2@t=0", "target_imbalance@t=0", "T_1"),
        level="L2",
        fixed={"n": 12, "width": 128, "score_scale": 128**-0.5, "m1": 4.0, "t_max": 1e4},
        boundary=_equal_initial_output,
    ),
}
