"""The paper's Figures 1–7: theory (the limit) as lines, finite-width gradient descent as dots.

The paper gives lr 0.1, b = 1/2, K = 2, L = 3 (Figs. 1–4) and K = 3, 4, 8 (Figs. 5–7); width, ω and the number of steps
are not given: here m = 500, ω = 0.1 and 1500 K steps. Time is learning rate × steps.
"""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from flowsys.plot import trajectory as draw
from flowsys.plot.drawing import Drawing
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup

LOSSES = ("loss_consistent", "loss_conflicting")
NEURONS = ("w_c", "w_v")
SCORES = ("S_cv_same", "S_cv_diff", "S_cc_same", "S_vv_same", "S_vc_same", "S_cc_diff", "S_vv_diff", "S_vc_diff")


def _system():
    from flowsys.systems.mixture import SYSTEM

    return SYSTEM


def _both(setup: Setup, t_end: float) -> tuple[Trajectory, Trajectory]:
    """The limit and a training run over the same time."""
    times = np.linspace(0, t_end, 301)
    theory = solve(_system(), setup, mode="simultaneous", at=[float(t) for t in times])
    steps = round(t_end / setup["learning_rate"])
    trained = train(_system(), setup, variant="gram", mode="simultaneous", steps=steps, records=60)
    return theory, trained


def _panels(setup: Setup, t_end: float, groups: dict[str, tuple[str, ...]]) -> Drawing:
    theory, trained = _both(setup, t_end)
    figure = Figure(figsize=(4.2 * len(groups), 3.6), layout="constrained")
    for ax, (title, names) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items()):
        draw(theory, ax, names)
        draw(trained, ax, names)
        ax.set_title(title, fontsize="medium")
    figure.suptitle(
        f"K = {setup['K']}, L = {setup['L']}, ω = {setup['omega']:g}, m = {setup['width']}", fontsize="medium"
    )
    return Drawing(figure, {"theory": theory, "training": trained})


def training_dynamics(setup: Setup, K: int) -> Drawing:
    """Figs. 1, 5, 6, 7: losses by kind of sample, neuron alignments, the leading scores."""
    setup = _system().setup(**(dict(setup) | {"K": K, "T_1": 10.0 * K}))
    groups = {"losses": LOSSES, "neuron alignments": NEURONS, "scores": SCORES[:4]}
    return _panels(setup, 150.0 * K, groups)


def all_scores(setup: Setup) -> Drawing:
    """Fig. 4: every score, same group and different groups."""
    return _panels(setup, 300.0, {"same group": SCORES[:1] + SCORES[2:5], "different groups": SCORES[1:2] + SCORES[5:]})


def attention_maps(setup: Setup) -> Drawing:
    """Fig. 2: attention of both heads on a conflicting sample (c_1, v_1, -v_2) before, during and after."""
    times = [0.0, 100.0, 120.0, 300.0]
    names = [f"p_{side}_{q}_{k}" for side in ("plus", "minus") for q in "cvd" for k in "cvd"]
    theory = solve(_system(), setup, mode="simultaneous", at=times, observe=names)
    figure = Figure(figsize=(10, 5), layout="constrained")
    labels = ["$c_1$", "$v_1$", "$-v_2$"]
    for row, side in enumerate(("plus", "minus")):
        for column, t in enumerate(times):
            ax = figure.add_subplot(2, len(times), row * len(times) + column + 1)
            p = np.array([[theory[f"p_{side}_{q}_{k}"][column] for q in "cvd"] for k in "cvd"])
            ax.imshow(p, vmin=0, vmax=1, cmap="viridis")
            for i, j in np.ndindex(3, 3):
                ax.text(
                    j, i, f"{p[i, j]:.2f}", ha="center", va="center", color="w" if p[i, j] < 0.6 else "k", fontsize=8
                )
            ax.set_xticks(range(3), labels)
            ax.set_yticks(range(3), labels)
            ax.set_title(f"head {'+' if side == 'plus' else '−'}, t = {t:g}", fontsize="small")
            ax.set_xlabel("query", fontsize="small")
            ax.set_ylabel("key", fontsize="small")
    return Drawing(figure, {"theory": theory})


def attention_only(setup: Setup) -> Drawing:
    """Fig. 3: with frozen Gaussian neurons the loss plateaus."""
    setup = _system().setup(**(dict(setup) | {"width": 50}))
    trained = train(_system(), setup, variant="gram", mode="attention_only", steps=30_000, seeds=16, records=100,
                    observe=["loss", "accuracy"])  # fmt: skip
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for ax, name in ((left, "loss"), (right, "accuracy")):
        ax.plot(trained.t, trained[name], color="0.75", linewidth=0.8)
        ax.plot(trained.t, trained[name].mean(axis=1), color="C0", linewidth=2, label="mean of 16 seeds")
        ax.set_xlabel("t")
        ax.set_ylabel(name)
        ax.legend(frameon=False)
    return Drawing(figure, {"training": trained})


FIGURES = {
    "1": partial(training_dynamics, K=2),
    "2": attention_maps,
    "3": attention_only,
    "4": all_scores,
    "5": partial(training_dynamics, K=3),
    "6": partial(training_dynamics, K=4),
    "7": partial(training_dynamics, K=8),
}
