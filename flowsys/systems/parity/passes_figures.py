"""Figures 4 and 5: many passes over few strings without a chain of thought, from stored runs (`passes`)."""

from matplotlib.figure import Figure

from flowsys.plot.drawing import Drawing
from flowsys.system import Setup
from flowsys.systems.parity import passes
from flowsys.systems.parity.experiment_figures import OnRun, courses, paper_results, shape
from flowsys.systems.parity.stored_runs import Case, stored


def _runs(figure: str, small: list[Case], on_run: OnRun) -> list[tuple[Case, dict]]:
    """The cases of a figure that are stored, with their results."""
    cases = small if on_run is None else passes.paper_cases(figure)
    results = stored(passes.STORED) if on_run is None else paper_results(cases, on_run)
    return [(case, results[case.key]) for case in cases if case.key in results]


def epochs_by_shape(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 4: accuracy over epochs on few strings, without a chain, for several numbers of layers and heads."""
    runs = _runs("4", [passes.case(passes.FEW, 0, architecture) for architecture in passes.SHAPES], on_run)
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    ax = figure.subplots()
    for number, (case, result) in enumerate(runs):
        epochs = [seen / case.training_set for seen in result["seen"]]
        colour = f"C{number % 10}"
        ax.plot(epochs, result["accuracy"], ".", color=colour, markersize=4, label=shape(case.architecture))
        if result["samples"] is not None:
            ax.plot(result["samples"] / case.training_set, 1.0, "*", color=colour, markersize=11)
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
    small = [passes.case(strings, seed) for strings in (passes.FEW, None) for seed in range(passes.SEEDS)]
    runs = _runs("5", small, on_run)
    panels = list(dict.fromkeys(case.training_set for case, _ in runs))
    figure = Figure(figsize=(4.4 * len(panels), 3.8), layout="constrained")
    for ax, strings in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels):
        chosen = [result for case, result in runs if case.training_set == strings]
        courses(ax, chosen)
        learned = sum(result["samples"] is not None for result in chosen)
        name = "fresh strings" if strings is None else f"{strings} strings"
        ax.set_title(f"{name}: {learned} of {len(chosen)} learned", fontsize="medium")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    first = runs[0][0]
    return Drawing(figure, {}, f"n = {first.n}, k = {first.k}, {shape(first.architecture)}, without a chain of thought")
