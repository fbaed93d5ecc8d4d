"""Series of a trajectory over time, events as vertical lines."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from flowsys.trajectory import Trajectory


def trajectory(
    result: Trajectory, ax: Axes, names: Sequence[str] | None = None, *, label: str = "", logarithmic: bool = False
) -> Axes:
    """Draw named series: a line for theory (L1 … L4), dots for training (L0)."""
    is_training = result.origin.level == "L0"
    for i, name in enumerate(names if names is not None else list(result.series)[:4]):
        style = {"linestyle": "none", "marker": ".", "markersize": 3} if is_training else {"linewidth": 1.5}
        ax.plot(result.t, result[name], color=f"C{i}", label=f"{name} {label}".strip(), **style)
    for t, event in zip(result.t, result.labels):
        if event:
            ax.axvline(t, color="0.7", linewidth=0.8, linestyle=":")
            ax.annotate(
                event, (t, 1.0), xycoords=("data", "axes fraction"), fontsize="x-small", va="bottom", ha="center"
            )
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlabel("t")
    ax.legend(frameon=False, fontsize="small")
    return ax
