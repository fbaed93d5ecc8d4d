"""A swept diagram as a figure: panels where there is a third axis, the named diagram's lines and words over it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.plot.marks import grid, new_axes
from flowsys.plot.panels import panels
from flowsys.plot.phase import phase
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.sweeps.named import Line, NamedDiagram, named_alike
from flowsys.system import System


def diagram(result: PhaseDiagram, ax: Axes | None = None, quantity: str | None = None, **look: Any) -> Axes:
    """The picture of one quantity on `ax` or a new figure's, with the lines of the system's diagram that it is."""
    named = named_alike(result, result.of) if result.of is not None else None
    over = {"title": f"{result.origin.get('system', '')}\n{result.subtitle}".strip()}
    if named is not None:
        over = named.overlay(result, result.of) | {"logarithmic": named.logarithmic}
    return phase(result, new_axes((6.4, 4.8)) if ax is None else ax, quantity, **over | look)


def diagram_figure(
    diagram: PhaseDiagram,
    system: System | None = None,
    named: NamedDiagram | None = None,
    quantity: str | None = None,
    logarithmic: bool | None = None,
    lines: Sequence[Line] = (),
) -> Figure:
    """The picture of one quantity (default: the first), with further measured lines over it."""
    parts = panels(diagram)
    figure, places = grid(len(parts), 3, (7.2, 5.4) if len(parts) == 1 else (4.9, 4.4))
    plain = {"title": f"{diagram.origin.get('system', '')}\n{diagram.subtitle}".strip()}
    over: dict[str, Any] = named.overlay(diagram, system) if named and system else plain
    if quantity is not None and quantity != next(iter(diagram.quantities)):
        over |= {"over_seeds": "median", "phases": None}
    title = over.pop("title")
    if len(parts) > 1:
        shown = np.concatenate([p.quantities[quantity or next(iter(p.quantities))].ravel() for p, _ in parts])
        shown = shown[np.isfinite(shown)]
        over["limits"] = (float(shown.min()), float(shown.max())) if shown.size else None
        figure.suptitle(title, fontsize="medium")
    logarithmic = logarithmic if logarithmic is not None or named is None else named.logarithmic
    for place, (part, where) in zip(places, parts):
        phase(part, place, quantity, logarithmic, title=where or title, measured=lines, **over)
    return figure
