"""A ladder's rungs: errors over their knob, with the fitted power law."""

from math import isfinite

import numpy as np
from matplotlib.figure import Figure

from flowsys.ladder import Ladder
from flowsys.laws.fits import Fit
from flowsys.plot.scales import plain_decades
from flowsys.system.names import Names, in_symbols, typeset, wrapped

COLUMNS = 3  # panels side by side: more would be too small to read on a narrow page
WIDTH = 44  # letters of a title


def ladder(result: Ladder, names: Names) -> Figure:
    """One panel for each rung with a knob, in the symbols of the system's names: errors as dots, the fit as a line."""
    fitted = [(m, m.fit) for m in result.rungs if m.fit is not None]
    columns = max(1, min(COLUMNS, len(fitted)))
    rows = max(1, -(-len(fitted) // columns))
    figure = Figure(figsize=(max(3.4 * columns, 4), 3.4 * rows), layout="constrained")
    if not fitted:
        figure.text(0.5, 0.5, "no rung with a knob", ha="center")
        return figure
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in panels[len(fitted) :]:
        ax.set_axis_off()
    for ax, (measured, fit) in zip(panels, fitted):
        x = np.array(measured.rung.values)
        ax.loglog(x, measured.errors, "o", label="measured")
        ax.loglog(x, fit.predicted(x), "-", label=f"slope {fit.slope:.2f} {_between(fit)}")
        plain_decades(ax.xaxis, x, is_narrow=True)
        plain_decades(ax.yaxis, measured.errors, is_narrow=True)
        ax.set_xlabel(typeset(names.symbol(measured.rung.knob)))
        ax.set_ylabel("error")
        told = in_symbols(f"{measured.rung.name}: {measured.rung.meaning}", names)
        ax.set_title(wrapped(told, WIDTH), fontsize="small")
        ax.legend(frameon=False, fontsize="x-small", handlelength=1.0, handletextpad=0.4, borderaxespad=0.2)
    return figure


def _between(fit: Fit) -> str:
    """The interval of a slope that has one."""
    low, high = fit.interval
    return f"[{low:.2f}, {high:.2f}]" if isfinite(low) and isfinite(high) else ""
