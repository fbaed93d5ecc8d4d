"""Where a claim holds over two parameters: its words as colours, and beside them its best constant."""

import numpy as np
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from flowsys.claims import Word
from flowsys.claims.regions import Region
from flowsys.plot.scales import scale
from flowsys.system.names import Names, typeset

COLOURS = {
    Word.HOLDS: "#4c9f62", Word.IN_PART: "#e3b23c", Word.FAILS: "#b3423a", Word.OUTSIDE: "#d9d9d9",
    Word.NOT_TESTABLE: "#f4f4f4", Word.REPRODUCED: "#4c9f62", Word.NOT_REPRODUCED: "#e3b23c",
}  # fmt: skip


def region(found: Region, names: Names) -> Figure:
    """Two panels with the same axes, in the system's symbols; the second only where there are constants."""
    constants = found.constants
    has_constants = bool(np.isfinite(constants).any())
    figure = Figure(figsize=(5.5 * (1 + has_constants), 4.6), layout="constrained")
    panels = figure.subplots(1, 1 + has_constants, squeeze=False)[0]
    words = list(COLOURS)
    codes = np.vectorize(lambda word: words.index(Word(word)))(found.words).astype(float)
    _mesh(panels[0], found, names, codes, cmap=ListedColormap(list(COLOURS.values())), vmin=-0.5, vmax=len(words) - 0.5)
    there = [word for word in words if str(word) in found.counts()]
    panels[0].legend(handles=[Patch(facecolor=COLOURS[word], label=str(word)) for word in there], fontsize="small",
                     loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)  # fmt: skip
    panels[0].set_title("verdict", fontsize="medium")
    if has_constants:
        finite = constants[np.isfinite(constants)]
        spans = bool((finite > 0).all() and finite.max() > 10 * finite.min())
        drawn = _mesh(panels[1], found, names, np.where(np.isfinite(constants), constants, np.nan),
                      norm=LogNorm() if spans else None, cmap="viridis")  # fmt: skip
        figure.colorbar(drawn, ax=panels[1], label="best constant")
        panels[1].set_title("constant", fontsize="medium")
    figure.suptitle(f"{found.system}, {found.claim.place}: {found.claim.statement}", fontsize="medium", wrap=True)
    return figure


def _mesh(ax, found: Region, names: Names, z: np.ndarray, **style):
    x, y = found.axes
    drawn = ax.pcolormesh(x.edges, y.edges, z.T, shading="flat", **style)
    for axis, where in ((x, "x"), (y, "y")):
        scale(ax, axis, where, typeset(names.symbol(axis.name)))
    return drawn
