"""A ladder's rungs: errors over their knob, with the fitted power law."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.compare import Ladder


def ladder(result: Ladder, figure: Figure) -> Figure:
    """One panel for each rung with a knob: measured errors as dots, the fit as a line."""
    fitted = [m for m in result.rungs if m.fit is not None]
    if not fitted:
        figure.text(0.5, 0.5, "no rung with a knob", ha="center")
        return figure
    for ax, measured in zip(figure.subplots(1, len(fitted), squeeze=False)[0], fitted):
        x = np.array(measured.rung.values)
        ax.loglog(x, measured.errors, "o", label="measured")
        ax.loglog(
            x, np.exp(measured.fit.constant) * x**measured.fit.slope, "-", label=f"slope {measured.fit.slope:.3f}"
        )
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel(measured.rung.knob)
        ax.set_ylabel("error")
        ax.set_title(measured.rung.name, fontsize="medium")
        ax.legend(frameon=False, fontsize="x-small", handlelength=1.0, handletextpad=0.4, borderaxespad=0.2)
    return figure
