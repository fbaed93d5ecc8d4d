"""The mixture system's phase diagrams, with the boundaries the theory predicts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from flowsys.runs.solving import solve
from flowsys.sweeps.named import Contour, Line, NamedDiagram, along, outline
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_group_signal

LENGTHS = (1000, 300, 150)


def _measured(setup: Setup, quantity: str, at: float | str, **changes: Any) -> float:
    """An observable of three-stage training at an event or time, with some parameters of the setup changed."""
    there = SYSTEM.setup(**dict(setup) | changes)
    return float(solve(SYSTEM, there, at=[at], observe=[quantity])[quantity][0])


def _onset(setup: Setup, b: np.ndarray, T_1: np.ndarray) -> list[Line]:
    """T_1 = T_0.5(b), exactly: below it the group signal is still 0 and stage 2 never moves."""
    fine = along(b)
    return [Line(fine, onset_of_group_signal(setup["K"], fine), r"theory: $T_1 = T_{0.5}(b)$")]


def _onset_times(setup: Setup) -> list[float]:
    """Three times of onset to draw lines for; more groups wait longer."""
    return [T_2 * (setup["K"] - 1.0) for T_2 in (100, 160, 300)]


def _predicted_onsets(setup: Setup, omega: np.ndarray, b: np.ndarray) -> list[Line]:
    """The ω at which attention would set in at T_2, were it frozen at 1/3 until then (L = 3) [ours].

    As in the sinh surrogate, but w_c grows as in stage 1 and only half of the samples are conflicting:
    S_cv_same = (K-1)/K ω² sinh(∫ w_c dt / (9(K-1))).
    """
    K, fine, lines = setup["K"], along(b), []
    for T_2 in _onset_times(setup) if setup["L"] == 3 else ():
        growth = np.array([stage_1_group_signal(T_2, K, x) for x in fine]) / (9 * (K - 1))
        edge = np.sqrt(K * setup["s_star"] / ((K - 1) * np.sinh(np.maximum(growth, 1e-300))))
        lines.append(Line(edge, fine, f"attention frozen until onset: $T_2$ = {T_2:g}"))
    return lines


def _predicted_phase(axis: str, setup: Setup, x: np.ndarray, L: np.ndarray) -> list[Line]:
    """Where stage 1 alone (K = 2; other K only change the clock) has w_c < 0 at t = 300, over b or K and L [ours]."""
    w_c = [[_measured(SYSTEM.setup(), "w_c", "T_1", L=int(length), b=float(bias), T_1=300.0) for length in L]
           for bias in (x if axis == "b" else [setup["b"]])]  # fmt: skip
    stuck = np.broadcast_to(np.array(w_c) < 0, (len(x), len(L)))
    return [outline(x, L, stuck, r"edge of $w_c < 0$, predicted by stage 1 alone")]


def _sliding_begins(setup: Setup, top: float, omega: float) -> float:
    """The score at which a gate first closes in stage 2, and from which on it slides; NaN if none does up to `top`."""
    longer = SYSTEM.setup(**dict(setup) | {"omega": omega, "s_star": top, "t_max": 1e6})
    switches = solve(SYSTEM, longer, at=["T_2"], observe=["S_cv_same"]).statistics["switch_times"]
    return next((_measured(longer, "S_cv_same", t) for t in switches if t > longer["T_1"]), np.nan)


def _windows(setup: Setup, s_star: np.ndarray, omega: np.ndarray) -> list[Line]:
    """Lengths 1/(γ_F² ε) of stage 3 by its margin, and where gates begin to slide."""
    few, scores = np.geomspace(omega.min(), omega.max(), 7), np.linspace(s_star.min(), s_star.max(), 15)
    # at T_3: the gates that open in stage 3 count
    margins = [[_measured(setup, "max_margin", "T_3", s_star=s, omega=ω) for s in scores] for ω in few]
    of_length = lambda length, row: np.interp((setup["epsilon"] * length) ** -0.5, row, scores, np.nan, np.nan)
    lines = [Line(np.array([of_length(length, row) for row in margins]), few,
                  rf"predicted: $1/(\gamma_F^2\epsilon)$ = {length}") for length in LENGTHS]  # fmt: skip
    slides = [_sliding_begins(setup, float(s_star.max()), ω) for ω in few]
    return [*lines, Line(np.array(slides), few, "gates begin to slide")]


def _contours(quantity: str, called: str, levels: Sequence[float]) -> list[Contour]:
    """Where a time is so long, as measured."""
    return [Contour(quantity, float(level), f"measured: {called} = {level:g}") for level in levels]


def _phases(axes: tuple[str, str], end: int, title: str, boundary, kink_width: float | None, **fixed) -> NamedDiagram:
    """Where simultaneous training ends with w_c < 0 [ours], with exact kinks or with smoothed ones.

    Gates of different orbits share a surface up to about 1e-6 for L ≥ 4. A flow that does not resolve that (smoothed
    over more, or descent with a finite step) slides on both, and can get stuck where the exact limit slides on one.
    """
    return NamedDiagram(
        f"{title}{', exact kinks' if kink_width is None else ''}: $w_c$ in the end",
        axes,
        observables=(f"w_c@t={end}", f"accuracy@t={end}"),
        mode="simultaneous",
        fixed={**fixed, "omega": 0.1, "t_max": end},
        kink_width=kink_width,
        boundary=boundary,
    )


BIASES = ("b=0.05:1.2:24", "L=3,4,5,6,7"), 1600, "Two groups", partial(_predicted_phase, "b")
GROUPS = ("K=2,3,4,5,6,7,8", "L=3,4,5,6,7"), 6400, "More groups", partial(_predicted_phase, "K")
DIAGRAMS = {
    "stage_2": NamedDiagram(
        "Length of stage 2: no group signal, no attention learned",
        ("b=0.05:3:80", "T_1=1:100:80:log"),
        observables=("T_2-T_1", "w_c@T_1"),
        mode="three_stage",
        fixed={"K": 2, "L": 3, "omega": 0.1, "t_max": 2e4},
        logarithmic=True,
        boundary=_onset,
    ),
    "onset": NamedDiagram(
        "When attention sets in, everything trained at once",
        ("omega=0.003:0.3:60:log", "b=0.05:2:60"),
        observables=("T_2",),
        mode="simultaneous",
        fixed={"K": 2, "L": 3, "t_max": 2e4},
        logarithmic=True,
        boundary=_predicted_onsets,
        contours=lambda setup: _contours("T_2", "$T_2$", _onset_times(setup)),
    ),
    "stuck": _phases(*BIASES, kink_width=1e-3, K=2),
    "stuck_exact": _phases(*BIASES, kink_width=None, K=2),
    "stuck_groups": _phases(*GROUPS, kink_width=1e-3, b=0.5),
    "stuck_groups_exact": _phases(*GROUPS, kink_width=None, b=0.5),
    "stage_3": NamedDiagram(
        "Length of stage 3",
        ("s_star=0.25:5:40", "omega=0.003:0.3:30:log"),
        observables=("T_3-T_2",),
        mode="three_stage",
        fixed={"K": 2, "L": 3, "epsilon": 0.01},
        logarithmic=True,
        boundary=_windows,
        contours=lambda setup: _contours("T_3-T_2", "$T_3 - T_2$", LENGTHS),
    ),
    "width": NamedDiagram(
        r"Single scores around their class at $T_2$",
        ("width=32:8192:9:log",),
        observables=("mean(score_spread@T_2)", "std(score_spread@T_2)"),
        mode="three_stage",
        level="L2",
        fixed={"K": 2, "L": 3, "omega": 0.1},
        seeds=32,
        logarithmic=True,
        guide=-0.5,
    ),
}
