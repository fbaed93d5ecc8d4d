"""Figures 1–5 of the paper from kept runs of a transformer: samples needed, entropy, attention, many passes.

Small sizes (`cases`) are committed; with `on_run`, which is told of every run, the paper's sizes are trained first into
PAPER_RUNS in the working directory, going on where an earlier call stopped.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.laws.fits import line, power_law
from flowsys.plot.drawing import Drawing
from flowsys.runs.stored import StoredRuns
from flowsys.system import Setup
from flowsys.systems.parity import cases
from flowsys.systems.parity.cases import Case, shape

PAPER_RUNS = StoredRuns(Path("parity-paper-runs"), "flowsys figure parity --paper-size")
OnRun = Callable[[Any], None] | None
Runs = list[tuple[Case, dict[str, Any]]]


def title(runs: Runs) -> str:
    case = runs[0][0]
    return f"n = {case.n}, {shape(case.architecture)}, hidden {case.architecture.hidden}"


def runs_of(figure: str, small: list[Case], on_run: OnRun) -> Runs:
    """The kept runs of the small size, or the paper's, trained as far as they are missing."""
    if on_run is None:
        return cases.kept(small)
    chosen = cases.paper_cases(figure)
    PAPER_RUNS.fill(chosen, cases.measured, on_run)
    return cases.kept(chosen, PAPER_RUNS)


def small_runs() -> list[Case]:
    return cases.growth_cases(True) + cases.growth_cases(False)


def with_chain(runs: Runs, chain: bool) -> Runs:
    return [(case, result) for case, result in runs if case.chain == chain]


def budget_of(runs: Runs) -> float:
    return max((case.budget for case, _ in runs), default=np.nan)


def dots(ax, found: dict[int, list[int | None]], budget: float, colour: str, label: str, shift: float = 0.0) -> None:
    """Samples needed, one dot a seed; open triangles where the budget ran out."""
    for k, many in found.items():
        solved = [s for s in many if s is not None]
        ax.plot([k + shift] * len(solved), solved, "o", color=colour, alpha=0.5, markersize=4.5)
        if len(solved) < len(many):
            ax.plot(k + shift, budget, "^", color=colour, markerfacecolor="none")
            ax.annotate(f"{len(many) - len(solved)} of {len(many)}\nover budget", (k + shift, budget), ha="left",
                        va="center", fontsize="x-small", xytext=(7, 0), textcoords="offset points")  # fmt: skip
    ax.plot([], [], "o", color=colour, label=label)


def solved_pairs(found: dict[int, list[int | None]]) -> tuple[list[int], list[int]]:
    """k and samples of the runs within their budget."""
    pairs = [(k, s) for k, many in found.items() for s in many if s is not None]
    return [k for k, _ in pairs], [s for _, s in pairs]


def samples_by_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: samples to perfect validation with and without a chain of thought, and their fitted growth."""
    runs = runs_of("1a", small_runs(), on_run)
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    ax = figure.subplots()
    chain, without = (with_chain(runs, x) for x in (True, False))
    for there, colour, label, shift in ((chain, "C0", "with chain of thought", 0), (without, "C3", "without", 0.15)):
        dots(ax, cases.complexities(there), budget_of(there), colour, label, shift)
    # a run over its budget is counted with it, a lower bound
    pairs = [(case.k, case.budget if result["samples"] is None else result["samples"]) for case, result in without]
    if len({k for k, _ in pairs}) > 1:
        ks, samples = zip(*pairs)
        fit = line(ks, np.log(samples))
        fine = np.linspace(1, max(ks), 50)
        factor, low, high = np.exp([fit.slope, *fit.interval])
        ax.plot(fine, np.exp(fit.constant + fit.slope * fine), color="C3",
                label=f"without: ×{factor:.3g} [{low:.2g}, {high:.2g}] per secret")  # fmt: skip
    ks, samples = solved_pairs({k: many for k, many in cases.complexities(chain).items() if k > 1})
    if len(set(ks)) > 1:
        fit = power_law(ks, samples)
        fine = np.linspace(min(ks), max(ks), 50)
        ax.plot(fine, fit.predicted(fine), color="C0", label=f"with, k ≥ 2: exponent {fit.slope:.2f}")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", yscale="log")
    ax.set_title(title(runs), fontsize="medium")
    ax.margins(y=0.12)
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    told = (
        "without a chain a secret multiplies the samples (runs over budget counted with it); with one they grow slowly"
    )
    return Drawing(figure, {}, told)


def entropy_and_accuracy(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: normalised attention entropy falls as accuracy rises."""
    runs = runs_of("1b", small_runs(), on_run)
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    for ax, (chain, k) in zip(figure.subplots(1, 2, sharey=True), ((True, 4), (False, 3))):
        courses(ax, [result for case, result in with_chain(runs, chain) if case.k == k])
        ax.set_title(f"{'with' if chain else 'without'} chain of thought, k = {k}", fontsize="medium")
    figure.axes[0].set_ylabel("share of sequences; entropy")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    return Drawing(figure, {}, f"{title(runs)}: entropy falls as accuracy rises; without a chain both wait long")


