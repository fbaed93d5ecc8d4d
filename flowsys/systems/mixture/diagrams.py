"""The mixture system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np

from flowsys.phase.named import Line, NamedDiagram
from flowsys.systems.mixture.limits import onset_of_group_signal


def _onset(b: np.ndarray, T_1: np.ndarray) -> list[Line]:
    """T_1 = T_0.5(b), exactly: below it the group signal is still 0 and stage 2 never moves."""
    fine = np.linspace(b.min(), b.max(), 400)
    onset = np.array([onset_of_group_signal(2, x) for x in fine])
    inside = (onset >= T_1.min()) & (onset <= T_1.max())
    return [Line(fine[inside], onset[inside], r"theory: $T_1 = T_{0.5}(b)$")]


DIAGRAMS = {
    "stage_2": NamedDiagram(
        title="Length of stage 2: no group signal, no attention learned",
        axes=("b=0.05:3:80", "T_1=1:100:80:log"),
        observables=("T_2-T_1", "w_c@T_1"),
        mode="three_stage",
        fixed={"omega": 0.1, "t_max": 2e4},
        logarithmic=True,
        boundary=_onset,
    ),
    "onset": NamedDiagram(
        title="When attention sets in, everything trained at once",
        axes=("omega=0.003:0.3:60:log", "b=0.05:2:60"),
        observables=("T_2",),
        mode="simultaneous",
        fixed={"t_max": 2e4},
        logarithmic=True,
    ),
    "stuck": NamedDiagram(
        title=r"Small bias is stuck ($w_c < 0$) for $L \geq 4$",
        axes=("b=0.05:1.2:24", "L=3,4,5,6,7"),
        observables=("w_c@t=1600", "accuracy@t=1600"),
        mode="simultaneous",
        fixed={"K": 2, "omega": 0.1, "t_max": 1600},
        # Gates of different orbits share a surface up to about 1e-6 here. Every flow that does not resolve that
        # (smoothed over more, or descent with a finite step) slides on both and can get stuck; the exact limit slides
        # on one of them, and does not at L = 4.
        kink_width=1e-3,
    ),
    "stage_3": NamedDiagram(
        title=r"Length of stage 3 at $\epsilon = 0.01$",
        axes=("s_star=0.25:4.4:40", "omega=0.003:0.3:30:log"),
        observables=("T_3-T_2", "max_margin@T_2"),
        mode="three_stage",
        logarithmic=True,
    ),
}
