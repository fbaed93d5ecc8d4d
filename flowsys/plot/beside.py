"""Figures of a flow beside its training: panels of series, and the set-up above them in the paper's symbols."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from flowsys.plot.drawing import Drawing
from flowsys.plot.trajectory import compared
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup, System
from flowsys.system.names import assignments


def titled(figure: Figure, system: System, setup: Setup, names: Iterable[str], before: str = "") -> None:
    """Name what a picture was made with above it, in symbols."""
    values = {name: setup[name] for name in names}
    figure.suptitle(before + ", ".join(assignments(values, system.names.symbols(values))), fontsize="medium")


def panels_beside(
    runs: Mapping[str, Trajectory],
    groups: Mapping[str, Sequence[str] | Mapping[str, str | None]],
    shape: tuple[int, int],
    size: tuple[float, float],
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> Drawing:
    """A panel for every group of series (by title): the flow as lines, training as dots; `looks` changes single ones.

    A group is a list of names, or what each series is called (None: its symbol).
    """
    figure = Figure(figsize=size, layout="constrained")
    for ax, (title, names) in zip(figure.subplots(*shape, squeeze=False).ravel(), groups.items()):
        labels = names if isinstance(names, Mapping) else dict.fromkeys(names)
        compared(ax, runs["theory"], runs["training"], labels, **looks or {})
        ax.set_title(title, fontsize="medium")
    return Drawing(figure, runs)
