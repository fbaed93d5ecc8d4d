"""The pictures of an explorer, as PNG: curves with training as dots, and a diagram with the place one is at.

A figure is kept between moves, and only what has moved is told to it: axes, legend and typeset names made anew would
take most of the time from a slider to its picture.
"""

from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from PIL import Image

from flowsys.explorer.view import View
from flowsys.plot import diagram as draw_diagram
from flowsys.plot import trajectory as draw
from flowsys.plot.trajectory import keep_apart
from flowsys.runs.trajectory import Trajectory
from flowsys.sweeps.diagram import PhaseDiagram

DPI = 100
DECADES = 8  # before the end, on a logarithmic axis of time
ROOM = {"left": 0.09, "right": 0.98, "bottom": 0.12, "top": 0.9}  # fixed: laying out anew would take time too


class Curves:
    """Theory as lines, training as dots, events as rules."""

    def __init__(self) -> None:
        figure = Figure(figsize=(8.4, 4.4), dpi=DPI)
        self._canvas = FigureCanvasAgg(figure)
        self._ax = figure.subplots()
        figure.subplots_adjust(**ROOM)
        self._drawn: tuple | None = None  # what, besides numbers, the figure shows

    def png(self, run: Trajectory, names: tuple[str, ...], logarithmic: bool, trained: Trajectory | None) -> bytes:
        """The picture of a run, with the dots of its training where they are there."""
        run = _over_decades(run) if logarithmic else run
        events = [(t, name) for t, name in zip(run.t, run.labels) if name]
        shown = (names, tuple(name for _, name in events), logarithmic)
        if trained is None and shown == self._drawn:
            self._move(run, names, events)
        else:
            self._draw(run, names, logarithmic, trained)
            self._drawn = shown if trained is None else None
        if logarithmic:
            self._ax.set_xlim(left=_first_move(run, names))
        keep_apart(self._ax, self._called())
        self._canvas.draw()
        return _png(self._canvas)

    def _draw(self, run: Trajectory, names: tuple[str, ...], logarithmic: bool, trained: Trajectory | None) -> None:
        self._ax.clear()
        draw(run, self._ax, list(names), logarithmic=logarithmic)
        if trained is not None:
            trained = replace(trained, labels=("",) * len(trained))  # rules stand at the theory's events
            draw(trained, self._ax, list(names), label=f"training, width {trained.origin.parameters['width']}")
            self._ax.set_xlim(right=1.02 * run.t[-1])

    def _move(self, run: Trajectory, names: tuple[str, ...], events: list[tuple[float, str]]) -> None:
        lines, rules = self._ax.lines[: len(names)], self._ax.lines[len(names) :]
        for line, name in zip(lines, names, strict=True):
            line.set_data(run.t, run[name])
        for rule, text, (t, _) in zip(rules, self._called(), events, strict=True):
            rule.set_xdata([t, t])
            text.xy = (t, text.xy[1])
            text.set_position(text.xy)
        self._ax.relim()
        self._ax.autoscale()

    def _called(self) -> list[Annotation]:
        """The names of events."""
        return [text for text in self._ax.texts if isinstance(text, Annotation)]


class Diagram:
    """A diagram with a ring where the sliders stand; the ring alone moves."""

    def __init__(self, result: PhaseDiagram):
        figure = Figure(figsize=(8.4, 5.2), dpi=DPI, layout="constrained")
        self._canvas = FigureCanvasAgg(figure)
        self._ax = figure.subplots()
        draw_diagram(result, self._ax)
        (self._ring,) = self._ax.plot([], [], "o", color="white", markeredgecolor="black", markersize=9, animated=True)
        self._canvas.draw()
        self._without_ring = self._canvas.copy_from_bbox(figure.bbox)

    def png(self, here: tuple[Any, Any]) -> bytes:
        """The picture, with the ring at a place."""
        self._ring.set_data(*([value] for value in here))
        self._canvas.restore_region(self._without_ring)
        self._ax.draw_artist(self._ring)
        return _png(self._canvas)

    def numbers_at(self, x: float, y: float) -> tuple[float, float] | None:
        """What stands at a place of the picture (0 … 1, from the top left); None outside the axes."""
        at = (x * self._canvas.figure.bbox.width, (1 - y) * self._canvas.figure.bbox.height)
        if not self._ax.bbox.contains(*at):
            return None
        x, y = map(float, self._ax.transData.inverted().transform(at))
        return x, y


def _over_decades(run: Trajectory) -> Trajectory:
    """The run at times that are evenly spaced on a logarithmic axis; with its events, as before."""
    times = np.geomspace(run.t[-1] / 10**DECADES, run.t[-1], len(run))
    return run.look([*times[:-1].tolist(), float(run.t[-1])]) if run.look is not None and len(run) > 1 else run


def _first_move(run: Trajectory, names: tuple[str, ...]) -> float:
    """The last power of ten before something shown has moved by a hundredth of its way."""
    moved = [np.abs(run[name] - run[name][0]) > np.ptp(run[name]) / 100 for name in names]
    known = run.t[np.any(moved, axis=0) & (run.t > 0)]
    return float(10 ** np.floor(np.log10(known[0] if len(known) else run.t[-1] / 10**DECADES)))


def caption(view: View, run: Trajectory) -> str:
    """The numbers at the end of the curves, and the events."""
    ends = [f"{name} = {run[name][-1]:.8g}" for name in view.names]
    events = [f"{name} at {t:.6g}" for name, t in run.events.items() if t is not None]
    return f"t = {run.t[-1]:g}: {', '.join(ends)}" + (f"; {', '.join(events)}" if events else "")


def _png(canvas: FigureCanvasAgg) -> bytes:
    content = BytesIO()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).save(content, format="png", compress_level=1)
    return content.getvalue()


def is_drawable(run: Trajectory, names: tuple[str, ...]) -> bool:
    """Whether there is anything to draw."""
    return len(run) > 1 and all(np.isfinite(run[name]).any() for name in names)
