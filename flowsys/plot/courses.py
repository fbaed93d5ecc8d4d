"""Courses of training runs: what was seen along each of a family of kept runs, panel by panel."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
    figure, axes = grid(len(panels), len(panels), (6.4, 4.6) if len(panels) == 1 else (4.4, 4.2), sharey=True)
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
