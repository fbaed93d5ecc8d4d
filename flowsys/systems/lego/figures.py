"""The paper's Figures 1a, 1b, 2, 5, 6, 7 from the kept runs of the Section 7 experiment (`section_7.kept`).

Accuracy is the share of sentences whose values are all right when the model writes every answer itself: dots are means
over the seeds kept, thin lines the seeds. Attention is that of the first seed. Models have no residual around
attention, as in Definition 3.5. With `on_run` the experiment is run here first, with one seed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.errors import InputError
from flowsys.plot import grid, heat
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.system import Setup
from flowsys.systems.lego.section_7 import COURSE_LENGTHS, DOUBLED_LENGTHS, Experiment, Results, kept, run, stages

TOLD_EVERY = 10  # epochs
COURSE_AT = 40  # the length at which accuracy is shown along training
OWN_RUNS = Path("lego-section-7")  # what `--paper` trains is kept here, and found again
OnRun = Callable[[str], None] | None
Runs = Mapping[int, Sequence[Results]]  # results by training length, of every seed
GROUPS = ("C6", "S5")
TASKS = {"C6": "$C_6$ (simply transitive)", "S5": "$S_5$ (symmetry)"}
KINDS = {"predicate": r"ans$_\ell \to$ pred$_{\ell+1}$", "answer": r"ans$_\ell \to$ ans$_\ell$"}
BELOW: dict[str, Any] = {
    "frameon": False,
    "fontsize": "small",
    "ncols": 2,
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.14),
}


def _shown(setup: Setup, on_run: OnRun, group: str, lengths: Sequence[int] = ()) -> Runs:
    """The kept runs; or, told to `on_run` every few epochs, one of the setup's seed trained in this directory first.

    A seed that was asked for is shown alone.
    """
    seed = setup["seed"]
    if on_run is not None:
        line = "{0.group}, L = {0.L}: epoch {1} of {0.epochs}"
        told = lambda stage, epoch: None if epoch % TOLD_EVERY else on_run(line.format(stage, epoch))
        return {seed: run(stages(Experiment(group, seed=seed), lengths), OWN_RUNS, told)}
    runs = {n: results for n, results in kept(group).items() if len(results) > len(lengths)}
    if "seed" not in setup.given:
        return runs
    if seed not in runs:
        listed = ", ".join(map(str, runs)) or "none"
        raise InputError(f"seed = {seed} of {group} is not kept: there are {listed}; --paper runs it.")
    return {seed: runs[seed]}


def _in_words(runs: Mapping[int, Any]) -> str:
    return f"seed {next(iter(runs))}" if len(runs) == 1 else f"{len(runs)} seeds"


def _accuracy(ax: Axes, families: Mapping[str, Mapping[str, Results]], dashed: Sequence[tuple[int, str]]) -> str:
    """Means over the runs of every family and each run, over the length of the test; trained lengths dashed."""
    means, told = [], []
    for i, (name, runs) in enumerate(families.items()):
        color, shares = "0.5" if "more steps" in name else f"C{i}", [results["all_right"] for results in runs.values()]
        lengths = [int(L) for L in shares[0]]
        for label, of_run in zip(runs, shares):
            ax.plot(lengths, list(of_run.values()), linewidth=0.6, alpha=0.6, color=color, label=label)
            below = [f"{share:.3f} at {L}" for L, share in of_run.items() if share < 1]
            told.append(f"{label}: {', '.join(below) or '1 at every length'}")
        mean = np.mean([list(of_run.values()) for of_run in shares], axis=0)
        means += ax.plot(lengths, mean, "-o", markersize=4, linewidth=1.2, color=color, label=name)
    for L, color in dashed:
        ax.axvline(L, color=color, linestyle="--", linewidth=1)
    ax.set_xscale("log")
    ax.set_xticks(lengths, labels=[str(L) for L in lengths])
    ax.minorticks_off()
    low = max(-0.03, ax.dataLim.ymin - 0.05)
    ax.set(xlabel="length L", ylabel="all answers right", ylim=(low, 1 + 0.03 * (1 - low)))
    ax.legend(handles=means, **BELOW)
    return "; ".join(told)


def accuracy_by_group(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1a: models trained at L = 5, every seed kept, over test lengths; and at one length along training."""
    figure, (over_lengths, along) = grid(2, 2, (6.2, 4.2))
    runs = {group: {seed: results[0] for seed, results in _shown(setup, on_run, group).items()} for group in GROUPS}
    families = {f"{TASKS[group]}, {_in_words(of_group)}": {f"{group} seed {seed}": r for seed, r in of_group.items()}
                for group, of_group in runs.items()}  # fmt: skip
    told, place = _accuracy(over_lengths, families, [(5, "0.4")]), 2 + COURSE_LENGTHS.index(COURSE_AT)
    for i, of_group in enumerate(runs.values()):
        for course in (results["course"] for results in of_group.values() if results["course"]):
            along.plot([look[0] for look in course], [look[place] for look in course], ".-", color=f"C{i}", alpha=0.6)
    along.set(xlabel="steps of Adam", ylabel=f"all answers right at L = {COURSE_AT}", ylim=(-0.03, 1.03))
    figure.suptitle("trained at L = 5 (dashed), no residual (Def. 3.5)", fontsize="medium")
    return Drawing(figure, {}, told)


