"""Figures 1–5 and 8–11 of the paper from kept runs of a transformer: samples needed, attention, courses of training.

Small sizes (`cases`) are committed; with `on_run`, which is told of every run, the paper's sizes are trained first into
PAPER_RUNS in the working directory, going on where an earlier call stopped.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.laws.fits import Fit, line, power_law
from flowsys.plot import grid
from flowsys.plot.drawing import Drawing
from flowsys.runs.stored import StoredRuns
from flowsys.system import Setup
from flowsys.systems.parity import cases
from flowsys.systems.parity.cases import Runs, complexities, shape
from flowsys.systems.parity.experiment import Run

PAPER_RUNS = StoredRuns(Path("parity-paper-runs"), "flowsys figure parity --paper-size")
OnRun = Callable[[Any], None] | None


def runs_of(figure: str, on_run: OnRun) -> Runs:
    """The kept runs of the small size, or the paper's, trained as far as they are missing."""
    if on_run is None:
        return cases.kept(cases.small_runs()[figure])
    chosen = cases.paper_runs()[figure]
    PAPER_RUNS.fill(chosen, cases.measured, on_run)
    return cases.kept(chosen, PAPER_RUNS)


def by(of: Callable[[Run], Any], runs: Runs) -> dict[Any, Runs]:
    """Runs told apart, in their order."""
    return {value: [x for x in runs if of(x[0]) == value] for value in dict.fromkeys(of(run) for run, _ in runs)}


def title(run: Run) -> str:
    return f"n = {run.n}, {shape(run)}, hidden {run.architecture.hidden}"


def strings(run: Run) -> str:
    return "fresh strings" if run.training_set is None else f"{run.training_set:,} strings"


def learned(runs: Runs) -> str:
    return f"{sum(result['samples'] is not None for _, result in runs)} of {len(runs)} learned"


def told(figure: Figure, notes: str) -> Drawing:
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, notes)


# -- samples needed ---------------------------------------------------------------------------------------------------


def dots(ax, runs: Runs, colour: str, label: str, shift: float = 0.0) -> None:
    """Samples needed, one dot a seed and a line through their medians; open triangles where the budget ran out."""
    for k, there in by(lambda run: run.k, runs).items():
        needed = [result["samples"] for _, result in there if result["samples"] is not None]
        ax.plot([k + shift] * len(needed), needed, "o", color=colour, alpha=0.5, markersize=4.5)
        if over := len(there) - len(needed):
            budget = there[0][0].budget
            ax.plot(k + shift, budget, "^", color=colour, markerfacecolor="none")
            ax.annotate(f"{over} of {len(there)}\nover budget", (k + shift, budget), ha="left", va="center",
                        fontsize="x-small", xytext=(7, 0), textcoords="offset points")  # fmt: skip
    medians = {k: np.median([s or np.inf for s in many]) for k, many in complexities(runs).items()}
    ax.plot(np.array(list(medians)) + shift, list(medians.values()), "-", color=colour, linewidth=0.8, alpha=0.6)
    ax.plot([], [], "o-", color=colour, label=label)


