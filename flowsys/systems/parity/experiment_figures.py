"""Figures 1–3 of the paper from stored runs of a transformer: samples needed, attention entropy, attention on secrets.

Small sizes (`growth`) are committed; with `on_run`, which is told of every run, the paper's sizes are trained first
into PAPER_RUNS in the working directory, going on where an earlier call stopped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.laws.fits import line, power_law
from flowsys.plot.drawing import Drawing
from flowsys.system import Setup
from flowsys.systems.parity import growth, stored_runs
from flowsys.systems.parity.transformer import Architecture

PAPER_RUNS = Path("parity-paper-runs.json")
OnRun = Callable[[str], None] | None


@dataclass(frozen=True)
class Shown:
    """Results with the size they are drawn for."""

    results: dict[str, Any]
    n: int
    architecture: Architecture

    @property
    def title(self) -> str:
        return f"n = {self.n}, {shape(self.architecture)}, hidden {self.architecture.hidden}"

    def complexities(self, chain: bool) -> dict[int, list[int | None]]:
        return growth.complexities(self.results, chain, self.n, self.architecture)

    def chosen(self, chain: bool, k: int) -> list[dict]:
        """Results of all seeds."""
        seeds = range(growth.SEEDS)
        keys = [growth.Case(k, chain, seed, self.n, architecture=self.architecture).key for seed in seeds]
        return [self.results[key] for key in keys if key in self.results]


def shape(architecture: Architecture) -> str:
    layers, heads = architecture.n_layers, architecture.n_heads
    return f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"


def shown(figure: str, on_run: OnRun) -> Shown:
    """The small runs that are stored, or the paper's, trained as far as they are missing."""
    if on_run is None:
        return Shown(stored_runs.stored(growth.STORED), growth.N, growth.SMALL)
    cases = growth.paper_cases(figure)
    return Shown(paper_results(cases, on_run), cases[0].n, cases[0].architecture)


def paper_results(cases: list[stored_runs.Case], on_run: Callable[[str], None]) -> dict[str, Any]:
    return stored_runs.fill(cases, PAPER_RUNS, on_run, checkpoints=PAPER_RUNS.with_suffix(""))


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


def budget_of(view: Shown, chain: bool) -> float:
    found = [r["budget"] for k in view.complexities(chain) for r in view.chosen(chain, k)]
    return max(found, default=np.nan)


def solved_pairs(found: dict[int, list[int | None]]) -> tuple[list[int], list[int]]:
    """k and samples of the runs within their budget."""
    pairs = [(k, s) for k, many in found.items() for s in many if s is not None]
    return [k for k, _ in pairs], [s for _, s in pairs]


def samples_by_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: samples to perfect validation with and without a chain of thought, and their fitted growth."""
    view = shown("1a", on_run)
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    ax = figure.subplots()
    for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0), (False, "C3", "without", 0.15)):
        dots(ax, view.complexities(chain), budget_of(view, chain), colour, label, shift)
    limit = budget_of(view, False)
    counted = {k: [limit if s is None else s for s in many] for k, many in view.complexities(False).items()}
    ks, samples = solved_pairs(counted)
    if len(set(ks)) > 1:
        fit = line(ks, np.log(samples))
        fine = np.linspace(1, max(ks), 50)
        factor, low, high = np.exp([fit.slope, *fit.interval])
        ax.plot(fine, np.exp(fit.constant + fit.slope * fine), color="C3",
                label=f"without: ×{factor:.3g} [{low:.2g}, {high:.2g}] per secret")  # fmt: skip
    ks, samples = solved_pairs({k: many for k, many in view.complexities(True).items() if k > 1})
    if len(set(ks)) > 1:
        fit = power_law(ks, samples)
        fine = np.linspace(min(ks), max(ks), 50)
        ax.plot(fine, fit.predicted(fine), color="C0", label=f"with, k ≥ 2: exponent {fit.slope:.2f}")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", yscale="log")
    ax.set_title(view.title, fontsize="medium")
    ax.margins(y=0.12)
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(
        figure,
        {},
        "without a chain a secret multiplies the samples (runs over budget counted with it); with one they grow slowly",
    )


def entropy_and_accuracy(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: normalised attention entropy falls as accuracy rises."""
    view = shown("1b", on_run)
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    for ax, (chain, k) in zip(figure.subplots(1, 2, sharey=True), ((True, 4), (False, 3))):
        courses(ax, view.chosen(chain, k))
        ax.set_title(f"{'with' if chain else 'without'} chain of thought, k = {k}", fontsize="medium")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    return Drawing(figure, {}, f"{view.title}: entropy falls as accuracy rises; without a chain both wait long")