def accuracy_by_stage(setup: Setup, on_run: OnRun = None) -> Drawing:
    """Fig. 1b: S5 self-trained 5 → 10 → 20 → 40, the training length of each stage dashed in its colour.

    Grey: as many further steps, all at L = 5.
    """
    runs = _shown(setup, on_run, "S5", DOUBLED_LENGTHS)
    trained = [results["trained_to"] for results in next(iter(runs.values()))]
    families = {f"trained to L = {L}": {f"seed {seed} to {L}": results[i] for seed, results in runs.items()}
                for i, L in enumerate(trained)}  # fmt: skip
    controls = kept("S5", longer=len(DOUBLED_LENGTHS)) if on_run is None else {}
    if beside := {f"seed {seed} control": results[0] for seed, results in controls.items() if seed in runs}:
        families["as many more steps at L = 5"] = beside
    figure, (ax,) = grid(1, 1, (6.2, 4.2))
    ax.set_title(f"{TASKS['S5']}, labels of the previous model; no residual (Def. 3.5); {_in_words(runs)}",
                 fontsize="medium")  # fmt: skip
    return Drawing(figure, {}, _accuracy(ax, families, [(L, f"C{i}") for i, L in enumerate(trained)]))


def _first_results(setup: Setup, on_run: OnRun) -> tuple[int, list[Results]]:
    """The first seed, and what its training at L = 5 left of every group."""
    runs = [_shown(setup, on_run, group) for group in GROUPS]
    return next(iter(runs[0])), [next(iter(of_group.values()))[0] for of_group in runs]


def attention_maps(setup: Setup, shown: str, on_run: OnRun = None) -> Drawing:
    """Figs. 2 and 5: mean attention of ans_0 … ans_4 at L = 5, predicates in order or permuted."""
    seed, models = _first_results(setup, on_run)
    L, is_shuffled = models[0]["trained_to"], shown == "shuffled"
    queries = [f"ans$_{i}$" for i in range(L)]
    figure = Figure(figsize=(13 if is_shuffled else 9.4, 3.3), layout="constrained")
    panels = figure.subplots(1, 3 if is_shuffled else 2, width_ratios=(0.6, 1, 1) if is_shuffled else None)
    if is_shuffled:
        order = models[0]["attention"][str(L)]["order"]
        truth = (np.arange(L)[:, None] == np.array(order)[None, :]).astype(float)
        heat(panels[0], truth, queries, [f"{i + 1}" for i in range(L)], "query", "place shown", None, digits=None)
        panels[0].set_title("predicate the query needs")
    maps = [np.array(model["attention"][str(L)][shown]["map"]) for model in models]
    largest, told = max(0.6, *(attention.max() for attention in maps)), []
    for ax, model, found in zip(panels[-2:], models, maps):
        attention, group = model["attention"][str(L)], model["group"]
        names = [i + 1 for i in attention["order"]] if is_shuffled else range(1, L + 1)
        keys = [f"p$_{i}$" for i in names] + [f"a$_{i}$" for i in range(L)]
        image = heat(ax, found, queries, keys, "query", "clause attended to", None, (0, largest), digits=None)
        ax.set_title(f"{TASKS[group]}, seed {seed}")
        on = [f"{np.mean(attention[shown][kind]):.3f} on the {kind}" for kind in KINDS]
        told.append(f"{group}, L = {L}: {', '.join(on)}")
    figure.colorbar(image, ax=panels[-2:], shrink=0.9).set_label("attention")
    figure.suptitle(f"trained at L = {L}, no residual (Def. 3.5)", fontsize="medium")
    return Drawing(figure, {}, f"seed {seed}; {'; '.join(told)}")


