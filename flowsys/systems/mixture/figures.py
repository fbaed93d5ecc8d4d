"""The paper's Figures 1–7: theory (the limit) as lines, finite-width gradient descent as dots, over descent's steps.

The paper gives lr 0.1, b = 1/2, K = 2, L = 3 (Figs. 1–4) and K = 3, 4, 8 (Figs. 5–7); width, ω, the number of steps
and Fig. 3's σ_w are not given: here m = 500, ω = 0.1, 1500 K steps and σ_w = 1/2 (Fig. 3: m = 50, 16 seeds).
Alignments, scores and attention are those of the positive head, in its own entries.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from flowsys.plot import heat, lettered, panels_beside, titled
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.beside import beside
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.margin import attention
from flowsys.systems.mixture.model import tokens

MODE, SHOWN = "simultaneous", ("K", "L", "b", "omega", "width", "learning_rate")
Groups = Mapping[str, Sequence[str] | Mapping[str, str | None]]
COURSE: Groups = {
    "loss": {"loss_consistent": "consistent samples", "loss_conflicting": "conflicting samples"},
    "neuron alignments": ("w_plus_c1", "w_plus_v1", "w_plus_c2", "w_plus_v2"),
    "attention scores": ("S_plus_c1_v1", "S_plus_c1_v2", "S_plus_c1_c1", "S_plus_v1_v1", "S_plus_v1_c1"),
}
SCORES = {f"keys ${x}$, queries ${y}$": [f"S_plus_{x}{i}_{y}{j}" for i in (1, 2) for j in (1, 2)]
          for x in "cv" for y in "cv"}  # fmt: skip
SAMPLES = {f"$X_{{1,{a},{b}}}$": (s, t) for s, a in ((1, "+"), (-1, "-")) for t, b in ((1, "+"), (-1, "-"))}
"""X_{1,s,s'} = (c_1, s v_1, s' v_2)."""


def course(setup: Setup, K: int, groups: Groups = COURSE) -> Drawing:
    """Series of the limit and of training with K groups, over 150 K of time.

    In the limit the second group's entries lie on the first's: dashes show both.
    """
    setup, names = setup.replace(K=K), [name for group in groups.values() for name in group]
    second = {name: {"linestyle": "--"} for name in names if name.split("_")[2:3] in (["c2"], ["v2"])}
    shape, size = ((1, 3), (13, 3.9)) if groups is COURSE else ((2, 2), (9.5, 7))
    drawing = panels_beside(beside(SYSTEM, setup, MODE, 150.0 * K, names), groups, shape, size, second)
    if groups is COURSE:
        lettered(drawing.figure.axes)
    titled(drawing.figure, SYSTEM, setup, SHOWN)
    return drawing


def attention_maps(setup: Setup) -> Drawing:
    """Fig. 2: softmax attention of the positive head on different samples, query vertical, key horizontal."""
    names = [f"S_plus_{x}_{y}" for x in tokens(2) for y in tokens(2)]
    setup = setup.replace(K=2, L=3)
    runs = beside(SYSTEM, setup, MODE, 300.0, names)
    signs = np.array([[1, s, t] for s, t in SAMPLES.values()])
    X = SimpleNamespace(keys=np.tile([0, 2, 3], (len(signs), 1)), signs=signs)
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, len(SAMPLES))
    for row, (kind, run) in zip(axes, runs.items()):
        p = attention(X, np.array([run[name][-1] for name in names]).reshape(4, 4))
        for ax, (title, (s, t)), of_keys in zip(row, SAMPLES.items(), p):
            labels = ["$c_1$", f"${'-' * (s < 0)}v_1$", f"${'-' * (t < 0)}v_2$"]
            names_of = "query" * (ax in axes[:, 0]), "key" * (ax in axes[-1])
            image = heat(ax, of_keys.T, labels, labels, *names_of, label=None, limits=(0, 1))
            ax.set_title(f"{title}, {kind}", fontsize="small")
    figure.colorbar(image, ax=axes, label="attention $p^{(+)}$ of a query on a key", shrink=0.8)
    steps = runs["theory"].t[-1] / setup["learning_rate"]
    titled(figure, SYSTEM, setup, SHOWN, f"after {steps:.0f} steps; ")
    return Drawing(figure, runs)


def attention_only(setup: Setup) -> Drawing:
    """Fig. 3: only the attention is trained, neurons stay Gaussian: the mean loss stays far above that of Fig. 1."""
    setup = setup.replace(width=50)
    trained = train(SYSTEM, setup, variant="gram", mode="attention_only", steps=30_000, seeds=16, records=100,
                    observe=["loss", "accuracy"])  # fmt: skip
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    steps = trained.t / setup["learning_rate"]
    for ax, name in zip(figure.subplots(1, 2), ("loss", "accuracy")):
        n = trained[name].shape[1]
        ax.plot(steps, trained[name], ".", color="0.75", markersize=2, label=["single seeds", *["_"] * (n - 1)])
        ax.plot(steps, trained[name].mean(axis=1), ".", color="C0", markersize=5, label=f"mean of {n} seeds")
        ax.set(xlabel="steps", ylabel=name)
        ax.legend(frameon=False)
    titled(figure, SYSTEM, setup, (*SHOWN, "sigma_w"))
    return Drawing(figure, {"training": trained})


_MORE = "The training of Fig. 1 with $K$ = {} groups: its course is alike."
_ALL = (
    "All weights trained together by gradient descent: (a) the loss of samples with consistent signs falls early, that "
    "of conflicting ones late; (b) alignment of the neurons and (c) scores of the positive head."
)
_MAPS = "Softmax attention of the positive head on different samples: query vertical, key horizontal."
_FROZEN = "The loss where only the attention is trained and neurons stay as they were drawn."
FIGURES = {
    "1": PaperFigure(partial(course, K=2), _ALL),
    "2": PaperFigure(attention_maps, _MAPS),
    "3": PaperFigure(attention_only, _FROZEN, mode="attention_only"),
    "4": PaperFigure(partial(course, K=2, groups=SCORES), "All attention scores of the positive head for $K$ = 2."),
    **{n: PaperFigure(partial(course, K=K), _MORE.format(K)) for n, K in (("5", 3), ("6", 4), ("7", 8))},
}
