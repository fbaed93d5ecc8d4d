"""A proof over time: the bound of every coordinate's error, where gates switch, where events lie."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from flowsys.system.names import Names, typeset

if TYPE_CHECKING:
    from flowsys.proof.proving import Proof


def bound(proof: "Proof", names: Names) -> Figure:
    """The proven bound as a line of steps over the time; events and switches as vertical lines."""
    times, bounds = proof.bounds()
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    ax = figure.subplots()
    starts = [float(piece.start) for piece in proof.pieces]
    ax.stairs(bounds, [*starts, times[-1]], baseline=None, color="C0", linewidth=1.5)
    ax.set_yscale("log")
    switches = [float(piece.start) for piece in proof.pieces if getattr(piece, "crossed", ())]
    for i, t in enumerate(switches):
        ax.axvline(t, color="C1", linewidth=1, linestyle=":", label="gates switch" if not i else None)
    for event in proof.events.values():
        ax.axvline(float(event.low), color="0.6", linewidth=1, linestyle="--")
        ax.annotate(
            typeset(names.symbol(event.name)), (float(event.low), 1.0), xycoords=("data", "axes fraction"),
            xytext=(0, 3), textcoords="offset points", ha="center", fontsize="small",
        )  # fmt: skip
    ax.set_xlabel(typeset(names.clock(proof.head["mode"]).symbol))
    ax.set_ylabel("proven bound of the error")
    ax.margins(x=0)
    if switches:
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    return figure
