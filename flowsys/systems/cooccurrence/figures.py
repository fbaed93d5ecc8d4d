"""Figure 1 of the paper (Appendix A): scores and losses of gradient descent on sentences with repeated words.

n = 60, L = 5, d = 64, m = 128, m1 = 256, rate 0.01, 30,000 epochs. The paper says only "Kaiming initialisation": the
parameter `reading` chooses how it is read (default E, the one that shows both phases). Descent is drawn as dots, the
gradient flow of the same start on its inner products (L2) as lines.
"""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from flowsys.drawing import Drawing
from flowsys.solve import solve
from flowsys.system import Setup
from flowsys.train import train

SCORES = tuple(f"S_{key}{query}" for key in "123" for query in "123")
LOSSES = ("loss", "loss_type1", "loss_type2", "loss_type3", "loss_type4")
EPOCHS, RECORDS = 30_000, 60
NEURONS = 256


def _system():
    from flowsys.systems.cooccurrence import SYSTEM

    return SYSTEM


def scores_and_losses(setup: Setup, epochs: int = EPOCHS, records: int = RECORDS) -> Drawing:
    """Fig. 1: (a) change of the scores between special words, (b) the loss and the losses by type, over epochs."""
    system, rate = _system(), setup["learning_rate"]
    if setup["m1"] == system.setup()["m1"]:  # the default belongs to the limit; the experiment has 256 neurons
        setup = system.setup(**(dict(setup) | {"m1": NEURONS}))
    names = (*SCORES, *LOSSES, "least_margin")
    early = {round(e) for e in np.geomspace(1, epochs, records)}
    times = [rate * e for e in sorted({0} | early)]
    trained = train(system, setup, variant="gram", mode="data", at=times, records=1, observe=names)
    fine = [0.0, *(float(t) for t in rate * np.geomspace(1, epochs, 4 * records))]
    flow = solve(system, setup, level="L2", mode="data", at=fine, observe=names, rtol=1e-6)
    flow = replace(flow, states=np.empty((len(flow), 0)), state_names=())  # ten thousand numbers a row, not drawn
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, flow, trained, SCORES, rate, relative=True)
    left.set_ylabel(r"change of $\mu_i^\top W_K^\top W_Q\,\mu_j$")
    _draw(right, flow, trained, LOSSES, rate)
    right.set_ylabel("training loss")
    wrong = np.flatnonzero(trained["least_margin"] <= 0)
    correct = trained.t[wrong[-1] + 1] / rate if len(wrong) and wrong[-1] + 1 < len(trained) else 0.0
    for ax in (left, right):
        ax.axvline(correct, color="0.6", linewidth=0.8, linestyle=":")
        ax.set_xscale("symlog", linthresh=100)
        ax.set_xlim(0, epochs)
        ax.set_xlabel("epoch (linear up to 100)")
    left.annotate("all correct", (correct, 1.0), xycoords=("data", "axes fraction"), fontsize="x-small", ha="center",
                  va="bottom")  # fmt: skip
    figure.suptitle(
        f"reading {setup['reading']}, n = {setup['n']:g}, L = {setup['L']:g}, d = {setup['d']}, m = {setup['width']}, "
        f"m1 = {setup['m1']:g}: lines gradient flow, dots descent",
        fontsize="medium",
    )
    return Drawing(figure, {"theory": flow, "training": trained},
                   "Types 2 and 3 rise before all losses fall; then S_12, S_21 rise and S_31, S_32 fall.")  # fmt: skip


def _draw(ax, flow, trained, names, rate: float, relative: bool = False) -> None:
    """Lines for the flow and dots for descent, over epochs; with `relative`, as changes since the start."""
    start = lambda run, name: run[name][0] if relative else 0.0
    for i, name in enumerate(names):
        ax.plot(flow.t / rate, flow[name] - start(flow, name), color=f"C{i}", linewidth=1.4, label=name)
        ax.plot(trained.t / rate, trained[name] - start(trained, name), ".", color=f"C{i}", markersize=3.5)
    ax.legend(frameon=False, fontsize="x-small", ncols=2)


FIGURES = {"1": scores_and_losses}
