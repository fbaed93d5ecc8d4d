"""The paper's Figures 1a, 1b, 2, 5, 6, 7 from the stored runs of the Section 7 experiment (`section_7.packaged`).

Accuracy is the share of sentences whose values are all right when the model writes every answer itself. Bars of
accuracy are two standard errors of the number of sentences tested. Curves of accuracy are drawn for every seed kept,
all but the first thin; attention is that of seed 0.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from flowsys.drawing import Drawing
from flowsys.phase import Axis, PhaseDiagram
from flowsys.system import Setup
from flowsys.systems.lego.section_7 import packaged, packaged_control, packaged_seeds

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


def _curve(ax, results: dict[str, Any], color: str, label: str, seed: int = 0) -> np.ndarray:
    lengths = [int(L) for L in results["all_right"]]
    share = np.array(list(results["all_right"].values()))
    error = 2 * np.sqrt(share * (1 - share) / results["sentences"])
    look = {"fmt": ":s", "markersize": 3, "elinewidth": 0.5} if seed else {"fmt": "-o", "markersize": 4}
    ax.errorbar(lengths, share, error, linewidth=0.8, color=color, label=label, **look)
    return share


def _where_below_1(results: dict[str, Any]) -> str:
    """The shares of sentences with every answer right, where not all are, in words."""
    below = [f"{share:.3f} at {L}" for L, share in results["all_right"].items() if share < 1]
    return ", ".join(below) or "1 at every length"


def _of_seed(seed: int) -> str:
    return f", seed {seed}"


def accuracy_by_group(setup: Setup) -> Drawing:
    """Fig. 1a: models trained at L = 5, over test lengths, every seed that is kept."""
    lengths = [int(L) for L in packaged(GROUPS[0])[0]["all_right"]]
    figure, ax = _accuracy_axes(lengths)
    shares, told = {}, []
    for i, group in enumerate(GROUPS):
        for seed in packaged_seeds(group):
            first = packaged(group, seed=seed)[0]
            shares[f"{group} seed {seed}"] = _curve(ax, first, f"C{i}", TASKS[group] + _of_seed(seed), seed)
            told.append(f"{group}, seed {seed}: {_where_below_1(first)}")
    ax.axvline(packaged(GROUPS[0])[0]["trained_to"], color="0.4", linestyle="--", linewidth=1, label="training length")
    _legend_below(ax, 3)
    accuracy = _table({"L": lengths, "run": tuple(shares)}, all_right=np.array(list(shares.values())).T)
    return Drawing(figure, {"accuracy": accuracy}, "; ".join(told))


def accuracy_by_stage(setup: Setup) -> Drawing:
    """Fig. 1b: S5 self-trained 5 → 10 → 20 → 40, the training length of each stage dashed in its colour.

    Grey: as many further steps, all of them at L = 5.
    """
    lengths = [int(L) for L in packaged("S5")[0]["all_right"]]
    figure, ax = _accuracy_axes(lengths)
    shares, told = {}, []
    for seed in packaged_seeds("S5"):
        for i, stage in enumerate(packaged("S5", seed=seed)):
            to = stage["trained_to"]
            shares[f"seed {seed} to {to}"] = _curve(ax, stage, f"C{i}", f"L = {to}{_of_seed(seed)}", seed)
            told.append(f"seed {seed}, trained to {to}: {_where_below_1(stage)}")
            if not seed:
                ax.axvline(to, color=f"C{i}", linestyle="--", linewidth=1)
    control = packaged_control("S5")
    seed = control["experiment"]["seed"]
    shares["control"] = _curve(ax, control, "0.5", f"as many more steps at L = 5{_of_seed(seed)}", seed)
    told.append(f"control, seed {seed}, as many further steps at L = 5: {_where_below_1(control)}")
    _legend_below(ax, 3, title="trained to")
    ax.set_title(f"{TASKS['S5']}, labels written by the previous model", fontsize="medium")
    accuracy = _table({"L": lengths, "run": tuple(shares)}, all_right=np.array(list(shares.values())).T)
    return Drawing(figure, {"accuracy": accuracy}, "; ".join(told))


def attention_maps(setup: Setup, shown: str) -> Drawing:
    """Figs. 2 and 5: mean attention of ans_0 … ans_4 at L = 5, predicates in order or permuted."""
    stages = [packaged(group)[0] for group in GROUPS]
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
    maps = []
    for ax, stage in zip(panels[-2:], stages):
        attention = stage["attention"][str(L)]
        maps.append(np.array(attention[shown]["map"]))
        image = ax.imshow(maps[-1], cmap="viridis", vmin=0, vmax=max(0.6, maps[-1].max()), aspect="auto")
        figure.colorbar(image, ax=ax, shrink=0.9)
        names = [i + 1 for i in attention["order"]] if is_shuffled else range(1, L + 1)
        columns = [f"p$_{i}$" for i in names] + [f"a$_{i}$" for i in range(L)]
        ax.set_xticks(range(2 * L), labels=columns)
        ax.set_yticks(range(L), labels=[f"ans$_{i}$" for i in range(L)])
        ax.set(xlabel="clause attended to", title=f"{TASKS[stage['group']]}, seed 0")
    axes = {"group": GROUPS, "query": range(L), "clause": range(2 * L)}
    return Drawing(
        figure, {"attention": _table(axes, attention=np.array(maps))}, "seed 0; " + _masses(stages, L, shown)
    )


def _masses(stages, L: int, shown: str) -> str:
    """Mean attention on the two clauses that matter."""
    told = []
    for stage in stages:
        lines = stage["attention"][str(L)][shown]
        on = [f"{np.mean(lines[kind]):.3f} on the {kind}" for kind in KINDS]
        told.append(f"{stage['group']}, L = {L}: {', '.join(on)}")
    return "; ".join(told)


def diagonal_attention(setup: Setup, kind: str) -> Drawing:
    """Figs. 6 (predicates) and 7 (answers): attention on the right clause by position, at L = 10 and 20."""
    stages = [packaged(group)[0] for group in GROUPS]
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
    ax.set_title("trained at L = 5, seed 0", fontsize="medium")
    _legend_below(ax, 2)
    return Drawing(figure, data, "seed 0; " + "; ".join(told))


FIGURES = {
    "1a": accuracy_by_group,
    "1b": accuracy_by_stage,
    "2": partial(attention_maps, shown="in_order"),
    "5": partial(attention_maps, shown="shuffled"),
    "6": partial(diagonal_attention, kind="predicate"),
    "7": partial(diagonal_attention, kind="answer"),
}
