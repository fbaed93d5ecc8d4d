"""The paper's Figures 1a, 1b, 2, 5, 6, 7 from the stored runs of the Section 7 experiment (`section_7.packaged`).

Accuracy is the share of sentences whose values are all right when the model writes every answer itself. Bars of
accuracy are two standard errors of the number of sentences tested. Fig. 1a has a curve for every seed kept, all but
the first thin; attention is that of the first seed. With `on_run` the experiment is run here first, with one seed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from flowsys.errors import InputError
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.sweeps import Axis, PhaseDiagram
from flowsys.system import Setup
from flowsys.systems.lego.section_7 import (
    DOUBLED_LENGTHS,
    Experiment,
    has_residual,
    packaged,
    packaged_controls,
    packaged_seeds,
    run,
    self_trained,
)

OWN_RUNS = Path("lego-section-7")  # what `--paper` trains is kept here, and found again
OnRun = Callable[[str], None] | None
Runs = Mapping[str, Mapping[int, list[dict[str, Any]]]]  # results by training length, of every seed of every group
GROUPS = ("C6", "S5")
TASKS = {"C6": "$C_6$ (simply transitive)", "S5": "$S_5$ (symmetry)"}
KINDS = {"predicate": r"ans$_\ell \to$ pred$_{\ell+1}$", "answer": r"ans$_\ell \to$ ans$_\ell$"}


def _table(axes: dict[str, Sequence[Any]], **quantities: np.ndarray) -> PhaseDiagram:
    """Numbers over named axes, as a value that can be saved."""
    listed = tuple(Axis(name, tuple(values), "list") for name, values in axes.items())
    return PhaseDiagram(listed, quantities, np.zeros([len(axis) for axis in listed], dtype=np.uint8))


def _accuracy_axes(lengths: Sequence[int]):
    figure = Figure(figsize=(6.2, 4.2), layout="constrained")
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_xticks(lengths, labels=[str(L) for L in lengths])
    ax.minorticks_off()
    ax.set(xlabel="length L", ylabel="all answers right", ylim=(-0.03, 1.03))
    return figure, ax


def _legend_below(ax, ncols: int, **options) -> None:
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
    ax.legend(frameon=False, fontsize="small", ncols=ncols, **place, **options)


def _shares(results: dict[str, Any]) -> np.ndarray:
    return np.array(list(results["all_right"].values()))


def _curve(ax, results: dict[str, Any], color: str, label: str, is_thin: bool) -> np.ndarray:
    lengths, share = [int(L) for L in results["all_right"]], _shares(results)
    error = 2 * np.sqrt(share * (1 - share) / results["sentences"])
    look = {"fmt": ":s", "markersize": 3, "elinewidth": 0.5} if is_thin else {"fmt": "-o", "markersize": 4}
    ax.errorbar(lengths, share, error, linewidth=0.8, color=color, label=label, **look)
    return share


def _where_below_1(results: dict[str, Any]) -> str:
    """The shares of sentences with every answer right, where not all are, in words."""
    below = [f"{share:.3f} at {L}" for L, share in results["all_right"].items() if share < 1]
    return ", ".join(below) or "1 at every length"


def _shown(setup: Setup, on_run: OnRun, groups: Sequence[str] = GROUPS, lengths: Sequence[int] = ()) -> Runs:
    """The kept runs; or, told to `on_run` every few epochs, one of the setup's seed trained in this directory first.

    Kept are models without a residual around attention, as in Definition 3.5; of self-training, to further `lengths`,
    those with one if there are no others. A seed that was asked for is shown alone; nothing else can be asked for.
    """
    for name in sorted(setup.given - {"seed"}):
        raise InputError(
            f"{name} = {setup[name]} plays no part here: a figure shows the experiment, of which the seed can be set."
        )
    if on_run is None:
        at_first = lambda group: {seed: packaged(group, False, seed) for seed in packaged_seeds(group, False)}
        kept = {group: self_trained(group) if lengths else at_first(group) for group in groups}
        if "seed" not in setup.given:
            return kept
        seed = setup["seed"]
        for group, runs in kept.items():
            if seed not in runs:
                listed = ", ".join(map(str, runs)) or "none"
                raise InputError(f"seed = {seed} of {group} is not kept: there are {listed}; --paper runs it.")
        return {group: {seed: runs[seed]} for group, runs in kept.items()}
    told = lambda stage, epoch: on_run(f"{stage.group}, L = {stage.L}: epoch {epoch} of {stage.epochs}")
    seed = setup["seed"]
    options: dict[str, Any] = {"doubled_lengths": lengths, "experiment": Experiment(seed=seed), "on_epochs": told}
    return {group: {seed: run(group, OWN_RUNS, **options)} for group in groups}


def _architecture(results: Iterable[Mapping[str, Any]]) -> str:
    """Which kind of model the results are of, in words."""
    return "with a residual" if has_residual(next(iter(results))) else "no residual (Def. 3.5)"


def _firsts(runs: Runs) -> list[tuple[int, dict[str, Any]]]:
    """The first seed of every group and what its training at L = 5 left."""
    return [next((seed, stages[0]) for seed, stages in of_group.items()) for of_group in runs.values()]


def accuracy_by_group(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: models trained at L = 5, over test lengths, every seed that is kept."""
    runs = _shown(setup, on_run)
    first = _firsts(runs)[0][1]
    lengths = [int(L) for L in first["all_right"]]
    figure, ax = _accuracy_axes(lengths)
    shares: dict = {}
    told = []
    for i, (group, of_group) in enumerate(runs.items()):
        for place, (seed, stages) in enumerate(of_group.items()):
            label = f"{TASKS[group]}, seed {seed}"
            shares[f"{group} seed {seed}"] = _curve(ax, stages[0], f"C{i}", label, is_thin=place > 0)
            told.append(f"{group}, seed {seed}: {_where_below_1(stages[0])}")
    ax.set_title(_architecture([first]), fontsize="medium")
    ax.axvline(first["trained_to"], color="0.4", linestyle="--", linewidth=1, label="training length")
    _legend_below(ax, 2)
    accuracy = _table({"L": lengths, "run": tuple(shares)}, all_right=np.array(list(shares.values())).T)
    return Drawing(figure, {"accuracy": accuracy}, "; ".join(told))


