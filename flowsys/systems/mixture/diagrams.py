"""The mixture system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np

from flowsys.runs.solving import solve
from flowsys.sweeps.named import Contour, Line, NamedDiagram
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_group_signal


def _onset(setup: Setup, b: np.ndarray, T_1: np.ndarray) -> list[Line]:
    """T_1 = T_0.5(b), exactly: below it the group signal is still 0 and stage 2 never moves."""
    fine = np.linspace(b.min(), b.max(), 400)
    onset = np.array([onset_of_group_signal(setup["K"], x) for x in fine])
    inside = (onset >= T_1.min()) & (onset <= T_1.max())
    return [Line(fine[inside], onset[inside], r"theory: $T_1 = T_{0.5}(b)$")]


def _frozen_attention(setup: Setup, T_2: float, b: np.ndarray) -> np.ndarray:
    """The ω at which attention would set in at T_2, were it frozen at 1/3 until then (L = 3) [ours].

    As in the sinh surrogate, but w_c grows as in stage 1 and only half of the samples are conflicting:
    S_cv_same = (K-1)/K ω² sinh(∫ w_c dt / (9(K-1))).
    """
    K = setup["K"]
    growth = np.array([stage_1_group_signal(T_2, K, x) for x in b]) / (9 * (K - 1))
    return np.sqrt(K * setup["s_star"] / ((K - 1) * np.sinh(np.maximum(growth, 1e-300))))


def _onset_times(setup: Setup) -> list[float]:
    """Three times of onset to draw lines for; more groups wait longer."""
    return [T_2 * (setup["K"] - 1.0) for T_2 in (100, 160, 300)]


def _predicted_onsets(setup: Setup, omega: np.ndarray, b: np.ndarray) -> list[Line]:
    """Where the attention is predicted to set in at given times."""
    if setup["L"] != 3:
        return []
    fine, lines = np.linspace(b.min(), b.max(), 400), []
    for T_2 in _onset_times(setup):
        edge = _frozen_attention(setup, T_2, fine)
        inside = (edge >= omega.min()) & (edge <= omega.max())
        lines.append(Line(edge[inside], fine[inside], f"attention frozen until onset: $T_2$ = {T_2:g}"))
    return lines


def _measured_onsets(setup: Setup) -> list[Contour]:
    """The same times as they are."""
    return [Contour("T_2", T_2, f"measured: $T_2$ = {T_2:g}") for T_2 in _onset_times(setup)]


def _group_signal_of_stage_1(L: int, b: float) -> float:
    """w_c at t = 300 of stage 1 alone (K = 2; other K only change the clock): its sign predicts the phase."""
    return float(solve(SYSTEM, SYSTEM.setup(L=int(L), b=float(b), T_1=300.0), at=["T_1"], observe=["w_c"])["w_c"][0])


def _predicted_phase(setup: Setup, b: np.ndarray, L: np.ndarray) -> list[Line]:
    """For every L the least b from which on stage 1 alone ends with w_c > 0."""
    xs, ys = [], []
    for length in L:
        stuck = np.array([_group_signal_of_stage_1(length, bias) < 0 for bias in b])
        last = np.flatnonzero(stuck)
        edge = b[0] - (b[1] - b[0]) / 2 if not len(last) else b[last[-1]] + (b[1] - b[0]) / 2
        xs += [edge, edge]
        ys += [length - 0.5, length + 0.5]
    return [Line(np.array(xs), np.array(ys), r"predicted by stage 1 alone: left of it $w_c < 0$")]


def _predicted_lengths(setup: Setup, K: np.ndarray, L: np.ndarray) -> list[Line]:
    """The lengths at which stage 1 alone, the same for every K, ends with w_c < 0."""
    stuck = [_group_signal_of_stage_1(length, setup["b"]) < 0 for length in L]
    edges = [(L[i] + L[i + 1]) / 2 for i in range(len(L) - 1) if stuck[i] != stuck[i + 1]]
    ends = [K.min() - 0.5, K.max() + 0.5, np.nan]
    label = r"predicted by stage 1 alone: $w_c < 0$ between the lines"
    return [Line(np.tile(ends, len(edges)), np.repeat(edges, 3), label)]


def _sliding_begins(setup: Setup, top: float, omega: float) -> float:
    """The score at which a gate first closes in stage 2, and from which on it slides; NaN if none does up to `top`."""
    longer = SYSTEM.setup(**dict(setup) | {"omega": omega, "s_star": top, "t_max": 1e6})
    switches = solve(SYSTEM, longer, at=["T_2"], observe=["S_cv_same"]).statistics["switch_times"]
    first = next((t for t in switches if t > longer["T_1"]), None)
    return np.nan if first is None else float(solve(SYSTEM, longer, at=[first])["S_cv_same"][0])


def _margin(setup: Setup, s_star: float, omega: float) -> float:
    """γ_F at T_3: the gates that open in stage 3 count."""
    there = SYSTEM.setup(**dict(setup) | {"omega": omega, "s_star": s_star})
    return float(solve(SYSTEM, there, at=["T_3"], observe=["max_margin"])["max_margin"][0])


def _windows(setup: Setup, s_star: np.ndarray, omega: np.ndarray) -> list[Line]:
    """Lengths 1/(γ_F² ε) of stage 3 by its margin; where gates begin to slide; the end of Lemma E.2's window."""
    few, scores = np.geomspace(omega.min(), omega.max(), 7), np.linspace(s_star.min(), s_star.max(), 15)
    margins = np.array([[_margin(setup, float(s), float(ω)) for s in scores] for ω in few])
    lines = [
        Line(np.array([np.interp((setup["epsilon"] * length) ** -0.5, row, scores, np.nan, np.nan) for row in margins]),
             few, rf"predicted: $1/(\gamma_F^2\epsilon)$ = {length}")
        for length in LENGTHS
    ]  # fmt: skip
    lines.append(Line(np.array([_sliding_begins(setup, float(s_star.max()), ω) for ω in few]), few,
                      "gates begin to slide"))  # fmt: skip
    if all(setup[name] == SYSTEM.setup()[name] for name in ("K", "L", "b", "T_1")):
        # measured there: S_cv up to which the three ratios of the lemma stay above their value at T_1
        lines.append(Line(np.full(2, 1.65), omega[[0, -1]], r"$\beta$ window of Lemma E.2 ends"))
    return lines


