"""The paper's Figures 1–7: theory (the limit) as lines, finite-width gradient descent as dots, over descent's steps.

The paper gives lr 0.1, b = 1/2, K = 2, L = 3 (Figs. 1–4) and K = 3, 4, 8 (Figs. 5–7); width, ω, the number of steps
and Fig. 3's σ_w are not given: here m = 500, ω = 0.1, 1500 K steps and σ_w = 1/2 (Fig. 3: m = 50, 16 seeds).
Alignments, scores and attention are those of the positive head, in its own entries.
"""

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.plot import lettered
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.plot.trajectory import shown
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.margin import attention

LOSSES = {"loss_consistent": "consistent samples", "loss_conflicting": "conflicting samples"}
NEURONS = ("w_plus_c1", "w_plus_v1", "w_plus_c2", "w_plus_v2")
SCORES = ("S_plus_c1_v1", "S_plus_c1_v2", "S_plus_c1_c1", "S_plus_v1_v1", "S_plus_v1_c1")
TOKENS = ("c1", "c2", "v1", "v2")
SAMPLES = {f"$X_{{1,{a},{b}}}$": (s, t) for s, a in ((1, "+"), (-1, "-")) for t, b in ((1, "+"), (-1, "-"))}
"""X_{1,s,s'} = (c_1, s v_1, s' v_2)."""


def _both(setup: Setup, t_end: float, names: Sequence[str]) -> dict[str, Trajectory]:
    """The limit and a training run over the same time."""
    times = [float(t) for t in np.linspace(0, t_end, 301)]
    steps = round(t_end / setup["learning_rate"])
    return {
        "theory": solve(SYSTEM, setup, mode="simultaneous", at=times, observe=names),
        "training": train(SYSTEM, setup, variant="gram", mode="simultaneous", steps=steps, records=60, observe=names),
    }


def _panel(ax: Axes, runs: dict[str, Trajectory], names: Sequence[str], title: str, rate: float) -> None:
    """Lines for the theory, dots for training, over the steps of descent."""
    theory, trained = runs["theory"], runs["training"]
    for i, name in enumerate(names):
        # in the limit the second group's entries lie on the first's: dashes show both
        dash = "--" if name.split("_")[2:3] in (["c2"], ["v2"]) else "-"
        label = LOSSES.get(name) or shown(theory, name)
        ax.plot(theory.t / rate, theory[name], color=f"C{i}", linestyle=dash, label=label)
        ax.plot(trained.t / rate, trained[name], ".", color=f"C{i}", markersize=4)
    ax.plot([], [], ".", color="0.4", label="training")
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel("steps")
    ax.legend(frameon=False, fontsize="small")


def _where(setup: Setup, *more: str) -> str:
    """The set-up in the paper's symbols."""
    said = [
        f"$K$ = {setup['K']}",
        f"$L$ = {setup['L']}",
        f"$b$ = {setup['b']:g}",
        rf"$\omega$ = {setup['omega']:g}",
        *more,
    ]
    return ", ".join([*said, f"$m$ = {setup['width']}", rf"$\eta$ = {setup['learning_rate']:g}"])


def training_dynamics(setup: Setup, K: int) -> Drawing:
    """Figs. 1, 5, 6, 7: losses by kind of sample, alignments and scores of the positive head."""
    setup = SYSTEM.setup(**(dict(setup) | {"K": K, "T_1": 10.0 * K}))
    groups = {"loss": tuple(LOSSES), "neuron alignments": NEURONS, "attention scores": SCORES}
    runs = _both(setup, 150.0 * K, [name for names in groups.values() for name in names])
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    panels = figure.subplots(1, 3)
    for ax, (title, names) in zip(panels, groups.items()):
        _panel(ax, runs, names, title, setup["learning_rate"])
    lettered(panels)
    figure.suptitle(_where(setup), fontsize="medium")
    return Drawing(figure, runs)


def all_scores(setup: Setup) -> Drawing:
    """Fig. 4: all sixteen scores of the positive head for K = 2, by kind of key and query."""
    setup = SYSTEM.setup(**(dict(setup) | {"K": 2, "T_1": 20.0}))
    blocks = {(x, y): [f"S_plus_{x}{i}_{y}{j}" for i in (1, 2) for j in (1, 2)] for x in "cv" for y in "cv"}
    runs = _both(setup, 300.0, [name for names in blocks.values() for name in names])
    figure = Figure(figsize=(9.5, 7), layout="constrained")
    for ax, ((x, y), names) in zip(figure.subplots(2, 2).ravel(), blocks.items()):
        _panel(ax, runs, names, f"keys ${x}$, queries ${y}$", setup["learning_rate"])
    figure.suptitle(_where(setup), fontsize="medium")
    return Drawing(figure, runs)