def accuracy_by_stage(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: S5 self-trained 5 → 10 → 20 → 40, the training length of each stage dashed in its colour.

    Lines are means over the seeds, bands from the least to the largest. Grey: as many further steps, all at L = 5.
    """
    runs = _shown(setup, on_run, ("S5",), DOUBLED_LENGTHS)["S5"]
    n_stages = min(map(len, runs.values()))
    drawn = [{seed: stages[i] for seed, stages in runs.items()} for i in range(n_stages)]
    first = drawn[0][next(iter(runs))]
    controls = packaged_controls("S5", has_residual(first)) if on_run is None else {}
    lengths = [int(L) for L in first["all_right"]]
    figure, ax = _accuracy_axes(lengths)
    shares: dict = {}
    told = []
    for i, of_stage in enumerate(drawn):
        to = next(iter(of_stage.values()))["trained_to"]
        shares |= {f"seed {seed} to {to}": _shares(results) for seed, results in of_stage.items()}
        _band(ax, of_stage, f"C{i}", f"L = {to}")
        ax.axvline(to, color=f"C{i}", linestyle="--", linewidth=1)
        told += [f"seed {seed}, trained to {to}: {_where_below_1(results)}" for seed, results in of_stage.items()]
    if controls:
        shares |= {f"seed {seed} control": _shares(results) for seed, results in controls.items()}
        _band(ax, controls, "0.5", "as many more steps at L = 5")
        told += [f"control, seed {seed}, as many further steps at L = 5: {_where_below_1(results)}"
                 for seed, results in controls.items()]  # fmt: skip
    _legend_below(ax, 3, title="trained to")
    ax.set_ylim(max(-0.03, min(map(np.min, shares.values())) - 0.05), 1.01)
    ax.set_title(
        f"{TASKS['S5']}, labels of the previous model; {_architecture(drawn[0].values())}; {_seeds_in_words(runs)}",
        fontsize="medium",
    )
    accuracy = _table({"L": lengths, "run": tuple(shares)}, all_right=np.array(list(shares.values())).T)
    return Drawing(figure, {"accuracy": accuracy}, "; ".join(told))


def _band(ax, by_seed: Mapping[int, dict[str, Any]], color: str, label: str) -> None:
    """The mean over seeds, and the range from the least to the largest."""
    lengths = [int(L) for L in next(iter(by_seed.values()))["all_right"]]
    curves = np.array([_shares(results) for results in by_seed.values()])
    ax.fill_between(lengths, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.2, linewidth=0)
    ax.plot(lengths, curves.mean(axis=0), "-o", markersize=4, linewidth=0.8, color=color, label=label)


def _seeds_in_words(runs: Mapping[int, Any]) -> str:
    return f"seed {next(iter(runs))}" if len(runs) == 1 else f"{len(runs)} seeds"


def attention_maps(setup: Setup, shown: str, on_run: OnRun = None) -> Drawing:
    """Figs. 2 and 5: mean attention of ans_0 … ans_4 at L = 5, predicates in order or permuted."""
    seeds, stages = zip(*_firsts(_shown(setup, on_run)))
    L, is_shuffled = stages[0]["trained_to"], shown == "shuffled"
    figure = Figure(figsize=(13 if is_shuffled else 9.4, 3.3), layout="constrained")
    panels = figure.subplots(1, 3 if is_shuffled else 2, width_ratios=(0.6, 1, 1) if is_shuffled else None)
    if is_shuffled:
        order = stages[0]["attention"][str(L)]["order"]
        truth = (np.arange(L)[:, None] == np.array(order)[None, :]).astype(float)
        panels[0].imshow(truth, cmap="Greys", vmin=0, vmax=1.6)
        panels[0].set(xlabel="place shown", ylabel="query", title="predicate the query needs")
        panels[0].set_xticks(range(L), labels=range(1, L + 1))
        panels[0].set_yticks(range(L), labels=[f"ans$_{i}$" for i in range(L)])
    maps = [np.array(stage["attention"][str(L)][shown]["map"]) for stage in stages]
    largest = max(0.6, *(attention.max() for attention in maps))
    for ax, stage, found in zip(panels[-2:], stages, maps):
        attention = stage["attention"][str(L)]
        image = ax.imshow(found, cmap="viridis", vmin=0, vmax=largest, aspect="auto")
        names = [i + 1 for i in attention["order"]] if is_shuffled else range(1, L + 1)
        columns = [f"p$_{i}$" for i in names] + [f"a$_{i}$" for i in range(L)]
        ax.set_xticks(range(2 * L), labels=columns)
        ax.set_yticks(range(L), labels=[f"ans$_{i}$" for i in range(L)])
        ax.set(xlabel="clause attended to", ylabel="query", title=f"{TASKS[stage['group']]}, seed {seeds[0]}")
    figure.colorbar(image, ax=panels[-2:], shrink=0.9).set_label("attention")
    figure.suptitle(f"trained at L = {L}, {_architecture(stages)}", fontsize="medium")
    axes = {"group": GROUPS, "query": range(L), "clause": range(2 * L)}
    return Drawing(
        figure, {"attention": _table(axes, attention=np.array(maps))}, f"seed {seeds[0]}; {_masses(stages, L, shown)}"
    )


def _masses(stages, L: int, shown: str) -> str:
    """Mean attention on the two clauses that matter."""
    told = []
    for stage in stages:
        lines = stage["attention"][str(L)][shown]
        on = [f"{np.mean(lines[kind]):.3f} on the {kind}" for kind in KINDS]
        told.append(f"{stage['group']}, L = {L}: {', '.join(on)}")
    return "; ".join(told)


def diagonal_attention(setup: Setup, kind: str, on_run: OnRun = None) -> Drawing:
    """Figs. 6 (predicates) and 7 (answers): attention on the right clause by position, at L = 10 and 20."""
    seeds, stages = zip(*_firsts(_shown(setup, on_run)))
    lengths = (10, 20)
    figure = Figure(figsize=(6.2, 4.2), layout="constrained")
    ax = figure.subplots()
    data, told = {}, []
    for i, stage in enumerate(stages):
        for L, style in zip(lengths, ("o-", "s--")):
            line = np.array(stage["attention"][str(L)]["in_order"][kind])
            label = f"{TASKS[stage['group']]}, L = {L}"
            ax.plot(np.arange(1, L + 1) / L, line, style, color=f"C{i}", markersize=4, linewidth=0.8, label=label)
            data[f"{stage['group']}-{L}"] = _table({"position": range(1, L + 1)}, attention=line)
            told.append(f"{stage['group']}, L = {L}: {line[0]:.3f} first, {line[-1]:.3f} last, {line.mean():.3f} mean")
    ax.set(xlabel=r"position $(\ell + 1)/L$", ylabel=f"attention {KINDS[kind]}")
    ax.set_ylim(bottom=0)
    ax.set_title(f"trained at L = 5, {_architecture(stages)}, seed {seeds[0]}", fontsize="medium")
    _legend_below(ax, 2)
    return Drawing(figure, data, f"seed {seeds[0]}; {'; '.join(told)}")


FIGURES = {
    "1a": PaperFigure(
        accuracy_by_group,
        "Accuracy over the length of the test after training at $L$ = 5 (dashed): nearly perfect far beyond it for the "
        "cyclic group, soon lost for the symmetric one.",
    ),
    "1b": PaperFigure(
        accuracy_by_stage,
        "The symmetric group trained on its own longer chains, doubled stage by stage: each stage's accuracy, its "
        "training length dashed in its colour; the solvable length grows.",
    ),
    "2": PaperFigure(
        partial(attention_maps, shown="in_order"),
        "Attention at convergence for $L$ = 5: answer clauses as queries upwards, keys across. Two diagonals: each "
        "answer attends to itself and to the predicate that follows.",
    ),
    "5": PaperFigure(
        partial(attention_maps, shown="shuffled"),
        "The model of Fig. 2 on permuted predicates: (a) the permutation, then attention for the cyclic and for the "
        "symmetric group. Predicates are found by their variable, not by their place.",
    ),
    "6": PaperFigure(
        partial(diagonal_attention, kind="predicate"),
        "Attention on the right predicate over its relative position, trained at $L$ = 5, tested at 10 and 20: it "
        "falls with the position for the symmetric group and stays level for the cyclic one.",
    ),
    "7": PaperFigure(
        partial(diagonal_attention, kind="answer"),
        "As Fig. 6 for the right answer clause: level for the symmetric group, sensitive to length and position for "
        "the cyclic one.",
    ),
}
