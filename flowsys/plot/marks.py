"""Theory as lines, training as dots with error bars over seeds, matrices as maps: what figures are made of."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from flowsys.plot.colours import of_values


def new_axes(size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """Axes of a new figure of pyplot's, so that a notebook shows it; pictures that are given axes never come here."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, dpi=75, layout="constrained")[1]


def grid(n: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure of n panels, so many to a row and each of the size given; what is left of the last row stays empty."""
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = Figure(figsize=(columns * size[0], rows * size[1]), layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for place in places[n:]:
        place.set_axis_off()
    return figure, list(places[:n])


def line(ax: Axes, x: Any, y: Any, label: str = "", colour: str = "C0", **look: Any) -> None:
    """A line of the theory."""
    ax.plot(x, y, color=colour, label=label or None, **({"linewidth": 1.5} | look))


def dots(ax: Axes, x: Any, values: Any, label: str = "", colour: str = "C0", **look: Any) -> None:
    """What was measured: a dot for each x; with seeds (x × seeds) their mean, and their standard deviation as a bar."""
    values = np.asarray(values, dtype=float)
    drawn: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 2, "elinewidth": 0.9, **look}
    if values.ndim == 1 or values.shape[1] == 1:
        spread = None
    else:
        spread = np.nanstd(values, axis=1, ddof=1)
        n = values.shape[1]
        label = f"{label}, mean and standard deviation of {n} seeds" if label else ""
    middle = np.nanmean(values, axis=1) if values.ndim > 1 else values
    ax.errorbar(x, middle, yerr=spread, color=colour, label=label or None, **drawn)


def heat(
    ax: Axes,
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    row: str,
    column: str,
    label: str | None,
    limits: tuple[float, float] | None = None,
    digits: int | None = 2,
) -> AxesImage:
    """A small matrix with names along both sides (`row` and `column` say what they are) and a colour bar.

    Signed values get a diverging map; `digits` of None leaves the numbers out of the cells, a `label` of None the bar:
    panels may share one.
    """
    values = np.asarray(values, dtype=float)
    colours = of_values(values, False, limits)
    image = ax.imshow(values, norm=colours.norm, cmap=colours.cmap, aspect="auto" if values.size > 100 else "equal")
    for i, j in np.ndindex(*(values.shape if digits is not None else (0, 0))):
        red, green, blue, _ = image.to_rgba(values[i, j])
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        text = f"{values[i, j]:.{digits}f}"
        ax.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=8)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xlabel(column)
    ax.set_ylabel(row)
    if label is not None:
        ax.figure.colorbar(image, ax=ax, shrink=0.85).set_label(label)
    return image


def lettered(
    panels: Sequence[Axes], titles: Sequence[str] = (), loc: Literal["left", "center", "right"] = "center"
) -> None:
    """(a), (b), … before the titles of panels."""
    for i, ax in enumerate(panels):
        title = titles[i] if i < len(titles) else ax.get_title()
        ax.set_title(f"({chr(ord('a') + i)}) {title}".strip(), loc=loc, fontsize="medium")
