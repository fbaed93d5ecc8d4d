"""A phase diagram: colour for values, hatching where there is an outcome instead, lines for the theory."""

from collections.abc import Sequence
from itertools import cycle, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flowsys.sweeps.axes import Axis
from flowsys.sweeps.diagram import CODES, OUTCOMES, PhaseDiagram
from flowsys.sweeps.named import Contour, Line
from flowsys.sweeps.refine import filled

_HATCHES = {
    CODES[name]: hatch
    for name, hatch in (
        ("event not reached by t_max", "////"),
        ("invalid parameters", "xxxx"),
        ("step budget used up", "...."),
        ("step size underflow", "++++"),
        ("state not finite", "oooo"),
        ("quantity not finite", "OO"),
        ("claim not testable", "----"),
        ("outside the claim's regime", "||||"),
    )
}


def phase(
    diagram: PhaseDiagram,
    ax: Axes,
    quantity: str | None = None,
    logarithmic: bool = False,
    boundary: Sequence[Line] = (),
    title: str = "",
    contours: Sequence[Contour] = (),
    over_seeds: str = "median",
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw a quantity over the first axis (and the second, if there is one; further axes at their first value).

    Seeds are no axis of a picture where there is another one: it shows their median, or the share of them above 0.
    Boundaries are the theory's lines, contours are lines of other measured quantities; `limits` are those of the
    colours (of the y axis, where there is one axis only).
    """
    name = quantity or next(iter(diagram.quantities))
    axes, values, outcomes = _shown(diagram, name, over_seeds)
    if values.ndim == 1:
        return _curve(
            axes[0], values, outcomes, ax, diagram.label(name), logarithmic, title, diagram.symbol(axes[0].name)
        )
    x, y = axes[:2]
    picture = np.ma.masked_invalid(values.T)
    low, high = limits or (None, None)
    is_positive = picture.count() and picture.min() > 0 and (low is None or low > 0)
    norm = LogNorm(low, high) if logarithmic and is_positive else Normalize(low, high)
    mesh = ax.pcolormesh(_edges(x), _edges(y), picture, norm=norm, cmap="viridis", rasterized=True)
    is_share = over_seeds == "share above 0" and len(axes) < len(diagram.axes)
    label = f"share of seeds with {diagram.label(name)} > 0" if is_share else diagram.label(name)
    ax.figure.colorbar(mesh, ax=ax).set_label(label, fontsize="medium" if len(label) < 45 else "small")
    _hatch_outcomes(x, y, outcomes, ax)
    for line, (colour, style) in zip(boundary, cycle(product(("crimson", "darkorange"), ("-", "--", ":")))):
        ax.plot(line.x, line.y, color=colour, linewidth=1.8, linestyle=style, label=line.label)
    known = [contour for contour in contours if contour.quantity in diagram.quantities]
    for contour, style in zip(known, cycle(("-", "--", ":"))):
        level = np.ma.masked_invalid(_shown(diagram, contour.quantity, "median")[1].T)
        ax.contour(_positions(x), _positions(y), level, [contour.level], colors="white", linestyles=style, linewidths=1)
        ax.plot([], [], color="0.75", linestyle=style, label=contour.label)
    for axis, where in ((x, "x"), (y, "y")):
        _scale(ax, axis, where, diagram.symbol(axis.name))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize="small", ncols=2)
    ax.set_title(title, fontsize="medium")
    return ax


def _shown(diagram: PhaseDiagram, name: str, over_seeds: str):
    """Axes, values and outcomes of a picture: at most two axes, none of them seeds if there is another."""
    values, outcomes = filled(diagram.quantities[name], diagram.outcomes)
    axes, values, outcomes = _over_seeds(diagram.axes, values, outcomes, over_seeds)
    extra = (..., *[0] * max(values.ndim - 2, 0))
    return axes, values[extra], outcomes[extra]


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


def _curve(axis: Axis, values: np.ndarray, outcomes, ax: Axes, name: str, logarithmic: bool, title: str, symbol: str):
    positions, edges = _positions(axis), _edges(axis)
    ax.plot(positions, values, marker="o", markersize=3, linewidth=1)
    for code, hatch in _HATCHES.items():
        for first, last in _runs(outcomes == code):
            ax.axvspan(edges[first], edges[last], facecolor="0.93", edgecolor="0.6", hatch=hatch, linewidth=0, zorder=0)
        if (outcomes == code).any():
            ax.fill_between([], [], [], facecolor="0.93", edgecolor="0.55", hatch=hatch, label=OUTCOMES[code])
    _scale(ax, axis, "x", symbol)
    if logarithmic and (values[np.isfinite(values)] > 0).all():
        ax.set_yscale("log")
    ax.set_ylabel(name)
    ax.set_title(title, fontsize="medium")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize="small", ncols=2)
    return ax


def _runs(here: np.ndarray) -> list[tuple[int, int]]:
    """Where runs of True begin, and where they have ended."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], here, [False]]).astype(int)))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist()))


def _hatch_outcomes(x: Axis, y: Axis, outcomes: np.ndarray, ax: Axes) -> None:
    """Hatch every kind of point that has no value, with its name in the legend."""
    across, up = _edges(x), _edges(y)
    for code, hatch in _HATCHES.items():
        corners = [
            [(across[a], up[c]), (across[b], up[c]), (across[b], up[d]), (across[a], up[d])]
            for a, b, c, d in _rectangles(np.equal(outcomes.T, code))
        ]
        if corners:
            look = {"facecolor": "0.93", "hatch": hatch}
            ax.add_collection(PolyCollection(corners, edgecolor="0.6", linewidth=0, rasterized=True, **look))
            ax.fill_between([], [], [], edgecolor="0.55", label=OUTCOMES[code], **look)


def _rectangles(here: np.ndarray) -> list[tuple[int, int, int, int]]:
    """The True cells of a grid (rows × columns) as few rectangles: first and past column, first and past row."""
    done, begun = [], {}
    for row in range(len(here) + 1):
        runs = set(_runs(here[row])) if row < len(here) else set()
        done += [(*run, begun.pop(run), row) for run in [*begun] if run not in runs]
        begun |= dict.fromkeys(runs - set(begun), row)
    return done


def _positions(axis: Axis) -> np.ndarray:
    numbers = all(isinstance(v, int | float) for v in axis.values)
    return np.array(axis.values, dtype=float) if numbers else np.arange(len(axis), dtype=float)


def _edges(axis: Axis) -> np.ndarray:
    """Cell edges half-way between the values (geometrically on a logarithmic axis)."""
    positions = _positions(axis)
    if len(positions) == 1:
        return positions[0] + np.array([-0.5, 0.5])
    warp, unwarp = (np.log, np.exp) if axis.spacing == "log" else (lambda v: v, lambda v: v)
    middles = (warp(positions)[1:] + warp(positions)[:-1]) / 2
    first, last = 2 * warp(positions)[0] - middles[0], 2 * warp(positions)[-1] - middles[-1]
    return unwarp(np.concatenate([[first], middles, [last]]))


def _scale(ax: Axes, axis: Axis, where: str, symbol: str) -> None:
    set_scale, set_label = (ax.set_xscale, ax.set_xlabel) if where == "x" else (ax.set_yscale, ax.set_ylabel)
    drawn = ax.xaxis if where == "x" else ax.yaxis
    if axis.spacing == "log":
        set_scale("log")
        _plain_ticks(drawn, axis)
    elif all(float(v).is_integer() for v in axis.values if not isinstance(v, str)):
        drawn.set_major_locator(MaxNLocator(integer=True))
    set_label(symbol)
    if any(isinstance(v, str) for v in axis.values):
        (ax.set_xticks if where == "x" else ax.set_yticks)(range(len(axis)), labels=[str(v) for v in axis.values])


def _plain_ticks(drawn, axis: Axis) -> None:
    """1, 2, 5, 10, … instead of powers where a logarithmic axis spans less than two decades."""
    low, high = axis.values[0], axis.values[-1]
    if not 1 / 100 < low / high < 100:
        return
    drawn.set_major_locator(LogLocator(subs=(1, 2, 5)))
    drawn.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    drawn.set_minor_formatter(NullFormatter())