def both(ax, runs: Runs) -> None:
    """Samples needed with and without a chain of thought."""
    for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0.0), (False, "C3", "without", 0.15)):
        dots(ax, [x for x in runs if x[0].chain == chain], colour, label, shift)
    ax.set(yscale="log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.margins(x=0.1, y=0.12)


def growth(runs: Runs, chain: bool, law: Callable[..., Fit]) -> Fit | None:
    """The fitted growth of samples with k; None of a single k.

    With a chain, of k ≥ 2 (k = 1 has none) that were learned; without one, a run over its budget is counted with it, a
    lower bound.
    """
    found = [(run.k, result["samples"] or (None if chain else run.budget)) for run, result in runs
             if run.chain == chain and run.k >= 1 + chain]  # fmt: skip
    ks, samples = np.array([x for x in found if x[1] is not None]).reshape(-1, 2).T
    return law(ks, samples) if len(set(ks)) > 1 else None


def fitted(ax, fit: Fit, label: str, colour: str, style: str = "--", of: Callable = lambda y: y) -> None:
    """A fit over the k it was made of."""
    fine = np.linspace(fit.x.min(), fit.x.max(), 50)
    ax.plot(fine, of(fit.predicted(fine)), style, color=colour, label=label)


def over_secrets(runs: Runs) -> tuple[Figure, Axes]:
    """A panel of samples needed over k."""
    figure, (ax,) = grid(1, 1, (5.6, 4.2))
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation")
    ax.set_title(title(runs[0][0]), fontsize="medium")
    return figure, ax


def samples_by_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: samples to perfect validation with and without a chain of thought, and their fitted growth."""
    runs = runs_of("1a", on_run)
    figure, ax = over_secrets(runs)
    both(ax, runs)
    if fit := growth(runs, False, lambda k, samples: line(k, np.log(samples))):
        factor, low, high = np.exp([fit.slope, *fit.interval])
        fitted(ax, fit, f"without: ×{factor:.3g} [{low:.2g}, {high:.2g}] per secret", "C3", of=np.exp)
    if fit := growth(runs, True, power_law):
        fitted(ax, fit, f"with, k ≥ 2: exponent {fit.slope:.2f}", "C0")
    return told(figure, "without a chain a secret multiplies the samples (runs over budget counted with it); with one "
                "they grow slowly")  # fmt: skip


def samples_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 2: as Fig. 1a for several numbers of layers and heads."""
    panels = by(shape, sorted((x for x in runs_of("2", on_run) if x[0].k <= 4), key=lambda x: shape(x[0])))
    figure, axes = grid(len(panels), 4, (2.7, 3.2), sharex=True, sharey=True)
    for number, (ax, (name, runs)) in enumerate(zip(axes, panels.items())):
        both(ax, runs)
        ax.set_title(name, fontsize="small")
        if number % 4 == 0:
            ax.set_ylabel("samples to perfect validation")
        if number >= len(panels) - 4:  # the lowest panel of every column
            ax.set_xlabel("secret bits k")
            ax.tick_params(labelbottom=True)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    first = next(iter(panels.values()))[0][0]
    return Drawing(figure, {}, f"n = {first.n}, hidden {first.architecture.hidden}; a triangle marks the budget, "
                   "a k without a dot was not run")  # fmt: skip


def samples_with_chain(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line (k ≥ 2: k = 1 has no chain)."""
    runs = runs_of("3a", on_run)
    figure, ax = over_secrets(runs)
    dots(ax, runs, "k", "runs, and their medians")
    if fit := growth(runs, True, line):
        low, high = fit.interval
        fitted(ax, fit, f"line, {fit.slope:.0f} [{low:.0f}, {high:.0f}] samples per secret", "C0", "-")
    if fit := growth(runs, True, power_law):
        fitted(ax, fit, f"power, exponent {fit.slope:.2f}", "C1")
    ax.set_ylim(0, None)
    return told(figure, "fits over k ≥ 2; runs over their budget are not in them")


# -- attention --------------------------------------------------------------------------------------------------------


def attention_on_secrets(figure: str, setup: Setup, on_run: OnRun = None) -> Drawing:
    """Figs. 3b, 8: mean attention of the positions n+1 … n+k on the keys after training, S[i] marked."""
    ((run, result),) = runs_of(figure, on_run)
    heads, secrets = np.array(result["attention"]), np.array(result["secrets"])
    layers, per_layer = run.architecture.n_layers, run.architecture.n_heads
    drawn, axes = grid(len(heads), per_layer, (4.2 + 4.2 / per_layer, 2.8 + 1.4 / layers), sharex=True, sharey=True)
    for number, (ax, rows) in enumerate(zip(axes, heads)):
        image = ax.imshow(rows, cmap="viridis", vmin=0, vmax=1, aspect="auto")
        ax.plot(secrets - 1, range(run.k), "s", color="crimson", markerfacecolor="none", label="S[i]")
        if len(heads) > 1:
            ax.set_title(f"layer {number // per_layer + 1}, head {number % per_layer + 1}", fontsize="medium")
    ax.set_xticks(range(0, heads.shape[2], 5), list(map(str, range(1, heads.shape[2] + 1, 5))))
    ax.set_yticks(range(0, run.k, 2), [f"n+{j + 1}" for j in range(0, run.k, 2)])
    drawn.supxlabel("key position")
    drawn.supylabel("query")
    drawn.suptitle(f"{title(run)}, k = {run.k}{', ascending' * run.ascending}", fontsize="medium")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower right", frameon=False)
    drawn.colorbar(image, ax=axes, label="attention")
    peaks = int((heads[:per_layer].max(axis=0).argmax(axis=1) + 1 == secrets).sum())
    return Drawing(drawn, {}, f"{peaks} of {run.k} rows of the first layer's strongest head peak on S[i]")


# -- along training ---------------------------------------------------------------------------------------------------


Shown = Callable[[Run, dict[str, Any]], list[tuple[str, list[float]]]]


def courses(panels: dict[str, Runs], shown: Shown, ylabel: str, epochs: bool = False) -> Figure:
    """A panel for each group of runs: the named courses that `shown` takes of a run, a name having one colour.

    A star marks perfect validation.
    """
    figure, axes = grid(len(panels), len(panels), (6.4, 4.6) if len(panels) == 1 else (4.4, 4.2), sharey=True)
    colours: dict[str, str] = {}
    for ax, (name, runs) in zip(axes, panels.items()):
        for run, result in runs:
            unit = run.training_set if epochs else 1
            for label, values in shown(run, result):
                is_new = label not in colours
                colour = colours.setdefault(label, f"C{len(colours)}")
                ax.plot(np.array(result["seen"]) / unit, values, ".-", color=colour, markersize=3.5, linewidth=0.8,
                        alpha=0.7, label=label if is_new else None)  # fmt: skip
                if result["samples"] is not None and values is result["accuracy"]:
                    ax.plot(result["samples"] / unit, 1.0, "*", color=colour, markersize=11)
        ax.set(xlabel=f"epochs over {strings(runs[0][0])}" if epochs else "samples seen", ylim=(0, 1.05), xscale="log")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(name, fontsize="medium")
    axes[0].set_ylabel(ylabel)
    return figure


def right_and_entropy(run: Run, result: dict[str, Any]) -> list[tuple[str, list[float]]]:
    return [("sequences right", result["accuracy"]), ("attention entropy, Eq. (1), sparsest head", result["entropy"])]


def entropy_and_accuracy(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: normalised attention entropy falls as accuracy rises."""
    runs = runs_of("1a", on_run)
    chosen = lambda chain, k: [x for x in runs if (x[0].chain, x[0].k) == (chain, k)]
    panels = {"with a chain of thought, k = 4": chosen(True, 4), "without, k = 3": chosen(False, 3)}
    notes = f"{title(runs[0][0])}: entropy falls as accuracy rises; without a chain both wait long"
    return told(courses(panels, right_and_entropy, "share; entropy"), notes)


def epochs_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 4: accuracy over epochs without a chain of thought, one curve a shape, with a chain as a line."""
    runs, with_chain = runs_of("4", on_run), runs_of("4 with a chain", on_run)
    first = runs[0][0]
    panels = {f"n = {first.n}, k = {first.k}, without a chain; stars: perfect validation": runs}
    figure = courses(panels, lambda run, r: [(shape(run), r["accuracy"])], "validation sequences right", epochs=True)
    needed = [r["samples"] / first.training_set for _, r in with_chain if r["samples"] and first.training_set]
    if needed:
        middle = float(np.median(needed))
        figure.axes[0].axvline(middle, color="k", linestyle="--", label=f"with a chain: {middle:.1f} epochs")
    return told(figure, f"{learned(runs)}, one run a shape, {first.budget:,} samples seen at most")


def few_and_many_strings(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 5: accuracy and attention entropy, few strings passed over many times against many strings."""
    runs = runs_of("5", on_run)
    panels = {f"{strings(there[0][0])}: {learned(there)}": there for there in by(strings, runs).values()}
    first = runs[0][0]
    notes = f"{title(first)}, k = {first.k}, without a chain of thought"
    return told(courses(panels, right_and_entropy, "share; entropy"), notes)


def many_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 9: twelve secrets without a chain, whatever the number of strings, and with one."""
    runs = runs_of("9", on_run)
    with_or_without = lambda run: f"{'with' if run.chain else 'without'} a chain"
    first = runs[0][0]
    figure = courses({f"n = {first.n}, k = {first.k}, {shape(first)}": runs},
                     lambda run, r: [(f"{with_or_without(run)}, {strings(run)}", r["accuracy"])],
                     "sequences right")  # fmt: skip
    return told(figure, "; ".join(f"{name} {learned(there)}" for name, there in by(with_or_without, runs).items()))


def training_sets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 10: accuracy without a chain over training sets of several sizes, as many samples seen over each."""
    panels = {f"{name}: {learned(there)}": there for name, there in by(shape, runs_of("10", on_run)).items()}
    figure = courses(panels, lambda run, r: [(strings(run), r["accuracy"])], "sequences right")
    return told(figure, "few strings passed over many times are learned, a million are not")


def entropy_of_heads(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 11: attention entropy of every head in the runs of Fig. 10."""
    panels = by(shape, runs_of("10", on_run))
    heads = lambda run, r: [(strings(run), list(course)) for course in zip(*r["heads"])]
    figure = courses(panels, heads, "attention entropy, Eq. (1)")
    return told(figure, "a line a head; over the largest training set entropy stays high")
