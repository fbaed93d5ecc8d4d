"""Figure 1 of the paper (Appendix A): scores and losses of gradient descent on sentences with repeated words.

n = 60, L = 5, d = 64, m = 128, m1 = 256, rate 0.01, 30,000 epochs. The paper says only "Kaiming initialisation": the
parameter `reading` chooses how it is read (default E, the one that shows both phases). Descent is drawn as dots, the
gradient flow of the same start on its inner products (L2) as lines. `t_max` ends both earlier.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM

CLAIMED = ("S_12", "S_21", "S_31", "S_32")
SCORES = (*CLAIMED, "S_11", "S_22", "S_33", "S_13", "S_23")
LOSSES = ("loss", "loss_type1", "loss_type2", "loss_type3", "loss_type4")
EPOCHS, RECORDS, DOTS = 30_000, 360, 60
LABELS = {name: rf"key $\mu_{name[2]}$, query $\mu_{name[3]}$" for name in SCORES} | {
    "loss": "all samples",
    "loss_type1": r"$I_1$: $\mu_1$, $\mu_2$, $\mu_3$",
    "loss_type2": r"$I_2$: $\mu_1$, $\mu_3$",
    "loss_type3": r"$I_3$: $\mu_2$, $\mu_3$",
    "loss_type4": r"$I_4$: $\mu_3$",
}
READINGS = {
    "E": r"U($\pm$1/$\sqrt{\mathrm{fan\,in}}$), output weights too",
    "A": r"U($\pm$1/$\sqrt{\mathrm{fan\,in}}$), output weights $\pm$1",
    "B": r"N(0, 1/fan in), output weights $\pm$1",
    "C": r"N(0, 2/fan in), output weights $\pm$1",
    "gaussian": r"Gaussian of $\alpha$, $\beta$, output weights $\pm$1",
}


class Seen(NamedTuple):
    """What there is to see in a run of descent, at the epochs that were recorded."""

    all_correct: int | None
    """From which epoch on every sample is correct (None: not by the end)."""
    rises: dict[str, tuple[float, float, int]]
    """First and largest loss of types 2 and 3, and at which epoch it is largest."""
    changes: dict[str, float]
    """Changes of the scores Theorem 3.3 speaks of."""

    def __str__(self) -> str:
        rises = ", ".join(f"{name} {a:.3f} to {b:.3f} (epoch {e})" if e else f"{name} {a:.3f}, which is its largest"
                          for name, (a, b, e) in self.rises.items())  # fmt: skip
        correct = "not all correct" if self.all_correct is None else f"all correct from epoch {self.all_correct}"
        changes = ", ".join(f"{name} {x:+.3f}" for name, x in self.changes.items())
        return f"Rise before the fall: {rises}; {correct}; changes of scores: {changes}."


def seen_in(run: Trajectory, rate: float) -> Seen:
    """The phases of a run."""
    epoch = np.round(run.t / rate).astype(int)
    wrong = np.flatnonzero(run["least_margin"] <= 0)
    first = wrong[-1] + 1 if len(wrong) else 0
    rises = {}
    for name in ("loss_type2", "loss_type3"):
        top = int(run[name].argmax())
        rises[name] = (float(run[name][0]), float(run[name][top]), int(epoch[top]))
    changes = {name: float(run[name][-1] - run[name][0]) for name in CLAIMED}
    return Seen(int(epoch[first]) if first < len(epoch) else None, rises, changes)


def scores_and_losses(setup: Setup, epochs: int = EPOCHS, records: int = RECORDS) -> Drawing:
    """Fig. 1: (a) the scores between special words, (b) the loss and the losses by type, over epochs."""
    system, rate = SYSTEM, setup["learning_rate"]
    epochs = min(epochs, max(1, round(setup["t_max"] / rate)))
    names = (*SCORES, *LOSSES, "least_margin")
    steps = sorted({0} | {round(e) for e in np.geomspace(1, epochs, records)})
    trained = train(system, setup, variant="gram", mode="data", at=[rate * e for e in steps], records=1, observe=names)
    times = [0.0, *(float(t) for t in np.minimum(rate * np.geomspace(0.1, epochs, records), setup["t_max"]))]
    flow = solve(system, setup, level="L2", mode="data", at=times, observe=names, rtol=1e-6)
    flow = replace(flow, states=np.empty((len(flow), 0)), state_names=())  # ten thousand numbers a row, not drawn
    seen = seen_in(trained, rate)
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    # the linear part of the axis ends within phase 1
    linear = 100 if seen.all_correct is None or seen.all_correct > 300 else 10
    _draw(left, flow, trained, SCORES, rate, linear)
    left.set_ylabel(r"score $\mu_i^\top W_K^\top W_Q\,\mu_j$ (key $\mu_i$, query $\mu_j$)")
    left.set_title("(a) attention scores", loc="left", fontsize="medium")
    _draw(right, flow, trained, LOSSES, rate, linear)
    right.set_ylabel("training loss")
    right.set_title("(b) training loss", loc="left", fontsize="medium")
    for ax in (left, right):
        ax.set_xscale("symlog", linthresh=linear)
        ax.set_xlim(0, epochs)
        ax.set_xlabel(f"epoch (linear up to {linear})")
        if seen.all_correct:
            ax.axvspan(0, seen.all_correct, color="0.94", zorder=0)
            for name, side, gap in (("phase 1 ", "right", -2), (" phase 2", "left", 2)):
                ax.annotate(name, (seen.all_correct, 1.0), xytext=(gap, 2), textcoords="offset points",
                            fontsize="small", ha=side, va="bottom", xycoords=("data", "axes fraction"))  # fmt: skip
    figure.suptitle(
        f"reading {setup['reading']}: {READINGS[setup['reading']]}; n = {setup['n']:g}, L = {setup['L']:g}, "
        f"d = {setup['d']}, m = {setup['width']}, $m_1$ = {setup['m1']:g}. "
        "Lines: gradient flow, dots: descent; in phase 2 all are correct",
        fontsize="medium",
    )
    return Drawing(figure, {"theory": flow, "training": trained}, str(seen))


def _draw(ax, flow, trained, names, rate: float, linear: int) -> None:
    """Lines for the flow and dots for descent, over epochs."""
    epoch = trained.t / rate
    early = np.flatnonzero(epoch <= linear)
    dots = np.union1d(early[:: max(1, len(early) // 10)], np.arange(0, len(epoch), max(1, len(epoch) // DOTS)))
    for i, name in enumerate(names):
        line, dot = (1.6, 3.5) if name in (*CLAIMED, *LOSSES) else (0.8, 2.0)
        ax.plot(flow.t / rate, flow[name], color=f"C{i}", linewidth=line, label=LABELS[name])
        ax.plot(epoch[dots], trained[name][dots], ".", color=f"C{i}", markersize=dot)
    ax.legend(frameon=False, fontsize="x-small", ncols=2)


FIGURES = {
    "1": PaperFigure(
        scores_and_losses,
        "In training, (a) the scores between special words hardly move in phase 1; in phase 2 the score of the two "
        "targets rises and that of a target with the common word falls. (b) The loss, and the losses of the four types "
        "of samples: those with one target rise first, all fall in phase 2.",
        mode="data",
    ),
}
