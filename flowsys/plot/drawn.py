"""What a figure shows, as a table: every line, dot, bar and cell with its panel, its label and its axes."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

HEAD = ("panel", "x is", "y is", "series", "x", "y", "below", "above", "value")


def as_csv(figure: Figure, command: str = "") -> str:
    """The figure's data as CSV; a first line that begins with # carries the command."""
    text = io.StringIO()
    if command:
        text.write(f"# {command}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for number, ax in enumerate(figure.axes):
        if hasattr(ax, "_colorbar"):
            continue
        panel = ax.get_title() or ax.get_title(loc="left") or f"panel {number + 1}"
        for series, *row in _rows(ax):
            writer.writerow((panel, ax.get_xlabel(), ax.get_ylabel(), series, *row))
    return text.getvalue()


def _rows(ax: Any) -> Iterator[tuple]:
    barred = [c for c in ax.containers if isinstance(c, ErrorbarContainer)]
    bars, caps = {id(c.lines[0]): c for c in barred}, {id(cap) for c in barred for cap in c.lines[1]}
    for drawn in ax.get_lines():
        x, y = _numbers(drawn.get_xdata()), _numbers(drawn.get_ydata())
        if drawn.get_transform() != ax.transData or not len(x) or id(drawn) in caps:
            continue
        container = bars.get(id(drawn))
        label = _label(container if container is not None else drawn)
        low, high = _spread(container, y)
        yield from ((label, *row, "") for row in zip(x, y, low, high))
    for collection in ax.collections:
        if hasattr(collection, "get_coordinates"):  # a mesh of cells
            yield from _cells(collection)
        elif len(collection.get_offsets()) and collection.get_offset_transform() == ax.transData:
            yield from ((_label(collection), x, y, "", "", "") for x, y in _numbers(collection.get_offsets()))
    for image in ax.images:
        shades: np.ndarray = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
        for (i, j), value in np.ndenumerate(shades):
            yield _label(image), j, i, "", "", value
    for patch in ax.patches:
        if hasattr(patch, "get_height") and patch.get_height():
            yield _label(patch), patch.get_x() + patch.get_width() / 2, patch.get_height(), "", "", ""


def _cells(mesh: Any) -> Iterator[tuple]:
    """The middle and the value of every cell of a mesh."""
    corners = mesh.get_coordinates()
    filled: np.ndarray = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    values = filled.reshape(corners.shape[0] - 1, corners.shape[1] - 1)
    middles = (corners[1:, 1:] + corners[:-1, :-1]) / 2
    for place, value in np.ndenumerate(values):
        yield _label(mesh), *middles[place], "", "", value


def _spread(container: ErrorbarContainer | None, y: np.ndarray) -> tuple[list, list]:
    """Below and above each dot, where there are bars."""
    bars = container.lines[2] if container is not None else ()
    if not bars:
        return [""] * len(y), [""] * len(y)
    ends = [np.sort(segment[:, 1]) if len(segment) == 2 else (at, at) for segment, at in zip(bars[0].get_segments(), y)]
    return [at - low for at, (low, _) in zip(y, ends)], [high - at for at, (_, high) in zip(y, ends)]


def _label(drawn: Any) -> str:
    label = str(drawn.get_label())
    return "" if label.startswith("_") else label


def _numbers(values: Any) -> np.ndarray:
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
