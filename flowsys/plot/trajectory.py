"""Series of a trajectory over time, events as vertical lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from flowsys.plot.marks import dots, line, new_axes
from flowsys.runs.trajectory import Trajectory
from flowsys.system.names import typeset

FEW = 10  # rows that a line alone would not show
DOTS = 60  # of training beside the flow
APART, LINE = 0.05, 0.045  # of the axes: between the names of events, and between lines of them
MOST = 40  # dots of training over time, with error bars where there are seeds


def shown(result: Trajectory, name: str) -> str:
    """What a picture calls a series, an event, a parameter, or time (`t`)."""
    return typeset(result.symbol(name))


def trajectory(
    result: Trajectory,
    ax: Axes | None = None,
    names: Sequence[str] | Mapping[str, str] | str | None = None,
    *,
    label: str = "",
    logarithmic: bool = False,
) -> Axes:
    """Draw named series: a line for theory (L1 … L4), dots for training (L0), with error bars over seeds.

    `names` may say what each is called in the legend, {name: words}, where its symbol does not.
    Without `ax` on a new figure, as pyplot makes them.
    """
    ax = new_axes() if ax is None else ax
    is_training = result.origin.level == "L0"
    said = names if isinstance(names, Mapping) else {}
    names = [names] if isinstance(names, str) else list(result.series)[:4] if names is None else list(names)
    for i, name in enumerate(names):
        called = f"{said.get(name) or shown(result, name)} {label}".strip()
        if is_training:
            _trained(result, ax, name, i)
        else:
            points = {"marker": "o", "markersize": 4} if len(result) < FEW else {}
            line(ax, result.t, result[name], called, f"C{i}", **points)
    if is_training:  # dots take the colours of the lines they lie on, and one entry in the legend for all
        n_seeds = next((result[name].shape[1] for name in names if result[name].ndim > 1), 1)
        over = f": mean and standard deviation of {n_seeds} seeds" if n_seeds > 1 else ""
        ax.plot([], [], "o", color="0.4", markersize=3, label=f"{label or 'training'} (dots{over})")
    if len(names) == 1 and not ax.get_ylabel():
        ax.set_ylabel(shown(result, names[0]))
    named: list[Annotation] = []
    for t, event in zip(result.t, result.labels):
        if event:
            ax.axvline(t, color="0.7", linewidth=0.8, linestyle=":")
            look: dict[str, Any] = {"fontsize": "x-small", "va": "bottom", "ha": "center"}
            named.append(ax.annotate(shown(result, event), (t, 1.0), xycoords=("data", "axes fraction"), **look))
    if logarithmic:
        ax.set_xscale("log")
    keep_apart(ax, named)
    ax.set_xlabel(shown(result, "t"))
    ax.legend(frameon=False, fontsize="small")
    return ax


def keep_apart(ax: Axes, named: Sequence[Annotation]) -> None:
    """Let the name of an event that would lie on its neighbour's stand a line higher."""
    last: list[float] = []  # where the names of each line end
    for text in sorted(named, key=lambda text: text.xy[0]):
        at = float(ax.transAxes.inverted().transform(ax.transData.transform((text.xy[0], 0.0)))[0])
        line = next((i for i, end in enumerate(last) if not at - end < APART), len(last))
        last[line:] = [at]
        text.xy = (text.xy[0], 1.0 + LINE * line)
        text.set_position(text.xy)


def compared(
    ax: Axes, theory: Trajectory, training: Trajectory, labels: Mapping[str, str | None], **looks: Mapping[str, Any]
) -> None:
    """Series of the flow as lines and of descent from the same setup as dots of their colours, over descent's steps.

    `labels` names the series and what each is called (None: its symbol); `looks` changes single lines and their dots.
    """
    rate = training.origin.parameters["learning_rate"]
    few = slice(None, None, max(1, len(training) // DOTS))
    for i, (name, label) in enumerate(labels.items()):
        look: dict[str, Any] = {"linewidth": 1.5, "markersize": 4, **looks.get(name, {})}
        size = look.pop("markersize")
        line(ax, theory.t / rate, theory[name], label or shown(theory, name), f"C{i}", **look)
        ax.plot(training.t[few] / rate, training[name][few], ".", color=f"C{i}", markersize=size)
    ax.plot([], [], ".", color="0.4", label="training")
    ax.set_xlabel("steps")
    ax.legend(frameon=False, fontsize="small")


def _trained(result: Trajectory, ax: Axes, name: str, number: int) -> None:
    rows = np.unique(np.linspace(0, len(result) - 1, min(MOST, len(result))).round().astype(int))
    dots(ax, result.t[rows], result[name][rows], "", f"C{number}", markersize=3)
