"""Curves over an axis of a sweep, one for every value of another axis: theory as lines, what was sampled as dots."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from flowsys.plot.marks import dots, line, new_axes
from flowsys.plot.scales import positions, scale
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.system.names import told


def curves(
    diagram: PhaseDiagram,
    theory: str = "",
    sampled: str = "",
    ax: Axes | None = None,
    labels: Sequence[str] | None = None,
    first_colour: int = 0,
) -> Axes:
    """Draw over the last axis that is no seed one curve for every value of the first, or a single one.

    The quantity `theory` is a line, its mean over the seeds if there are any; `sampled` are dots, over seeds with their
    standard deviation as bars. `labels` name the curves, by default after the values of the first axis.
    """
    ax = new_axes() if ax is None else ax
    axes = [axis for axis in diagram.axes if axis.name != "seed"]
    labels = _labels(diagram, len(axes)) if labels is None else labels
    for i, label in enumerate(labels):
        colour = f"C{first_colour + i}"
        if theory:
            line(ax, positions(axes[-1]), _by_seeds(diagram, theory, len(axes))[i].mean(axis=1), label, colour)
        if sampled:
            values = _by_seeds(diagram, sampled, len(axes))[i]
            dots(ax, positions(axes[-1]), values, "" if theory else label, colour)
    scale(ax, axes[-1], "x", diagram.symbol(axes[-1].name))
    return ax


def _labels(diagram: PhaseDiagram, n_axes: int) -> list[str]:
    axis = diagram.axes[0]
    return [f"{diagram.symbol(axis.name)} = {told(value)}" for value in axis.values] if n_axes > 1 else [""]


def _by_seeds(diagram: PhaseDiagram, quantity: str, n_axes: int) -> np.ndarray:
    """Values by curve, place and seed."""
    names, values = [axis.name for axis in diagram.axes], diagram[quantity]
    values = np.moveaxis(values, names.index("seed"), -1) if "seed" in names else values[..., None]
    return values if n_axes > 1 else values[None]
