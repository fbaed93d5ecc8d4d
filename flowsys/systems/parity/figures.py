"""The paper's figures in small sizes, and those of its gradient flow: theory as lines, training as dots.

Figures 1 to 5 and 8 to 11 are drawn from kept runs of a small transformer (`experiment_figures`), `batches`
from stored batches. `phases` shows what the theory says of the simplified block: signal, attention, margin.
"""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.laws.fits import power_law
from flowsys.plot import grid, line
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.beside import beside
from flowsys.runs.solving import solve
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM, batches
from flowsys.systems.parity import experiment_figures as ran

PHASES = {"g": "signal $g$ over its value at lock", "s_target": "attention on $S[i]$", "margin": "margin"}


def phases_of_the_flow(setup: Setup) -> Drawing:
    """Signal, attention and margin at i = n+3: the limit as lines, descent of the finite model as dots."""
    small = SYSTEM.setup(n=12, k=3, m=400.0, epsilon=20.0, width=400, learning_rate=50.0)
    end, unit = 75.0 * 12 * 20, 12 * 400.0**0.5  # past margin 1; n√m
    runs = beside(SYSTEM, small, "position", end, PHASES, "weights")
    locked = solve(SYSTEM, small, at=["lock"], observe=("g",))["g"][0]
    figure, (ax,) = grid(1, 1, (5.6, 4))
    for i, (name, label) in enumerate(PHASES.items()):
        scale = locked if name == "g" else 1.0
        line(ax, runs["theory"].t / unit, runs["theory"][name] / scale, label, f"C{i}")
        ax.plot(runs["training"].t / unit, runs["training"][name] / scale, ".", color=f"C{i}")
    ax.plot([], [], ".", color="0.4", label="training, $m$ = 400")
    ax.set(xlabel=r"$t/(n\sqrt{m})$", title="$i = n + 3$, $n$ = 12", ylim=(0, 1.6))
    ax.legend(frameon=False)
    return Drawing(figure, runs, "neurons first, then attention, then the margin")


def batch_success(setup: Setup) -> Drawing:
    """Three steps of stochastic gradient descent over B/n, n, m: sequences right, the batch B* they need; over d."""
    figure = Figure(figsize=(14.5, 4.6), layout="constrained")
    shares, needed, finite = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    for number, n in enumerate(batches.SIZES):
        found: dict[int, Any] = batches.shares(batches.PROPORTIONAL, n)
        if found:
            per_bit = [batch / n for batch in found]
            shares.plot(per_bit, list(found.values()), "o", markersize=4, color=f"C{number}", label=f"$n$ = {n}")
            shares.axvline(batches.predicted(batches.PROPORTIONAL, n) / n, color=f"C{number}", linewidth=1)
    shares.axhline(batches.SHARE, color="0.7", linestyle=":")
    shares.set(xscale="log", xlabel="batch over bits, $B/n$", ylabel="sequences right", title="$m = 200 n$")
    shares.xaxis.set_minor_formatter(NullFormatter())
    shares.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=5, frameon=False, fontsize="small",
                  title="line: theory's $B^*$", title_fontsize="small")  # fmt: skip
    fine = np.geomspace(batches.SIZES[0], batches.SIZES[-1], 60)
    for number, law in enumerate(batches.LAWS):
        found = batches.needed(law)
        if len(found) > 2:
            exponent = power_law(list(found), list(found.values())).slope
            label = f"${law}$: exponent {exponent:.2f}"
            needed.plot(list(found), list(found.values()), "o", color=f"C{number}", label=label)
            needed.plot(fine, batches.predicted(law, fine), color=f"C{number}", linewidth=1)
    needed.set(xscale="log", yscale="log", xlabel="$n$", ylabel=r"$B^*$", title=r"lines: $B^* \propto n^2 \log n/m$")
    needed.set_xticks(batches.SIZES, batches.SIZES)
    needed.xaxis.set_minor_formatter(NullFormatter())
    needed.legend(frameon=False, fontsize="small")
    n, k, dimensions = 8, 2, (8, 16, 32, 64, 128, 256, 512)
    share, attention = np.array([batches.in_dimension(d, n, k) for d in dimensions]).T
    times = [d / (k * np.log(n)) for d in dimensions]
    finite.plot(times, share, "o-", label="sequences right")
    finite.plot(times, attention, "s-", label="attention on $S[i]$, median")
    finite.set(
        xscale="log", xlabel=r"$d/(k\,\log n)$", ylabel="mean of 5 seeds", title=f"$n$ = {n}, $k$ = {k}, $B$ = 4096"
    )
    finite.legend(frameon=False, fontsize="small")
    return Drawing(figure, {}, "B* follows the theory's line from n = 32 on; wide networks at small n need more")


FIGURES = {
    "1a": PaperFigure(
        ran.samples_by_secrets,
        "Samples needed to learn parity over the number $k$ of secret bits: without a chain of thought they grow "
        "exponentially, with one far less.",
    ),
    "1b": PaperFigure(
        partial(
            ran.along_training,
            "1b",
            lambda run: f"{ran.with_or_without(run)}, $k$ = {run.k}",
            ran.right_and_entropy,
            "share; entropy",
        ),
        "Along training, with and without a chain: as the normalised entropy of attention drops, accuracy jumps.",
    ),
    "2": PaperFigure(
        ran.samples_by_shape,
        "Samples needed over $k$, with a chain and without, for several layers and heads.",
    ),
    "3a": PaperFigure(ran.samples_with_chain, "Samples needed with a chain at fixed $n$: approximately linear in $k$."),
    "3b": PaperFigure(
        partial(ran.attention_on_secrets, "3b"),
        "Attention learnt with a chain: the $i$th output attends to the $i$th secret bit.",
    ),
    "4": PaperFigure(
        ran.epochs_by_shape,
        "Accuracy without a chain on few strings passed over many times, for several layers and heads: almost all "
        "learn, more heads sooner than more layers; with a chain (the upright line) it takes a few epochs.",
    ),
    "5": PaperFigure(
        partial(ran.along_training, "5", ran.strings, ran.right_and_entropy, "share; entropy"),
        "Without a chain, few strings passed over many times are learnt and entropy falls; many strings are not learnt "
        "and entropy stays high.",
    ),
    "8": PaperFigure(
        partial(ran.attention_on_secrets, "8"),
        "Attention of two layers and heads learnt with a chain.",
    ),
    "9": PaperFigure(
        partial(ran.along_training, "9", ran.with_or_without, ran.right, "sequences right"),
        "Twelve secrets: without a chain no training set is learnt, with one few or fresh strings are.",
    ),
    "10": PaperFigure(
        partial(ran.along_training, "10", ran.shape, ran.right, "sequences right"),
        "Accuracy without a chain for training sets of 5,000 to a million strings and several shapes, the number of "
        "iterations fixed.",
    ),
    "11": PaperFigure(
        partial(ran.along_training, "10", ran.shape, ran.entropy_of_heads, "attention entropy, Eq. (1)"),
        "Normalised attention entropy along the same runs, a line a head.",
    ),
    "phases": PaperFigure(
        phases_of_the_flow,
        "No figure of the paper: signal, attention and margin at one position, the limit as lines, training as dots.",
    ),
    "batches": PaperFigure(
        batch_success,
        "No figure of the paper: the batch that three steps of stochastic gradient descent need, over $n$ and $m$.",
    ),
}
