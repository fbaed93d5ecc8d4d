"""Figures 1–5 and 9 of the paper from kept runs of a transformer: samples needed, entropy, attention, many passes.

Small sizes (`cases`) are committed; with `on_run`, which is told of every run, the paper's sizes are trained first into
PAPER_RUNS in the working directory, going on where an earlier call stopped.
"""

from collections.abc import Callable, Sequence
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
from flowsys.systems.parity.cases import complexities, shape
from flowsys.systems.parity.experiment import Run

PAPER_RUNS = StoredRuns(Path("parity-paper-runs"), "flowsys figure parity --paper-size")
SHOWN = {"accuracy": "sequences right", "entropy": "attention entropy, Eq. (1), sparsest head"}
OnRun = Callable[[Any], None] | None
Runs = list[tuple[Run, dict[str, Any]]]


def runs_of(figure: str, small: list[Run], on_run: OnRun) -> Runs:
    """The kept runs of the small size, or the paper's, trained as far as they are missing."""
    if on_run is None:
        return cases.kept(small)
    chosen = cases.paper_runs(figure)
    PAPER_RUNS.fill(chosen, cases.measured, on_run)
    return cases.kept(chosen, PAPER_RUNS)


def by(of: Callable[[Run], Any], runs: Runs) -> dict[Any, Runs]:
    """Runs told apart, in their order."""
    return {value: [x for x in runs if of(x[0]) == value] for value in dict.fromkeys(of(run) for run, _ in runs)}


def title(run: Run) -> str:
    return f"n = {run.n}, {shape(run.architecture)}, hidden {run.architecture.hidden}"


def strings(run: Run) -> str:
    return "fresh strings" if run.training_set is None else f"{run.training_set:,} strings"


# -- samples needed ---------------------------------------------------------------------------------------------------


def dots(ax, runs: Runs, colour: str, label: str, shift: float = 0.0) -> None:
    """Samples needed, one dot a seed; open triangles where the budget ran out."""
    for k, there in by(lambda run: run.k, runs).items():
        needed = [result["samples"] for _, result in there if result["samples"] is not None]
        ax.plot([k + shift] * len(needed), needed, "o", color=colour, alpha=0.5, markersize=4.5)
        if over := len(there) - len(needed):
            budget = there[0][0].budget
            ax.plot(k + shift, budget, "^", color=colour, markerfacecolor="none")
            ax.annotate(f"{over} of {len(there)}\nover budget", (k + shift, budget), ha="left", va="center",
                        fontsize="x-small", xytext=(7, 0), textcoords="offset points")  # fmt: skip
    ax.plot([], [], "o", color=colour, label=label)


