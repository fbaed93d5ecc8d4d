"""Which colours a map and the lines on it are drawn in: by sign, by decades, by phase.

Values of both signs are told apart by a diverging map around 0; positive values over more than two decades by a
logarithmic one; phases and verdicts are colours with words, not a scale.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, CenteredNorm, ListedColormap, LogNorm, Normalize

from flowsys.plot.scales import plain_decades
from flowsys.sweeps.named import Phases
from flowsys.system.names import breadth

DECADES = 2  # a map over more of them is logarithmic
MOST_DECADES = 16  # what is smaller, and asked for on a logarithmic map, has its lowest colour
ROUNDING = 1e-9  # of the largest value: what is below 0 by less has no sign
LINES = ("crimson", "darkorange")  # of predictions
ON_SIGNS = ("#00a651", "#b300b3")  # the same on a map of reds and blues
PHASES = ("#3b6fb6", "#e3b23c", "#4c9f62", "#b3423a", "#8a5aa8", "#7a7a7a")
VERDICTS = Phases((0.25, 0.75), ("does not hold", "holds in part", "holds"))
VERDICT_COLOURS = ("#b3423a", "#e3b23c", "#4c9f62")


@dataclass(frozen=True)
class Colours:
    """A colour map with its norm; `words` where colours are phases."""

    cmap: Any
    norm: Normalize
    words: tuple[str, ...] = ()
    lines: tuple[str, ...] = LINES

    def bar(self, mesh: Any, ax: Axes, label: str) -> None:
        """The colour bar: a scale, or the names of the phases."""
        bar = ax.figure.colorbar(mesh, ax=ax)
        bar.set_label(label, fontsize="medium" if breadth(label) < 45 else "small")
        if isinstance(self.norm, BoundaryNorm) and self.words:
            edges = np.asarray(self.norm.boundaries)
            bar.set_ticks((edges[1:] + edges[:-1]) / 2, labels=list(self.words))
            bar.ax.tick_params(length=0)
            bar.ax.minorticks_off()
        elif isinstance(self.norm, LogNorm):
            plain_decades(bar.ax.yaxis, np.array([self.norm.vmin, self.norm.vmax]))


def of_phases(phases: Phases, colours: tuple[str, ...] = PHASES) -> Colours:
    """A colour for each phase; values are the phases' numbers."""
    n = len(phases.words)
    return Colours(ListedColormap(colours[:n]), BoundaryNorm(np.arange(n + 1) - 0.5, n), tuple(phases.words))


def of_values(
    values: np.ndarray, logarithmic: bool | None = None, limits: tuple[float, float] | None = None
) -> Colours:
    """The map that fits the values (or the limits, where panels share them); `logarithmic` decides where it can be."""
    known = values[np.isfinite(values)] if limits is None else np.array(limits, dtype=float)
    if not known.size:
        return Colours("viridis", Normalize())
    low, high = float(known.min()), float(known.max())
    if min(-low, high) > ROUNDING * max(-low, high):
        return Colours("RdBu_r", CenteredNorm(0.0, max(-low, high)), lines=ON_SIGNS)
    spans = low > 0 and high > 10**DECADES * low
    if logarithmic and low >= 0 < high:
        least = max(float(known[known > 0].min()), high / 10**MOST_DECADES)
        return Colours("viridis", LogNorm(least, high, clip=True))
    if spans and logarithmic is None:
        return Colours("viridis", LogNorm(low, high))
    return Colours("viridis", Normalize(low, high))
