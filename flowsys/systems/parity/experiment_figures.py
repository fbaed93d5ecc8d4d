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

from flowsys.experiments.stored import StoredRuns
from flowsys.laws.fits import Fit, line, power_law
from flowsys.plot import Course, attention, courses, grid, needed
from flowsys.plot.drawing import Drawing
from flowsys.system import Setup
from flowsys.systems.parity import cases
from flowsys.systems.parity.cases import Runs, complexities, shape
from flowsys.systems.parity.experiment import Run

PAPER_RUNS = StoredRuns(Path("parity-paper-runs"), "flowsys figure parity --paper")
OnRun = Callable[[Any], None] | None


def runs_of(figure: str, on_run: OnRun) -> Runs:
    """The kept runs of the small size, or the paper's, trained as far as they are missing."""
    if on_run is None:
        return cases.RUNS.kept(cases.small_runs()[figure])
    return PAPER_RUNS.fill(cases.paper_runs()[figure], cases.measured, on_run)


def by(of: Callable[[Run], Any], runs: Runs) -> dict[Any, Runs]:
    """Runs told apart, in their order."""
    return {value: [x for x in runs if of(x[0]) == value] for value in dict.fromkeys(of(run) for run, _ in runs)}


def title(run: Run) -> str:
    return f"$n$ = {run.n}, {shape(run)}, hidden {run.architecture.hidden}"


def strings(run: Run) -> str:
    return "fresh strings" if run.training_set is None else f"{run.training_set:,} strings"


def learned(runs: Runs) -> str:
    return f"{sum(result['samples'] is not None for _, result in runs)} of {len(runs)} learned"


# -- samples needed ---------------------------------------------------------------------------------------------------


def samples(ax, runs: Runs, colour: str, label: str, shift: float = 0.0) -> None:
    """Samples needed over k."""
    needed(ax, complexities(runs), {run.k: run.budget for run, _ in runs}, label, colour, shift)


def both(ax, runs: Runs) -> None:
    """Samples needed with and without a chain of thought."""
    for chain, colour, label, shift in ((True, "C0", "with chain of thought", 0.0), (False, "C3", "without", 0.15)):
        samples(ax, [x for x in runs if x[0].chain == chain], colour, label, shift)
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


def told(figure: Figure, notes: str) -> Drawing:
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return Drawing(figure, {}, notes)


def over_secrets(runs: Runs) -> tuple[Figure, Axes]:
    """A panel of samples needed over k."""
    figure, (ax,) = grid(1, 1, (5.6, 4.2))
    ax.set(xlabel="secret bits $k$", ylabel="samples to perfect validation")
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
        fitted(ax, fit, f"with, $k$ ≥ 2: exponent {fit.slope:.2f}", "C0")
    return told(figure, "runs over their budget are counted with it")


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
            ax.set_xlabel("secret bits $k$")
            ax.tick_params(labelbottom=True)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    first = next(iter(panels.values()))[0][0]
    return Drawing(figure, {}, f"n = {first.n}, hidden {first.architecture.hidden}; a triangle marks the budget, "
                   "a k without a dot was not run")  # fmt: skip


def samples_with_chain(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 3a: samples with a chain of thought on linear axes, with the fitted line (k ≥ 2: k = 1 has no chain)."""
    runs = runs_of("3a", on_run)
    figure, ax = over_secrets(runs)
    samples(ax, runs, "k", "runs, and their medians")
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
    panels, name = heads.reshape(layers, per_layer, *heads.shape[1:]), f"{title(run)}, $k$ = {run.k}"
    drawn = attention(panels, secrets - 1, "$S[i]$", ("key position", "$n$+"), f"{name}{', ascending' * run.ascending}")
    peaks = int((heads[:per_layer].max(axis=0).argmax(axis=1) + 1 == secrets).sum())
    return Drawing(drawn, {}, f"{peaks} of {run.k} rows of the first layer's strongest head peak on S[i]")


# -- along training ---------------------------------------------------------------------------------------------------


def accuracy(name: str, run: Run, result: dict[str, Any], unit: int = 1) -> Course:
    """The share of sequences right over samples seen (in units of so many), a star at perfect validation."""
    reached = None if result["samples"] is None else (result["samples"] / unit, 1.0)
    return Course(name, np.array(result["seen"]) / unit, result["accuracy"], reached)


def right_and_entropy(run: Run, result: dict[str, Any]) -> list[Course]:
    sparsest = Course("attention entropy, Eq. (1), sparsest head", result["seen"], result["entropy"])
    return [accuracy("sequences right", run, result), sparsest]


def with_or_without(run: Run) -> str:
    return f"{'with' if run.chain else 'without'} a chain"


def right(run: Run, result: dict[str, Any]) -> list[Course]:
    return [accuracy(strings(run), run, result)]


def entropy_of_heads(run: Run, result: dict[str, Any]) -> list[Course]:
    return [Course(strings(run), result["seen"], course) for course in zip(*result["heads"])]


def along_training(
    figure: str,
    panel: Callable[[Run], str],
    curves: Callable[[Run, dict[str, Any]], list[Course]],
    ylabel: str,
    setup: Setup,
    on_run: OnRun = None,
) -> Drawing:
    """Figs. 1b, 5, 9–11: what was seen along every run, a panel for each group with how many of it learned."""
    runs = runs_of(figure, on_run)
    panels = {f"{name}: {learned(there)}": [course for one in there for course in curves(*one)]
              for name, there in by(panel, runs).items()}  # fmt: skip
    return Drawing(courses(panels, "samples seen", ylabel), {}, cases.sizes(run for run, _ in runs))


def epochs_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 4: accuracy over epochs without a chain of thought, one curve a shape, with a chain as a line."""
    runs, with_chain = runs_of("4", on_run), runs_of("4 with a chain", on_run)
    first = runs[0][0]
    shown = [accuracy(shape(run), run, result, cases.FEW) for run, result in runs]
    if needed := [result["samples"] / cases.FEW for _, result in with_chain if result["samples"]]:
        middle = float(np.median(needed))
        shown.append(Course(f"with a chain: {middle:.1f} epochs", [middle] * 2, [0.0, 1.0]))
    panels = {f"$n$ = {first.n}, $k$ = {first.k}, without a chain; stars: perfect validation": shown}
    figure = courses(panels, f"epochs over {strings(first)}", "validation sequences right")
    return Drawing(figure, {}, f"{learned(runs)}, one run a shape, {first.budget:,} samples seen at most")