def both(ax, runs: Runs) -> None:
    """Samples needed with and without a chain of thought."""
    for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0.0), (False, "C3", "without", 0.15)):
        dots(ax, [x for x in runs if x[0].chain == chain], colour, label, shift)
    ax.set(yscale="log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.margins(x=0.1, y=0.12)


def pairs(runs: Runs, chain: bool, least: int = 1) -> tuple[list[int], list[int]]:
    """k and samples of runs; without a chain a run over its budget is counted with it, a lower bound."""
    chosen = [(run.k, result["samples"] or (None if chain else run.budget)) for run, result in runs
              if run.chain == chain and run.k >= least]  # fmt: skip
    kept = [(k, samples) for k, samples in chosen if samples is not None]
    return [k for k, _ in kept], [samples for _, samples in kept]


def samples_by_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: samples to perfect validation with and without a chain of thought, and their fitted growth."""
    runs = runs_of("1a", cases.growth_runs(True) + cases.growth_runs(False), on_run)
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    ax = figure.subplots()
    both(ax, runs)
    ks, samples = pairs(runs, False)
    if len(set(ks)) > 1:
        fit, fine = line(ks, np.log(samples)), np.linspace(1, max(ks), 50)
        factor, low, high = np.exp([fit.slope, *fit.interval])
        ax.plot(fine, np.exp(fit.constant + fit.slope * fine), color="C3",
                label=f"without: ×{factor:.3g} [{low:.2g}, {high:.2g}] per secret")  # fmt: skip
    ks, samples = pairs(runs, True, 2)
    if len(set(ks)) > 1:
        power, fine = power_law(ks, samples), np.linspace(min(ks), max(ks), 50)
        ax.plot(fine, power.predicted(fine), color="C0", label=f"with, k ≥ 2: exponent {power.slope:.2f}")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation")
    ax.set_title(title(runs[0][0]), fontsize="medium")
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, "without a chain a secret multiplies the samples (runs over budget counted with it); "
                   "with one they grow slowly")  # fmt: skip


def samples_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 2: as Fig. 1a for several numbers of layers and heads."""
    small = [run for x in cases.SHAPES for chain in (True, False) for run in cases.growth_runs(chain, x)]
    panels = by(lambda run: run.architecture, [x for x in runs_of("2", small, on_run) if x[0].k <= 4])
    columns = min(4, len(panels))
    figure = Figure(figsize=(2.7 * columns, 3.2 * -(-len(panels) // columns)), layout="constrained")
    axes = figure.subplots(-(-len(panels) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for ax, (architecture, runs) in zip(axes.flat, panels.items()):
        both(ax, runs)
        ax.set_title(shape(architecture), fontsize="small")
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax in axes.flat[len(panels) - columns : len(panels)]:  # the lowest panel of every column
        ax.set_xlabel("secret bits k")
        ax.tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_ylabel("samples to perfect validation")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    first = next(iter(panels.values()))[0][0]
    return Drawing(figure, {}, f"n = {first.n}, hidden {first.architecture.hidden}; a triangle marks the budget, "
                   "a k without a dot was not run")  # fmt: skip


def samples_with_chain(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line (k ≥ 2: k = 1 has no chain)."""
    runs = runs_of("3a", cases.growth_runs(True), on_run)
    figure = Figure(figsize=(5.4, 4), layout="constrained")
    ax = figure.subplots()
    dots(ax, runs, "C0", "runs")
    medians = {k: np.median([s or np.inf for s in many]) for k, many in complexities(runs).items()}
    ax.plot(list(medians), list(medians.values()), "_-", color="k", linewidth=0.8, markersize=14, label="median")
    ks, samples = pairs(runs, True, 2)
    if len(set(ks)) > 1:
        fit, power, fine = line(ks, samples), power_law(ks, samples), np.array(sorted(set(ks)))
        low, high = fit.interval
        ax.plot(fine, fit.predicted(fine), color="C0",
                label=f"line, {fit.slope:.0f} [{low:.0f}, {high:.0f}] samples per secret")  # fmt: skip
        ax.plot(fine, power.predicted(fine), "--", color="C1", label=f"power, exponent {power.slope:.2f}")
    ax.set(xlabel="secret bits k", ylabel="samples to perfect validation", ylim=(0, None))
    ax.set_title(title(runs[0][0]), fontsize="medium")
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, "fits over k ≥ 2; runs over their budget are not in them")


def attention_on_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3b: mean attention of the positions n+1 … n+k on the keys after training, S[i] marked."""
    ((run, result),) = runs_of("3b", [cases.rows_run()], on_run)
    (rows,), secrets = np.array(result["attention"]), np.array(result["secrets"])
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(rows, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    ax.plot(secrets - 1, range(run.k), "s", color="crimson", markerfacecolor="none", label="S[i]")
    ax.set(xlabel="key position", ylabel="query", title=f"{title(run)}, k = {run.k}, ascending")
    ax.set_xticks(range(0, rows.shape[1], 5), list(map(str, range(1, rows.shape[1] + 1, 5))))
    ax.set_yticks(range(0, run.k, 2), [f"n+{j + 1}" for j in range(0, run.k, 2)])
    figure.legend(loc="outside lower right", frameon=False)
    figure.colorbar(image, ax=ax, label="attention")
    peaks = int((rows.argmax(axis=1) + 1 == secrets).sum())
    return Drawing(figure, {}, f"{peaks} of {run.k} attention rows peak on S[i]")


# -- along training ---------------------------------------------------------------------------------------------------


def courses(ax, runs: Runs, label: Callable[[Run], str], names: Sequence[str], epochs: bool = False) -> None:
    """What was seen at evaluations, a line a run, a star where validation was perfect; colours tell runs apart, or, if
    there are several of them, names."""
    labelled = set()
    for number, (run, result) in enumerate(runs):
        unit = run.training_set if epochs else 1
        for place, name in enumerate(names):
            colour, text = (f"C{place}", SHOWN[name]) if len(names) > 1 else (f"C{number}", label(run))
            ax.plot(np.array(result["seen"]) / unit, result[name], ".-", color=colour, markersize=3.5, linewidth=0.8,
                    alpha=0.7, label=None if text in labelled else text)  # fmt: skip
            labelled.add(text)
            if result["samples"] is not None and name == "accuracy":
                ax.plot(result["samples"] / unit, 1.0, "*", color=colour, markersize=11)
    ax.set(xlabel=f"epochs over {strings(runs[0][0])}" if epochs else "samples seen", ylim=(0, 1.05), xscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())


def side_by_side(panels: dict[str, Runs], label: Callable[[Run], str], names: Sequence[str], told: str) -> Drawing:
    """A panel for each group of runs."""
    figure = Figure(figsize=(6.0, 4.8) if len(panels) == 1 else (4.4 * len(panels), 3.9), layout="constrained")
    for ax, (name, runs) in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels.items()):
        courses(ax, runs, label, names)
        ax.set_title(name, fontsize="medium")
    figure.axes[0].set_ylabel("; ".join(SHOWN[name] for name in names) if len(names) == 1 else "share; entropy")
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, told)


def learned(runs: Runs) -> str:
    return f"{sum(result['samples'] is not None for _, result in runs)} of {len(runs)} learned"


def entropy_and_accuracy(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: normalised attention entropy falls as accuracy rises."""
    runs = runs_of("1b", cases.growth_runs(True) + cases.growth_runs(False), on_run)
    chosen = lambda chain, k: [x for x in runs if (x[0].chain, x[0].k) == (chain, k)]
    panels = {"with a chain of thought, k = 4": chosen(True, 4), "without, k = 3": chosen(False, 3)}
    told = f"{title(runs[0][0])}: entropy falls as accuracy rises; without a chain both wait long"
    return side_by_side(panels, strings, tuple(SHOWN), told)


def epochs_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 4: accuracy over epochs without a chain of thought, one curve a shape, with a chain as a line."""
    runs = runs_of("4", cases.shapes_runs(), on_run)
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    ax = figure.subplots()
    courses(ax, runs, lambda run: shape(run.architecture), ("accuracy",), epochs=True)
    chain = [r["samples"] / run.training_set for run, r in cases.kept(cases.shapes_runs(True)) if r["samples"]]
    if chain and on_run is None:
        middle = float(np.median(chain))
        ax.axvline(middle, color="C0", linestyle="--", label=f"with a chain: {middle:.1f} epochs")
    first = runs[0][0]
    ax.set(ylabel="validation sequences right")
    ax.set_title(f"n = {first.n}, k = {first.k}, without a chain; stars: perfect validation", fontsize="medium")
    figure.legend(loc="outside right center", frameon=False, fontsize="small")
    assert first.training_set is not None
    epochs = first.budget / first.training_set
    return Drawing(figure, {}, f"{learned(runs)}, one run a shape, within {epochs:.0f} epochs")


def few_and_many_strings(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 5: accuracy and attention entropy, few strings passed over many times against many strings."""
    runs = runs_of("5", cases.few_and_many_runs(), on_run)
    panels = {f"{strings(there[0][0])}: {learned(there)}": there for there in by(strings, runs).values()}
    first = runs[0][0]
    return side_by_side(panels, strings, tuple(SHOWN), f"{title(first)}, k = {first.k}, without a chain of thought")


def many_secrets(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 9: twelve secrets without a chain, whatever the number of strings, and with one."""
    runs = runs_of("9", cases.hard_runs(), on_run)
    label = lambda run: f"{'with' if run.chain else 'without'} a chain, {strings(run)}"
    first = runs[0][0]
    panels = {f"n = {first.n}, k = {first.k}, {shape(first.architecture)}": runs}
    told = [f"{'with' if chain else 'without'} a chain {learned(there)}"
            for chain, there in by(lambda run: run.chain, runs).items()]  # fmt: skip
    return side_by_side(panels, label, ("accuracy",), "; ".join(told))
