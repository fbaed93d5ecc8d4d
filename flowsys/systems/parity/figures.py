"""The paper's figures in small sizes, and those of its gradient flow: theory as lines, training as dots.

Figures 1a, 1b, 3a and 3b are drawn from stored runs of a small transformer at n = 20 (`growth`), B* from stored
batches (`batches`); Figures 2, 4 and 5 need runs of hours (four layers and heads, 10^7 samples) and are left out.
`phases` shows what the theory says of the simplified block: signal, attention, margin.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.drawing import Drawing
from flowsys.solve import solve
from flowsys.system import Setup
from flowsys.systems.parity import batches, growth
from flowsys.train import train


def _system():
    from flowsys.systems.parity import SYSTEM

    return SYSTEM


def _scatter(ax, chain: bool, colour: str, label: str) -> None:
    """Samples needed, one dot a seed; open triangles where the budget ran out."""
    budget = growth.Case(1, chain, 0).budget
    for k, many in growth.complexities(growth.stored(), chain).items():
        k = k if chain else k + 0.15
        found = [s for s in many if s is not None]
        ax.plot([k] * len(found), found, "o", color=colour, alpha=0.6)
        if len(found) < len(many):
            ax.plot(k, budget, "^", color=colour, markerfacecolor="none")
            ax.annotate(f"{len(many) - len(found)} of {len(many)} over budget", (k, budget), fontsize="x-small",
                        xytext=(0, 5 if chain else -12), textcoords="offset points", ha="center")  # fmt: skip
    ax.plot([], [], "o", color=colour, label=label)


def samples_by_secrets(setup: Setup) -> Drawing:
    """Fig. 1a: samples to perfect validation with and without a chain of thought."""
    figure = Figure(figsize=(5.2, 4), layout="constrained")
    ax = figure.subplots()
    _scatter(ax, True, "C0", "with chain of thought")
    _scatter(ax, False, "C3", "without")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", yscale="log")
    ax.set_title(f"n = {growth.N}, 1 layer, 2 heads, hidden {growth.SMALL.hidden}", fontsize="medium")
    ax.margins(y=0.12)
    ax.legend(frameon=False)
    return Drawing(figure, {}, "without a chain every k >= 2 runs out of its budget")


def entropy_and_accuracy(setup: Setup) -> Drawing:
    """Fig. 1b: normalised attention entropy falls as accuracy rises."""
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    results = growth.stored()
    for ax, (chain, k) in zip(figure.subplots(1, 2, sharey=True), ((True, 4), (False, 2))):
        for key, result in results.items():
            if f"k={k} chain={int(chain)}" in key:
                ax.plot(result["seen"], result["accuracy"], ".", color="C0", markersize=3)
                ax.plot(result["seen"], result["entropy"], ".", color="C1", markersize=3)
        ax.plot([], [], ".", color="C0", label="sequences right")
        ax.plot([], [], ".", color="C1", label="attention entropy, Eq. (1)")
        ax.set(
            xlabel="samples seen", title=f"{'with' if chain else 'without'} chain of thought, k = {k}", ylim=(0, 1.05)
        )
        ax.legend(frameon=False, fontsize="small", loc="center right")
    return Drawing(figure, {}, "entropy falls with the chain as accuracy rises, and stays near 1 without")


def samples_with_chain(setup: Setup) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line."""
    from flowsys.fits import line

    figure = Figure(figsize=(5.2, 4), layout="constrained")
    ax = figure.subplots()
    _scatter(ax, True, "C0", "runs")
    found = growth.complexities(growth.stored(), True)
    pairs = [(k, s) for k, many in found.items() for s in many if s is not None]
    if len({k for k, _ in pairs}) > 1:
        fit = line(*zip(*pairs))
        ks = np.array(sorted(found))
        ax.plot(ks, fit.constant + fit.slope * ks, color="C0", label=f"line, {fit} per secret")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", ylim=(0, None))
    ax.legend(frameon=False)
    return Drawing(figure, {}, "no clear growth in k at this size and with few seeds; k = 2 stalls on position n+2")


