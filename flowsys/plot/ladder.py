"""A ladder's rungs: errors over their knob, with the fitted power law."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.ladder import Ladder
from flowsys.system.names import typeset

COLUMNS = 3  # panels side by side: more would be too small to read on a narrow page


def ladder(result: Ladder) -> Figure:
    """One panel for each rung with a knob: measured errors as dots, the fit as a line."""
    fitted = [m for m in result.rungs if m.fit is not None]
    columns = max(1, min(COLUMNS, len(fitted)))
    rows = max(1, -(-len(fitted) // columns))
    figure = Figure(figsize=(max(3.2 * columns, 4), 3.2 * rows), layout="constrained")
    if not fitted:
        figure.text(0.5, 0.5, "no rung with a knob", ha="center")
        return figure
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in panels[len(fitted) :]:
        ax.set_axis_off()
    for ax, measured in zip(panels, fitted):
        x = np.array(measured.rung.values)
        ax.loglog(x, measured.errors, "o", label="measured")
        ax.loglog(
            x, np.exp(measured.fit.constant) * x**measured.fit.slope, "-", label=f"slope {measured.fit.slope:.3f}"
        )
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel(typeset(result.symbols[measured.rung.knob]))
        ax.set_ylabel("error")
        ax.set_title(measured.rung.name, fontsize="medium")
        ax.legend(frameon=False, fontsize="x-small", handlelength=1.0, handletextpad=0.4, borderaxespad=0.2)
    return figure
