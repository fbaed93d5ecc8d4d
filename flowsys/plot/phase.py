"""A phase diagram: colour for values, hatching where there is an outcome instead, lines for the theory.

What is measured is black with a white rim, what is predicted a thinner line in colour over it; a pair of them shares a
dash. The legend shows every line as it is drawn, and none that is not there.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, Stroke

from flowsys.plot.colours import LINES, VERDICT_COLOURS, VERDICTS, of_phases, of_values
from flowsys.plot.marks import new_axes
from flowsys.plot.outcomes import hatch_cells, hatch_spans
from flowsys.plot.scales import positions, scale
from flowsys.sweeps.axes import Axis
from flowsys.sweeps.diagram import CODES, PhaseDiagram
from flowsys.sweeps.named import Contour, Line, Phases
from flowsys.sweeps.refine import filled
from flowsys.system.names import told, wrapped

DASHES = ("-", "--", ":", "-.")
PREDICTED = {"linewidth": 1.5, "zorder": 4}
MEASURED: dict[str, Any] = {"color": "black", "linewidth": 2.4}
RIM = [Stroke(linewidth=4.0, foreground="white"), Normal()]


def phase(
    diagram: PhaseDiagram,
    ax: Axes | None = None,
    quantity: str | None = None,
    logarithmic: bool | None = None,
    boundary: Sequence[Line] = (),
    title: str = "",
    contours: Sequence[Contour] = (),
    over_seeds: str = "median",
    limits: tuple[float, float] | None = None,
    phases: Phases | None = None,
    words: Mapping[str, str] | None = None,
    measured: Sequence[Line] = (),
) -> Axes:
    """Draw a quantity over the first axis (and the second, if there is one; further axes at their first value).

    Seeds are no axis of a picture where there is another one: it shows their median, or the share of them above 0.
    Boundaries are the theory's lines, `measured` ones were traced, contours are lines of other measured quantities;
    `limits` are those of the colours (of the y axis, where there is one axis only); `phases` turns values into phases
    with names; `words` says what outcomes mean here.
    """
    ax = new_axes((6.4, 4.8)) if ax is None else ax
    name = quantity or next(iter(diagram.quantities))
    axes, values, outcomes = _shown(diagram, name, over_seeds)
    words = _horizon(diagram) | dict(words or {})
    is_share = over_seeds == "share above 0" and len(axes) < len(diagram.axes)
    label = f"share of seeds with {diagram.label(name)} > 0" if is_share else diagram.label(name)
    if values.ndim == 1:
        _curve(diagram, name, axes[0], values, outcomes, ax, logarithmic, words)
        ax.set_ylabel(label)
        colours: tuple[str, ...] = LINES
    else:
        limits = (0.0, 1.0) if is_share else limits
        colours = _map(axes, values, ax, label, logarithmic, limits, phases, name)
        hatch_cells(axes[0].edges, axes[1].edges, outcomes, ax, words)
    for line, (colour, dash) in zip(boundary, cycle(product(colours, DASHES))):
        _line(ax, line, color=colour, linestyle=dash, **PREDICTED)
    known = [contour for contour in contours if contour.quantity in diagram.quantities and values.ndim > 1]
    for contour, dash in zip(known, cycle(DASHES)):
        _contour(diagram, contour, axes, ax, dash)
    for line, dash in zip(measured, cycle(DASHES[::-1])):
        _line(ax, line, linestyle=dash, path_effects=RIM, **MEASURED)
    for axis, where in zip(axes, "xy"):
        scale(ax, axis, where, diagram.symbol(axis.name))
        if values.ndim > 1:  # lines do not widen a map
            (ax.set_xlim if where == "x" else ax.set_ylim)(*axis.edges[[0, -1]])
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize="small", ncols=2, handlelength=2.8
        )
    ax.set_title(wrapped(title), fontsize="medium")
    return ax


def _horizon(diagram: PhaseDiagram) -> dict[str, str]:
    """Until when an event was waited for, where that was set."""
    t_max = diagram.origin.get("fixed", {}).get("t_max")
    if t_max is None:
        return {}
    return {"event not reached by t_max": f"not reached by {diagram.symbol('t')} = {told(t_max)}"}


def _map(axes, values, ax: Axes, label: str, logarithmic, limits, phases, name: str) -> tuple[str, ...]:
    """The coloured cells; given back are the colours of lines that show on them."""
    is_verdict = name.startswith("verdict(")
    if phases or is_verdict:
        colours = of_phases(phases) if phases else of_phases(VERDICTS, VERDICT_COLOURS)
        values = (phases or VERDICTS).number(values)
    else:
        colours = of_values(values, logarithmic, limits)
    picture = np.ma.masked_invalid(values.T)
    mesh = ax.pcolormesh(axes[0].edges, axes[1].edges, picture, norm=colours.norm, cmap=colours.cmap, rasterized=True)
    colours.bar(mesh, ax, label)
    return colours.lines


def _line(ax: Axes, line: Line, **look) -> None:
    """A predicted line, where any of it lies on the picture."""
    if np.isfinite(np.asarray(line.x, dtype=float) + np.asarray(line.y, dtype=float)).any():
        ax.plot(line.x, line.y, label=line.label, **look)


def _contour(diagram: PhaseDiagram, contour: Contour, axes: Sequence[Axis], ax: Axes, dash: str) -> None:
    """A measured contour, where the quantity takes the value."""
    level = np.ma.masked_invalid(_shown(diagram, contour.quantity, "median")[1].T)
    if not level.count() or not level.min() <= contour.level <= level.max() or min(level.shape) < 2:
        return
    drawn = ax.contour(
        positions(axes[0]), positions(axes[1]), level, [contour.level], colors=MEASURED["color"], linestyles=dash,
        linewidths=MEASURED["linewidth"],
    )  # fmt: skip
    drawn.set_path_effects(RIM)
    ax.plot([], [], linestyle=dash, label=contour.label, path_effects=RIM, **MEASURED)


def _curve(diagram, name: str, axis: Axis, values, outcomes, ax: Axes, logarithmic, words) -> None:
    """One axis: the theory as a line with its points; training, and what has a spread over seeds, as dots with bars."""
    at, (spread, over) = positions(axis), _spread(diagram, name)
    if diagram.origin.get("level") == "L0" or spread is not None:
        look: dict[str, Any] = {"markersize": 4, "capsize": 2, "elinewidth": 0.9}
        ax.errorbar(at, values, yerr=spread, fmt="o", color="C0", label=over or None, **look)
    else:
        ax.plot(at, values, marker="o", markersize=3, linewidth=1, color="C0")
    hatch_spans(axis.edges, outcomes, ax, words)
    known = values[np.isfinite(values)]
    spans = known.size and known.min() > 0 and known.max() > 100 * known.min()
    if known.size and (known > 0).all() and (spans if logarithmic is None else logarithmic):
        ax.set_yscale("log")


def _spread(diagram, name: str) -> tuple[np.ndarray | None, str]:
    """What lies below and above a curve, and what that is: quartiles over seeds, or std(Q) beside mean(Q)."""
    names = [axis.name for axis in diagram.axes]
    if "seed" in names and len(names) == 2:
        place = names.index("seed")
        values = np.moveaxis(diagram.quantities[name], place, -1)
        known, quartiles = np.isfinite(values).any(axis=-1), np.full((3, len(values)), np.nan)
        quartiles[:, known] = np.nanquantile(values[known], (0.25, 0.5, 0.75), axis=-1)
        low, middle, high = quartiles
        return np.array([middle - low, high - middle]), f"median and quartiles of {diagram.shape[place]} seeds"
    std = diagram.quantities.get(name.replace("mean(", "std(", 1)) if name.startswith("mean(") else None
    if std is None or std.ndim != 1:
        return None, ""
    return np.array([std, std]), f"mean and standard deviation of {diagram.origin['seeds']} seeds"


def _shown(diagram: PhaseDiagram, name: str, over_seeds: str):
    """Axes, values and outcomes of a picture: at most two axes, none of them seeds if there is another."""
    values, outcomes = filled(diagram.quantities[name], diagram.outcomes)
    axes, values, outcomes = _over_seeds(diagram.axes, values, outcomes, over_seeds)
    extra = (..., *[0] * max(values.ndim - 2, 0))
    return axes[:2], values[extra], outcomes[extra]


def _over_seeds(axes: Sequence[Axis], values: np.ndarray, outcomes: np.ndarray, kind: str):
    """The median over seeds that have a value, or the share of seeds above 0; else the outcome of the first seed."""
    names = [axis.name for axis in axes]
    if "seed" not in names or len(axes) == 1:
        return axes, values, outcomes
    place = names.index("seed")
    has_value = np.isfinite(values)
    if kind == "share above 0":
        has_value |= outcomes == CODES["event not reached by t_max"]
    first = np.take_along_axis(outcomes, np.argmax(has_value, axis=place, keepdims=True), axis=place).squeeze(place)
    count = has_value.sum(axis=place, keepdims=True)
    if kind == "share above 0":
        above = (values > 0).sum(axis=place, keepdims=True)
        shown = np.where(count > 0, above / np.maximum(count, 1), np.nan).squeeze(place)
        first = np.where(count.squeeze(place) > 0, CODES["completed"], first)
    else:
        ordered = np.sort(values, axis=place)  # NaN last
        pick = lambda i: np.take_along_axis(ordered, np.clip(i, 0, None), axis=place).squeeze(place)
        shown = (pick((count - 1) // 2) + pick(count // 2)) / 2
    return [axis for axis in axes if axis.name != "seed"], shown, first