def courses(ax, results: list[dict]) -> None:
    """Accuracy and entropy of runs over the samples seen."""
    for number, result in enumerate(results):
        labels = ("sequences right", "attention entropy, Eq. (1)") if number == 0 else (None, None)
        for name, colour, label in zip(("accuracy", "entropy"), ("C0", "C1"), labels):
            ax.plot(result["seen"], result[name], ".-", color=colour, markersize=3.5, linewidth=0.8, alpha=0.6,
                    label=label)  # fmt: skip
    ax.set(xlabel="samples seen", ylim=(0, 1.05), xscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())


def samples_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 2: as Fig. 1a for several numbers of layers and heads."""
    small = [case for x in cases.SHAPES for chain in (True, False) for case in cases.growth_cases(chain, x)]
    runs = runs_of("2", small, on_run)
    shapes = tuple(dict.fromkeys(case.architecture for case, _ in runs))
    columns = min(4, len(shapes))
    figure = Figure(figsize=(2.7 * columns, 3.2 * -(-len(shapes) // columns)), layout="constrained")
    axes = figure.subplots(-(-len(shapes) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for ax, architecture in zip(axes.flat, shapes):
        there = [(case, result) for case, result in runs if case.architecture == architecture and case.k <= 4]
        for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0.0), (False, "C3", "without", 0.15)):
            chosen = with_chain(there, chain)
            dots(ax, cases.complexities(chosen), budget_of(chosen), colour, label, shift)
        largest = max((case.k for case, _ in with_chain(there, False)), default=0)
        ax.set_title(f"{shape(architecture)}\nwithout: k ≤ {largest}", fontsize="small")
        ax.set(yscale="log")
        ax.margins(x=0.15, y=0.12)
    for ax in axes.flat[len(shapes) :]:
        ax.set_axis_off()
    for ax in axes.flat[len(shapes) - columns : len(shapes)]:  # the lowest panel of every column
        ax.set_xlabel("secret bits k")
        ax.tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_ylabel("samples to perfect validation")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    return Drawing(figure, {}, f"n = {runs[0][0].n}; k as far as was run, in every panel's title")


def samples_with_chain(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line (k ≥ 2: k = 1 has no chain)."""
    runs = runs_of("3a", cases.growth_cases(True), on_run)
    found = cases.complexities(runs)
    figure = Figure(figsize=(5.4, 4), layout="constrained")
    ax = figure.subplots()
    dots(ax, found, budget_of(runs), "C0", "runs")
    ax.plot(list(found), [np.median([np.inf if s is None else s for s in many]) for many in found.values()], "_-",
            color="k", linewidth=0.8, markersize=14, label="median")  # fmt: skip
    ks, samples = solved_pairs({k: many for k, many in found.items() if k > 1})
    if len(set(ks)) > 1:
        fit, fine = line(ks, samples), np.array(sorted(set(ks)))
        exponent = power_law(ks, samples)
        low, high = fit.interval
        ax.plot(fine, fit.predicted(fine), color="C0",
                label=f"line, {fit.slope:.0f} [{low:.0f}, {high:.0f}] samples per secret")  # fmt: skip
        ax.plot(fine, exponent.predicted(fine), "--", color="C1", label=f"power, exponent {exponent.slope:.2f}")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", ylim=(0, None))
    ax.set_title(title(runs), fontsize="medium")
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, "fits over k ≥ 2; runs over their budget are not in them")


