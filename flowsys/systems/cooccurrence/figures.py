"""Figure 1 of the paper (Appendix A): scores and losses of gradient descent on sentences with repeated words.

n = 60, L = 5, d = 64, m = 128, m1 = 256, rate 0.01, 30,000 epochs. The paper says only "Kaiming initialisation": the
parameter `reading` chooses how it is read (default E, the one that shows both phases). Descent is drawn as dots, the
gradient flow of the same start on its inner products (L2) as lines. `t_max` ends both earlier.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from flowsys.plot import compared, lettered, titled
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.experiment import SCORES as CLAIMED
from flowsys.systems.cooccurrence.claims.experiment import seen_in
from flowsys.systems.cooccurrence.scales import READINGS

SCORES = {name: rf"key $\mu_{name[2]}$, query $\mu_{name[3]}$"
          for name in (*CLAIMED, "S_11", "S_22", "S_33", "S_13", "S_23")}  # fmt: skip
LOSSES = {
    "loss": "all samples",
    "loss_type1": r"$I_1$: $\mu_1$, $\mu_2$, $\mu_3$",
    "loss_type2": r"$I_2$: $\mu_1$, $\mu_3$",
    "loss_type3": r"$I_3$: $\mu_2$, $\mu_3$",
    "loss_type4": r"$I_4$: $\mu_3$",
}
EPOCHS, RECORDS = 30_000, 360


def scores_and_losses(setup: Setup, epochs: int = EPOCHS, records: int = RECORDS) -> Drawing:
    """Fig. 1: (a) the scores between special words, (b) the loss and the losses by type, over epochs."""
    rate, names = setup["learning_rate"], (*SCORES, *LOSSES, "least_margin")
    epochs = min(epochs, max(1, round(setup["t_max"] / rate)))
    steps = sorted({0} | {round(e) for e in np.geomspace(1, epochs, records)})
    trained = train(SYSTEM, setup, variant="gram", mode="data", at=[rate * e for e in steps], records=1, observe=names)
    times = [0.0, *(float(t) for t in np.minimum(rate * np.geomspace(0.1, epochs, records), setup["t_max"]))]
    flow = solve(SYSTEM, setup, level="L2", mode="data", at=times, observe=names, rtol=1e-6)
    flow = replace(flow, states=np.empty((len(flow), 0)), state_names=())  # ten thousand numbers a row, not drawn
    seen = seen_in(trained, rate)
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    # the linear part of the axis ends within phase 1
    linear = 100 if seen.all_correct is None or seen.all_correct > 300 else 10
    thin: dict[str, Any] = {name: {"linewidth": 0.8, "markersize": 2} for name in SCORES if name not in CLAIMED}
    for ax, labels in zip(panels, (SCORES, LOSSES)):
        compared(ax, flow, trained, labels, **thin)
        ax.legend(frameon=False, fontsize="x-small", ncols=2)
        ax.set_xscale("symlog", linthresh=linear)
        ax.set_xlim(0, epochs)
        ax.set_xlabel(f"epoch (linear up to {linear})")
        if seen.all_correct:
            ax.axvspan(0, seen.all_correct, color="0.94", zorder=0)
            for name, side, gap in (("phase 1 ", "right", -2), (" phase 2", "left", 2)):
                ax.annotate(name, (seen.all_correct, 1.0), xytext=(gap, 2), textcoords="offset points",
                            fontsize="small", ha=side, va="bottom", xycoords=("data", "axes fraction"))  # fmt: skip
    lettered(panels, ("attention scores", "training loss"), loc="left")
    panels[0].set_ylabel(r"score $\mu_i^\top W_K^\top W_Q\,\mu_j$ (key $\mu_i$, query $\mu_j$)")
    panels[1].set_ylabel("training loss")
    told = READINGS[setup["reading"]].words if setup["reading"] in READINGS else r"Gaussian of $\alpha$, $\beta$"
    reading = f"reading {setup['reading']}: {told}; in phase 2 all are correct; "
    titled(figure, SYSTEM, setup, ("n", "L", "d", "width", "m1"), reading)
    return Drawing(figure, {"theory": flow, "training": trained}, str(seen))


FIGURES = {
    "1": PaperFigure(
        scores_and_losses,
        "In training, (a) the scores between special words hardly move in phase 1; in phase 2 the score of the two "
        "targets rises and that of a target with the common word falls. (b) The loss, and the losses of the four types "
        "of samples: those with one target rise first, all fall in phase 2.",
        mode="data",
    ),
}