def courses(ax, results: list[dict]) -> None:
    """Accuracy and entropy of runs over the samples seen."""
    for number, result in enumerate(results):
        labels = ("sequences right", "attention entropy, Eq. (1)") if number == 0 else (None, None)
        for name, colour, label in zip(("accuracy", "entropy"), ("C0", "C1"), labels):
            ax.plot(result["seen"], result[name], ".", color=colour, markersize=3.5, alpha=0.6, label=label)
    ax.set(xlabel="samples seen", ylim=(0, 1.05), xscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())


def samples_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 2: as Fig. 1a for several numbers of layers and heads."""
    if on_run is None:
        results, n = stored_runs.stored(growth.STORED), growth.N
        shapes = tuple(x for x in growth.SHAPES if growth.complexities(results, True, architecture=x))
    else:
        cases = growth.paper_cases("2")
        results, n = paper_results(cases, on_run), cases[0].n
        shapes = tuple(dict.fromkeys(case.architecture for case in cases))
    columns = min(4, len(shapes))
    figure = Figure(figsize=(2.7 * columns, 3.2 * -(-len(shapes) // columns)), layout="constrained")
    axes = figure.subplots(-(-len(shapes) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for ax, architecture in zip(axes.flat, shapes):
        view = Shown(results, n, architecture)
        for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0.0), (False, "C3", "without", 0.15)):
            found = {k: many for k, many in view.complexities(chain).items() if k <= 4}
            dots(ax, found, budget_of(view, chain), colour, label, shift)
        ax.set_title(shape(architecture), fontsize="medium")
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
    return Drawing(figure, {}, f"n = {n}, layers × heads: {runs_by_shape([Shown(results, n, x) for x in shapes])}")


def runs_by_shape(views: list[Shown]) -> str:
    """What was run, in words: shapes with as many seeds and secrets together."""
    alike: dict[str, list[str]] = {}
    for view in views:
        without = view.complexities(False)
        seeds = max(map(len, without.values()), default=0)
        extent = f"{seeds} seed{'s' * (seeds != 1)}, without a chain to k = {max(without, default=0)}"
        alike.setdefault(extent, []).append(f"{view.architecture.n_layers} × {view.architecture.n_heads}")
    return "; ".join(f"{', '.join(shapes)}: {extent}" for extent, shapes in alike.items())


def samples_with_chain(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line."""
    view = shown("3a", on_run)
    found = view.complexities(True)
    figure = Figure(figsize=(5.4, 4), layout="constrained")
    ax = figure.subplots()
    dots(ax, found, budget_of(view, True), "C0", "runs")
    ax.plot(list(found), [np.median([np.inf if s is None else s for s in many]) for many in found.values()], "_",
            color="k", markersize=14, label="median")  # fmt: skip
    ks, samples = solved_pairs(found)
    if len(set(ks)) > 1:
        fit, fine = line(ks, samples), np.array(sorted(found))
        low, high = fit.interval
        ax.plot(fine, fit.predicted(fine), color="C0",
                label=f"line, {fit.slope:.0f} [{low:.0f}, {high:.0f}] samples per secret")  # fmt: skip
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", ylim=(0, None))
    ax.set_title(view.title, fontsize="medium")
    figure.legend(loc="outside lower center", frameon=False, ncols=3, fontsize="small")
    return Drawing(figure, {}, "dots are runs, bars medians; runs over their budget are not in the line")


def attention_on_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3b: mean attention of the positions n+1 … n+k on the keys after training, S[i] marked."""
    view = shown("3b", on_run)
    k = max(k for k in view.complexities(True) if k <= 8 or on_run is not None)
    result = view.chosen(True, k)[0]
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
