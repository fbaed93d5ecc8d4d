"""Traced curves in the plane of their parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.plot.scales import scale

if TYPE_CHECKING:
    from flowsys.analysis.tracing import Traced


def tracing(result: "Traced") -> Figure:
    """One target."""
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    drawn([result], figure.subplots())
    return figure


def drawn(results: Sequence["Traced"], ax: Axes) -> None:
    """Every curve with its points, a colour for each target."""
    for i, result in enumerate(results):
        for k, curve in enumerate(result.curves):
            ax.plot(*curve.T, color=f"C{i}", marker="o", markersize=2.5, label=None if k else result.label)
    axes = results[0].axes
    for axis, where in zip(axes, "xy"):
        scale(ax, axis, where, results[0].symbol(axis.name))
    ax.set_xlim(axes[0].values[0], axes[0].values[-1])
    ax.set_ylim(axes[1].values[0], axes[1].values[-1])
    if any(result.curves for result in results):
        ax.legend(frameon=False, fontsize="small")
    ax.set_title(f"{results[0].origin.system}, {results[0].subtitle}", fontsize="medium")
