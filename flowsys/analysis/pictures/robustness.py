"""Deviation of the end over the size of the perturbation, linear where the full flow returns; and growth on the way."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from flowsys.system.names import number

if TYPE_CHECKING:
    from flowsys.analysis.robustness import Robustness


def robustness(result: "Robustness") -> Figure:
    """Trials as dots (hollow: ends elsewhere), the linear law of the smallest, widths along the top; the way there."""
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    ax, way = figure.subplots(1, 2)
    sizes = np.array([trial.size for trial in result.trials])
    for returns, look in ((True, {"color": "C0"}), (False, {"color": "C3", "markerfacecolor": "none"})):
        chosen = [t for t in result.trials if t.returns == returns and np.isfinite(t.deviation)]
        label = "returns" if returns else "ends elsewhere"
        ax.loglog([t.size for t in chosen], [t.deviation for t in chosen], "o", label=label, **look)
    ax.loglog(sizes, result.growth * sizes, color="0.6", linewidth=1, label=f"{result.growth:.3g} × size")
    ax.set_xlabel("size of the perturbation of every coordinate")
    ax.set_ylabel(f"deviation at {result.symbol(result.at) if '=' not in result.at else f'${result.at}$'}")
    top = ax.secondary_xaxis("top", functions=(lambda x: x, lambda x: x))
    widths = [w for w in 10.0 ** np.arange(2, 15, 2) if sizes.min() <= result.scale / np.sqrt(w) <= sizes.max()]
    top.set_xticks([result.scale / np.sqrt(w) for w in widths], [f"$10^{{{int(np.log10(w))}}}$" for w in widths])
    top.set_xlabel("width that starts so far away")
    top.minorticks_off()
    ax.legend(frameon=False, fontsize="small")
    way.semilogy(result.path.t, result.path.growth, "-", color="C0")
    for turn in result.path.turns:
        way.axvline(turn.t, color="0.85", linewidth=1, zorder=0)
    if result.nearest is not None and result.is_fragile:
        way.axvline(result.nearest.t, color="0.6", linewidth=1, linestyle=":")
        way.annotate("nearest surface", (result.nearest.t, 0.98), xycoords=("data", "axes fraction"), va="top",
                     xytext=(4, 0), textcoords="offset points", color="0.4", fontsize="small")  # fmt: skip
    way.set_xlabel(f"${result.symbol('t').strip('$')}$")
    way.set_ylabel(f"transverse growth of a perturbation of ${number(float(sizes.min()))}$")
    figure.suptitle(f"{result.origin.system}, {result.subtitle}", fontsize="medium")
    return figure
