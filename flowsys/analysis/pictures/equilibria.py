"""Stationary points: how many directions leave each, over its loss; and their eigenvalues."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from flowsys.analysis.equilibria import Equilibria


def equilibria(result: "Equilibria") -> Figure:
    """Loss against the number of unstable directions on the left, spectra on the right."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    levels, spectra = figure.subplots(1, 2)
    for k, point in enumerate(result.points):
        colour = "C3" if point.unstable else "C2"
        marker = "s" if point.family else "o"
        levels.plot(point.unstable, np.nan if point.loss is None else point.loss, marker, color=colour, markersize=6)
        rates = point.eigenvalues.real
        spectra.plot(np.full(len(rates), k + 1), rates, "_", color=colour, markersize=12)
    levels.set_xlabel("unstable directions")
    levels.set_ylabel(result.symbol("loss"))
    levels.xaxis.set_major_locator(MaxNLocator(integer=True))
    for label, colour, marker in (("unstable", "C3", "o"), ("not unstable", "C2", "o"), ("a family", "0.4", "s")):
        levels.plot([], [], marker, color=colour, label=label)
    levels.legend(frameon=False, fontsize="small")
    spectra.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    spectra.xaxis.set_major_locator(MaxNLocator(integer=True))
    spectra.set_xlabel("stationary point, as in the table")
    spectra.set_ylabel("real part of the eigenvalues")
    figure.suptitle(f"{result.origin.system}, {result.subtitle}", fontsize="medium")
    return figure
