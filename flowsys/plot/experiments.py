"""Pictures of families of training runs: what was seen along each, what they needed to learn, how they attend."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.plot.marks import grid


@dataclass(frozen=True)
class Course:
    """One curve along training; `reached` is where a star marks its goal: (x, y)."""

    label: str
    x: Any
    y: Any
    reached: tuple[float, float] | None = None


def courses(panels: Mapping[str, Iterable[Course]], xlabel: str, ylabel: str) -> Figure:
    """A panel for each group of courses, over logarithmic axes of what was seen; a label has one colour in all."""
    size = (6.4, 4.6) if len(panels) == 1 else (4.4, 4.2)
    figure, axes = grid(len(panels), len(panels), size, sharex=True, sharey=True)
    colours: dict[str, str] = {}
    for ax, (title, group) in zip(axes, panels.items()):
        for course in group:
            label = course.label if course.label not in colours else None
            colour = colours.setdefault(course.label, f"C{len(colours)}")
            ax.plot(course.x, course.y, ".-", color=colour, markersize=3.5, linewidth=0.8, alpha=0.7, label=label)
            if course.reached is not None:
                ax.plot(*course.reached, "*", color=colour, markersize=11)
        ax.set(xlabel=xlabel, ylim=(0, 1.05), xscale="log")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title, fontsize="medium")
    axes[0].set_ylabel(ylabel)
    figure.legend(loc="outside lower center", frameon=False, ncols=2, fontsize="small")
    return figure


def needed(
    ax: Axes,
    found: Mapping[Any, Sequence[float | None]],
    budgets: Mapping[Any, float],
    label: str,
    colour: str = "C0",
    shift: float = 0.0,
) -> None:
    """What runs needed to reach their goal over a parameter: a dot a seed, a line through the medians.

    None is a run that ran out of its budget: an open triangle there says of how many.
    """
    for x, runs in found.items():
        reached = [needs for needs in runs if needs is not None]
        ax.plot([x + shift] * len(reached), reached, "o", color=colour, alpha=0.5, markersize=4.5)
        if over := len(runs) - len(reached):
            ax.plot(x + shift, budgets[x], "^", color=colour, markerfacecolor="none")
            ax.annotate(f"{over} of {len(runs)}\nover budget", (x + shift, budgets[x]), ha="left", va="center",
                        fontsize="x-small", xytext=(7, 0), textcoords="offset points")  # fmt: skip
    medians = [np.median([np.inf if needs is None else needs for needs in runs]) for runs in found.values()]
    ax.plot(np.array(list(found)) + shift, medians, "-", color=colour, linewidth=0.8, alpha=0.6)
    ax.plot([], [], "o-", color=colour, label=label)


def attention(heads: Any, wanted: Any, label: str, names: tuple[str, str], title: str = "") -> Figure:
    """Attention of every head (layers × heads × queries × keys), a panel each.

    Squares mark the key `wanted` by each query, as its place from 0; `names` are those of the keys, and of the queries
    before their number. Both are counted from 1.
    """
    heads = np.asarray(heads)
    layers, per_layer, n_queries, n_keys = heads.shape
    size = 4.2 + 4.2 / per_layer, 2.8 + 1.4 / layers
    figure, axes = grid(layers * per_layer, per_layer, size, sharex=True, sharey=True)
    for number, ax in enumerate(axes):
        layer, head = divmod(number, per_layer)
        image = ax.imshow(heads[layer, head], cmap="viridis", vmin=0, vmax=1, aspect="auto")
        ax.plot(wanted, range(n_queries), "s", color="crimson", markerfacecolor="none", label=label)
        if len(axes) > 1:
            ax.set_title(f"layer {layer + 1}, head {head + 1}", fontsize="medium")
    ax.set_xticks(range(0, n_keys, 5), [f"{key + 1}" for key in range(0, n_keys, 5)])
    ax.set_yticks(range(0, n_queries, 2), [f"{names[1]}{query + 1}" for query in range(0, n_queries, 2)])
    figure.supxlabel(names[0])
    figure.supylabel("query")
    figure.suptitle(title, fontsize="medium")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower right", frameon=False)
    figure.colorbar(image, ax=axes, label="attention")
    return figure