def _measured_lengths(setup: Setup) -> list[Contour]:
    """The same lengths as they are."""
    return [Contour("T_3-T_2", float(length), f"measured: $T_3 - T_2$ = {length}") for length in LENGTHS]


def _root_of_width(setup: Setup, width: np.ndarray) -> list[Line]:
    """m^-1/2, through what is measured at the largest width."""
    there = [SYSTEM.setup(**dict(setup) | {"width": int(width[-1]), "seed": seed}) for seed in range(SEEDS)]
    spreads = [solve(SYSTEM, s, level="L2", at=["T_2"], observe=["score_spread"])["score_spread"] for s in there]
    return [Line(width, np.mean(spreads) * (width / width[-1]) ** -0.5, r"guide: $m^{-1/2}$")]


def _phases(axes: tuple[str, str], end: int, title: str, boundary, kink_width: float | None, **fixed) -> NamedDiagram:
    """Where simultaneous training ends with w_c < 0 [ours], with exact kinks or with smoothed ones.

    Gates of different orbits share a surface up to about 1e-6 for L ≥ 4. A flow that does not resolve that (smoothed
    over more, or descent with a finite step) slides on both, and can get stuck where the exact limit slides on one.
    """
    return NamedDiagram(
        title=f"{title}{', exact kinks' if kink_width is None else ''}: $w_c$ in the end",
        axes=axes,
        observables=(f"w_c@t={end}", f"accuracy@t={end}"),
        mode="simultaneous",
        fixed={**fixed, "omega": 0.1, "t_max": end},
        kink_width=kink_width,
        boundary=boundary,
    )


BIASES = ("b=0.05:1.2:24", "L=3,4,5,6,7")
GROUPS = ("K=2,3,4,5,6,7,8", "L=3,4,5,6,7")
LENGTHS = (1000, 300, 150)
SEEDS = 32
DIAGRAMS = {
    "stage_2": NamedDiagram(
        title="Length of stage 2: no group signal, no attention learned",
        axes=("b=0.05:3:80", "T_1=1:100:80:log"),
        observables=("T_2-T_1", "w_c@T_1"),
        mode="three_stage",
        fixed={"K": 2, "L": 3, "omega": 0.1, "t_max": 2e4},
        logarithmic=True,
        boundary=_onset,
    ),
    "onset": NamedDiagram(
        title="When attention sets in, everything trained at once",
        axes=("omega=0.003:0.3:60:log", "b=0.05:2:60"),
        observables=("T_2",),
        mode="simultaneous",
        fixed={"K": 2, "L": 3, "t_max": 2e4},
        logarithmic=True,
        boundary=_predicted_onsets,
        contours=_measured_onsets,
    ),
    "stuck": _phases(BIASES, 1600, "Two groups", _predicted_phase, 1e-3, K=2),
    "stuck_exact": _phases(BIASES, 1600, "Two groups", _predicted_phase, None, K=2),
    "stuck_groups": _phases(GROUPS, 6400, "More groups", _predicted_lengths, 1e-3, b=0.5),
    "stuck_groups_exact": _phases(GROUPS, 6400, "More groups", _predicted_lengths, None, b=0.5),
    "stage_3": NamedDiagram(
        title="Length of stage 3",
        axes=("s_star=0.25:5:40", "omega=0.003:0.3:30:log"),
        observables=("T_3-T_2",),
        mode="three_stage",
        fixed={"K": 2, "L": 3, "epsilon": 0.01},
        logarithmic=True,
        boundary=_windows,
        contours=_measured_lengths,
    ),
    "width": NamedDiagram(
        title=r"Single scores around their class at $T_2$",
        axes=("width=32:8192:9:log",),
        observables=("mean(score_spread@T_2)",),
        mode="three_stage",
        level="L2",
        fixed={"K": 2, "L": 3, "omega": 0.1},
        seeds=SEEDS,
        logarithmic=True,
        boundary=_root_of_width,
    ),
}