def attention_on_secrets(setup: Setup) -> Drawing:
    """Fig. 3b: mean attention of the positions n+1 … n+k on the keys after training, S[i] marked."""
    results = growth.stored()
    k = max(k for k in growth.WITH_CHAIN if growth.Case(k, True, 0).key in results)
    result = results[growth.Case(k, True, 0).key]
    heads = np.array(result["attention"])
    figure = Figure(figsize=(5.4 * len(heads), 3.2), layout="constrained")
    for number, (ax, rows) in enumerate(zip(figure.subplots(1, len(heads), squeeze=False)[0], heads)):
        image = ax.imshow(rows, cmap="viridis", vmin=0, vmax=1, aspect="auto")
        ax.plot(np.array(result["secrets"]) - 1, range(k), "s", color="crimson", markerfacecolor="none", label="S[i]")
        ax.set(xlabel="key position", ylabel="query", title=f"head {number + 1}")
        ax.set_xticks(range(0, rows.shape[1], 4), range(1, rows.shape[1] + 1, 4))
        ax.set_yticks(range(k), [f"n+{j + 1}" for j in range(k)])
        ax.legend(loc="lower right", fontsize="small")
    figure.colorbar(image, ax=figure.axes, label="attention")
    return Drawing(figure, {}, "attention rows peak on S[i]")


def phases_of_the_flow(setup: Setup) -> Drawing:
    """Signal, attention and margin at i = n+3: the limit as lines, descent of the finite model as dots."""
    small = _system().setup(n=12, k=3, m=400.0, epsilon=20.0, width=400, learning_rate=50.0)
    end = 30.0 * 12 * 20
    names = ("g", "s_target", "margin")
    theory = solve(_system(), small, at=[float(t) for t in np.linspace(0, end, 200)], observe=names)
    steps = round(end / small["learning_rate"])
    trained = train(_system(), small, variant="coordinates", steps=steps, records=40, observe=names)
    figure = Figure(figsize=(5.6, 4), layout="constrained")
    ax = figure.subplots()
    scale = small["n"] * small["m"] ** 0.5
    for i, (name, label) in enumerate((("g", "signal g"), ("s_target", "attention on S[i]"), ("margin", "margin"))):
        ax.plot(theory.t / scale, theory[name], color=f"C{i}", label=label)
        ax.plot(trained.t / scale, trained[name], ".", color=f"C{i}")
    ax.plot([], [], ".", color="0.4", label="training, m = 400")
    ax.set(xlabel=r"$t/(n\sqrt{m})$", title="i = n+3, n = 12")
    ax.legend(frameon=False)
    return Drawing(figure, {"theory": theory, "training": trained}, "neurons first, then attention, then the margin")


def batch_success(setup: Setup) -> Drawing:
    """Sequences right after three steps of stochastic gradient descent, over B and n, for two laws of the width."""
    results = batches.stored()
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for ax, law in zip(figure.subplots(1, 2, sharey=True), batches.LAWS):
        for number, n in enumerate(sorted({int(key.split("n=")[-1].split()[0]) for key in results})):
            found = batches.shares(results, law, n)
            if found:
                ax.plot(list(found), list(found.values()), "o", color=f"C{number}", label=f"n = {n}")
                ax.axvline(batches.predicted(law, n), color=f"C{number}", linewidth=1)
        ax.axhline(batches.SHARE, color="0.7", linestyle=":")
        ax.set(xscale="log", xlabel="batch B", title=f"{law}; lines: theory's B*")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.legend(frameon=False, fontsize="small")
    figure.axes[0].set_ylabel("sequences right after three steps")
    return Drawing(figure, {}, "success sets in below the theory's line and approaches it as n grows")


FIGURES = {
    "1a": samples_by_secrets,
    "1b": entropy_and_accuracy,
    "3a": samples_with_chain,
    "3b": attention_on_secrets,
    "phases": phases_of_the_flow,
    "batches": batch_success,
}
