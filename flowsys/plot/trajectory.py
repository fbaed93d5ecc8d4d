"""Series of a trajectory over time, events as vertical lines."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from flowsys.runs.trajectory import Trajectory
from flowsys.system.names import typeset

FEW = 10  # rows that a line alone would not show


def shown(result: Trajectory, name: str) -> str:
    """What a picture calls a series, an event, a parameter, or time (`t`)."""
    return typeset(result.symbol(name))


def trajectory(
    result: Trajectory, ax: Axes, names: Sequence[str] | None = None, *, label: str = "", logarithmic: bool = False
) -> Axes:
    """Draw named series: a line for theory (L1 … L4), dots for training (L0)."""
    is_training = result.origin.level == "L0"
    for i, name in enumerate(names if names is not None else list(result.series)[:4]):
        if is_training:
            # dots take the colours of the lines they lie on, and one entry in the legend for all
            dots = {"linestyle": "none", "marker": ".", "markersize": 4}
            ax.plot(result.t, result[name], color=f"C{i}", **dots)
        else:
            points = {"marker": "o", "markersize": 4} if len(result) < FEW else {}
            ax.plot(
                result.t,
                result[name],
                color=f"C{i}",
                linewidth=1.5,
                label=f"{shown(result, name)} {label}".strip(),
                **points,
            )
    if is_training:
        ax.plot([], [], ".", color="0.4", label=label or "training")
    for t, event in zip(result.t, result.labels):
        if event:
            ax.axvline(t, color="0.7", linewidth=0.8, linestyle=":")
            ax.annotate(
                shown(result, event),
                (t, 1.0),
                xycoords=("data", "axes fraction"),
                fontsize="x-small",
                va="bottom",
                ha="center",
            )
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlabel(shown(result, "t"))
    ax.legend(frameon=False, fontsize="small")
    return ax