def attention_on_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3b: mean attention of the positions n+1 … n+k on the keys after training, S[i] marked."""
    ((case, result),) = runs_of("3b", [cases.growth_case(8, True, 0)], on_run)
    heads, k = np.array(result["attention"]), case.k
    peaks = int((heads.max(axis=0).argmax(axis=1) + 1 == np.array(result["secrets"])).sum())
    figure = Figure(figsize=(5.4 * len(heads), 3.2), layout="constrained")
    for number, (ax, rows) in enumerate(zip(figure.subplots(1, len(heads), squeeze=False)[0], heads)):
        image = ax.imshow(rows, cmap="viridis", vmin=0, vmax=1, aspect="auto")
        ax.plot(np.array(result["secrets"]) - 1, range(k), "s", color="crimson", markerfacecolor="none", label="S[i]")
        ax.set(xlabel="key position", ylabel="query", title=f"head {number + 1}")
        ax.set_xticks(range(0, rows.shape[1], 4), range(1, rows.shape[1] + 1, 4))
        ax.set_yticks(range(k), [f"n+{j + 1}" for j in range(k)])
        ax.legend(loc="lower right", fontsize="small")
    figure.colorbar(image, ax=figure.axes, label="attention")
    return Drawing(figure, {}, f"the strongest attention of {peaks} of {k} rows is on S[i]")


def epochs_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 4: accuracy over epochs on few strings, without a chain, for several numbers of layers and heads."""
    runs = runs_of("4", [cases.passes_case(cases.FEW, 0, architecture) for architecture in cases.PASSES_SHAPES], on_run)
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    ax = figure.subplots()
    for number, (case, result) in enumerate(runs):
        epochs = [seen / case.training_set for seen in result["seen"]]
        colour = f"C{number % 10}"
        ax.plot(
            epochs, result["accuracy"], ".-", color=colour, markersize=4, linewidth=0.8, label=shape(case.architecture)
        )
        if result["samples"] is not None:
            ax.plot(result["samples"] / case.training_set, 1.0, "*", color=colour, markersize=11)
    referred = [cases.passes_case(cases.FEW, seed, chain=True) for seed in range(cases.PASSES_SEEDS)]
    chain = [result["samples"] / case.training_set for case, result in cases.kept(referred) if result["samples"]]
    if chain and on_run is None:
        middle = float(np.median(chain))
        ax.axvline(middle, color="C0", linestyle="--", label=f"with a chain: {middle:.1f} epochs")
    first = runs[0][0]
    ax.set(xlabel=f"epochs over {first.training_set} strings", ylabel="validation sequences right", xscale="log")
    ax.set_title(f"n = {first.n}, k = {first.k}, without a chain; stars: perfect validation", fontsize="medium")
    figure.legend(loc="outside right center", frameon=False, fontsize="small")
    learned = sum(result["samples"] is not None for _, result in runs)
    epochs = max(case.budget / case.training_set for case, _ in runs)
    told = f"{learned} of {len(runs)} shapes, one run each, reach perfect validation within {epochs:.0f} epochs"
    return Drawing(figure, {}, told)


def few_and_many_strings(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 5: accuracy and attention entropy, few strings passed over many times against many strings."""
    seeds = range(cases.PASSES_SEEDS)
    runs = runs_of("5", [cases.passes_case(strings, seed) for strings in (cases.FEW, None) for seed in seeds], on_run)
    panels = list(dict.fromkeys(case.training_set for case, _ in runs))
    figure = Figure(figsize=(4.4 * len(panels), 3.8), layout="constrained")
    for ax, strings in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels):
        chosen = [result for case, result in runs if case.training_set == strings]
        courses(ax, chosen)
        learned = sum(result["samples"] is not None for result in chosen)
        name = "fresh strings" if strings is None else f"{strings} strings"
        ax.set_title(f"{name}: {learned} of {len(chosen)} learned", fontsize="medium")
    figure.axes[0].set_ylabel("share of sequences; entropy")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    first = runs[0][0]
    return Drawing(figure, {}, f"n = {first.n}, k = {first.k}, {shape(first.architecture)}, without a chain of thought")
