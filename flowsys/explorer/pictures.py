"""The pictures of an explorer, as PNG: curves with training as dots, and a diagram with the place one is at."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.explorer.view import View
from flowsys.plot import diagram as draw_diagram
from flowsys.plot import trajectory as draw
from flowsys.runs.trajectory import Trajectory
from flowsys.sweeps.diagram import PhaseDiagram

DPI = 80
ROOM = {"left": 0.1, "right": 0.98, "bottom": 0.13, "top": 0.93}  # fixed: laying out anew would take most of the time


@dataclass(frozen=True)
class Drawn:
    """A picture with where its axes lie: from a place on it (0 … 1, from the top left) to numbers on the axes."""

    png: bytes
    axes: Axes

    def numbers_at(self, x: float, y: float) -> tuple[float, float] | None:
        """What stands at a place of the picture; None outside the axes."""
        figure = self.axes.figure
        width, height = figure.bbox.width, figure.bbox.height
        at = (x * width, (1 - y) * height)
        if not self.axes.bbox.contains(*at):
            return None
        x, y = map(float, self.axes.transData.inverted().transform(at))
        return x, y


def curves(run: Trajectory, names: tuple[str, ...], logarithmic: bool, trained: Trajectory | None = None) -> Drawn:
    """Theory as lines, training as dots, events as rules."""
    figure = Figure(figsize=(7.2, 4.0), dpi=DPI)
    ax = figure.subplots()
    figure.subplots_adjust(**ROOM)
    draw(run, ax, list(names), logarithmic=logarithmic)
    if trained is not None:
        draw(trained, ax, list(names), label=f"training, width {trained.origin.parameters['width']}")
        ax.set_xlim(right=1.02 * run.t[-1])
    if logarithmic:
        ax.set_xlim(left=max(run.t[-1] / 1e6, float(run.t[run.t > 0].min())))
    return Drawn(_png(figure), ax)


def diagram(result: PhaseDiagram, here: tuple[Any, Any]) -> Drawn:
    """The diagram, with a ring where the sliders stand."""
    figure = Figure(figsize=(6.0, 4.6), dpi=DPI, layout="constrained")
    ax = figure.subplots()
    draw_diagram(result, ax)
    ax.plot(*([value] for value in here), "o", color="white", markeredgecolor="black", markersize=9, zorder=9)
    return Drawn(_png(figure), ax)


def caption(view: View, run: Trajectory) -> str:
    """The numbers at the end of the curves, and the events."""
    ends = [f"{name} = {run[name][-1]:.8g}" for name in view.names]
    events = [f"{name} at {t:.6g}" for name, t in run.events.items() if t is not None]
    return f"t = {run.t[-1]:g}: {', '.join(ends)}" + (f"; {', '.join(events)}" if events else "")


def _png(figure: Figure) -> bytes:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    return content.getvalue()


def is_drawable(run: Trajectory, names: tuple[str, ...]) -> bool:
    """Whether there is anything to draw."""
    return len(run) > 1 and all(np.isfinite(run[name]).any() for name in names)