def diagonal_attention(setup: Setup, kind: str, on_run: OnRun = None) -> Drawing:
    """Figs. 6 (predicates) and 7 (answers): attention on the right clause by position, at L = 10 and 20.

    Dotted: even attention on the L + ℓ + 1 clauses that ans_ℓ sees.
    """
    seed, models = _first_results(setup, on_run)
    (figure, (ax,)), told = grid(1, 1, (6.2, 4.2)), []
    for L, style in ((10, "o-"), (20, "s--")):
        for i, model in enumerate(models):
            line, group = np.array(model["attention"][str(L)]["in_order"][kind]), model["group"]
            label = f"{TASKS[group]}, L = {L}"
            ax.plot(np.arange(1, L + 1) / L, line, style, color=f"C{i}", markersize=4, linewidth=0.8, label=label)
            told.append(f"{group}, L = {L}: {line[0]:.3f} first, {line[-1]:.3f} last, {line.mean():.3f} mean")
        ax.plot(np.arange(1, L + 1) / L, 1 / (L + np.arange(1, L + 1)), ":", color="0.4", linewidth=0.5 + 5 / L,
                label=f"even attention, L = {L}")  # fmt: skip
    ax.set(xlabel=r"position $(\ell + 1)/L$", ylabel=f"attention {KINDS[kind]}")
    ax.set_ylim(bottom=0)
    ax.set_title(f"trained at L = 5, no residual (Def. 3.5), seed {seed}", fontsize="medium")
    ax.legend(**BELOW)
    return Drawing(figure, {}, f"seed {seed}; {'; '.join(told)}")


_experiment = partial(PaperFigure, heeds=("seed",))
FIGURES = {
    "1a": _experiment(
        accuracy_by_group,
        "Accuracy over the length of the test after training at $L$ = 5 (dashed): nearly perfect far beyond it for the "
        "cyclic group, soon lost for the symmetric one.",
    ),
    "1b": _experiment(
        accuracy_by_stage,
        "The symmetric group trained on its own longer chains, doubled stage by stage: each stage's accuracy, its "
        "training length dashed in its colour; the solvable length grows.",
    ),
    "2": _experiment(
        partial(attention_maps, shown="in_order"),
        "Attention at convergence for $L$ = 5, a row for each answer clause that asks. Two diagonals: each "
        "answer attends to itself and to the predicate that follows.",
    ),
    "5": _experiment(
        partial(attention_maps, shown="shuffled"),
        "The model of Fig. 2 on permuted predicates: (a) the permutation, then attention for the cyclic and for the "
        "symmetric group. Predicates are found by their variable, not by their place.",
    ),
    "6": _experiment(
        partial(diagonal_attention, kind="predicate"),
        "Attention on the right predicate over its relative position, trained at $L$ = 5, tested at 10 and 20: it "
        "falls with the position for the symmetric group and stays level for the cyclic one.",
    ),
    "7": _experiment(
        partial(diagonal_attention, kind="answer"),
        "As Fig. 6 for the right answer clause: level for the symmetric group, sensitive to length and position for "
        "the cyclic one.",
    ),
}