def attention_maps(setup: Setup) -> Drawing:
    """Fig. 2: softmax attention of the positive head on different samples, query vertical, key horizontal."""
    setup = SYSTEM.setup(**(dict(setup) | {"K": 2, "L": 3, "T_1": 20.0}))
    end, names = 300.0, [f"S_plus_{x}_{y}" for x in TOKENS for y in TOKENS]
    runs = _both(setup, end, names)
    signs = np.array([[1, s, t] for s, t in SAMPLES.values()])
    X = SimpleNamespace(keys=np.tile([0, 2, 3], (len(signs), 1)), signs=signs)
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, len(SAMPLES))
    for row, (kind, run) in zip(axes, runs.items()):
        p = attention(X, np.array([run[name][-1] for name in names]).reshape(4, 4))
        for ax, (title, (s, t)), map_of_keys in zip(row, SAMPLES.items(), p):
            picture = ax.imshow(map_of_keys.T, vmin=0, vmax=1, cmap="viridis")
            for (query, key), value in np.ndenumerate(map_of_keys.T):
                colour = "w" if value < 0.6 else "k"
                ax.text(key, query, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
            labels = ["$c_1$", f"${'-' * (s < 0)}v_1$", f"${'-' * (t < 0)}v_2$"]
            ax.set_xticks(range(3), labels)
            ax.set_yticks(range(3), labels)
            ax.set_title(f"{title}, {kind}", fontsize="small")
        row[0].set_ylabel("query")
    for ax in axes[-1]:
        ax.set_xlabel("key")
    figure.colorbar(picture, ax=axes, label=r"$p^{(+)}_{q\leftarrow\cdot,\,k\leftarrow\cdot}$", shrink=0.8)
    figure.suptitle(f"after {end / setup['learning_rate']:.0f} steps; " + _where(setup), fontsize="medium")
    return Drawing(figure, runs)


def attention_only(setup: Setup) -> Drawing:
    """Fig. 3: only the attention is trained, neurons stay Gaussian: the loss stays large."""
    setup = SYSTEM.setup("attention_only", **(dict(setup) | {"width": 50}))
    trained = train(SYSTEM, setup, variant="gram", mode="attention_only", steps=30_000, seeds=16, records=100,
                    observe=["loss", "accuracy"])  # fmt: skip
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    steps = trained.t / setup["learning_rate"]
    for ax, name in zip(figure.subplots(1, 2), ("loss", "accuracy")):
        ax.plot(steps, trained[name], ".", color="0.75", markersize=2)
        ax.plot(steps, trained[name].mean(axis=1), ".", color="C0", markersize=5, label="mean of 16 seeds")
        ax.set_xlabel("steps")
        ax.set_ylabel(name)
        ax.legend(frameon=False)
    figure.suptitle(_where(setup, rf"$\sigma_w$ = {setup['sigma_w']:g}"), fontsize="medium")
    return Drawing(figure, {"training": trained})


_MORE = "The training of Fig. 1 with $K$ = {} groups: its course is alike."
FIGURES = {
    "1": PaperFigure(
        partial(training_dynamics, K=2),
        "All weights trained together by gradient descent: (a) the loss of samples with consistent signs falls early, "
        "that of conflicting ones late; (b) alignment of the neurons and (c) scores of the positive head.",
    ),
    "2": PaperFigure(
        attention_maps, "Softmax attention of the positive head on different samples: query vertical, key horizontal."
    ),
    "3": PaperFigure(
        attention_only, "The loss where only the attention is trained and neurons stay as they were drawn: no learning."
    ),
    "4": PaperFigure(all_scores, "All attention scores of the positive head for $K$ = 2."),
    "5": PaperFigure(partial(training_dynamics, K=3), _MORE.format(3)),
    "6": PaperFigure(partial(training_dynamics, K=4), _MORE.format(4)),
    "7": PaperFigure(partial(training_dynamics, K=8), _MORE.format(8)),
}
