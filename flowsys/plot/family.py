"""Curves of a family of runs: a colour for every value of the parameter, a dash for every observable."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from flowsys.plot.marks import line, new_axes
from flowsys.plot.trajectory import shown
from flowsys.sweeps.family import Family

DASHES = ("-", "--", ":", "-.")
MOST_NAMED = 8  # values that a legend names one by one


def family(
    result: Family, ax: Axes | None = None, names: Sequence[str] | str | None = None, *, logarithmic: bool = False
) -> Axes:
    """Draw observables over time, one curve a value of the parameter; the legend tells values and observables apart."""
    ax = new_axes() if ax is None else ax
    names = [names] if isinstance(names, str) else list(result.runs[0].series)[:1] if names is None else list(names)
    n = len(result)
    colours = [colormaps["viridis"](x) for x in np.linspace(0.0, 0.85, n)]
    named = {0, n - 1} if n > MOST_NAMED else set(range(n))
    for name, dash in zip(names, cycle(DASHES)):
        for i, (value, run) in enumerate(zip(result.axis.values, result.runs)):
            told = result.label(value) if name == names[0] and i in named else ""
            line(ax, run.t, run[name], told, colours[i], linestyle=dash)
        if len(names) > 1:
            ax.plot([], [], color="0.3", linestyle=dash, label=shown(result.runs[0], name))
    ax.set_ylabel(shown(result.runs[0], names[0]) if len(names) == 1 else "")
    ax.set_xlabel(shown(result.runs[0], "t"))
    if logarithmic:
        ax.set_xscale("log")
    ax.legend(frameon=False, fontsize="small")
    return ax
