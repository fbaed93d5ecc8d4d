"""A claim's fits: what was measured with the fitted line, and below it what the line leaves over."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.claims import Verdict
from flowsys.errors import InputError
from flowsys.laws.fits import Fit
from flowsys.system.names import Names, in_symbols, typeset, wrapped

WIDTH, HEIGHT = 4.2, 5.0


def residuals(verdict: Verdict, names: Names, title: str = "") -> Figure:
    """One column for each fit behind a system's verdict: measurements (dots) and fit (line), residuals below."""
    if not verdict.fits:
        raise InputError("this claim rests on no fit, so there are no residuals to draw.")
    figure = Figure(figsize=(max(WIDTH * len(verdict.fits), 5.0), HEIGHT), layout="constrained")
    columns = figure.subplots(2, len(verdict.fits), squeeze=False, sharex="col", height_ratios=(2, 1)).T
    for (above, below), (name, fit) in zip(columns, verdict.fits.items()):
        what, _, over = name.rpartition(" over ")
        _fitted(above, fit)
        above.set_ylabel(_called(what, names))
        _left_over(below, fit)
        below.set_xlabel(_called(over, names))
    figure.suptitle(wrapped(in_symbols(title, names), int(12 * figure.get_figwidth())), fontsize="medium")
    return figure


def _fitted(ax: Axes, fit: Fit) -> None:
    order = np.linspace(fit.x.min(), fit.x.max(), 100) if not fit.is_power_law else np.geomspace(*_ends(fit.x), 100)
    ax.plot(order, fit.predicted(order), "-", color="C0", label=f"slope {fit}")
    ax.plot(fit.x, fit.y, "o", color="C1", label="measured")
    if fit.is_power_law:
        ax.set(xscale="log", yscale="log")
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, fontsize="small")


def _left_over(ax: Axes, fit: Fit) -> None:
    ax.axhline(0, color="0.7", linewidth=1)
    ax.plot(fit.x, fit.residuals, "o", color="C1")
    largest = float(np.abs(fit.residuals).max()) or 1.0
    ax.set_ylim(-1.3 * largest, 1.3 * largest)
    if fit.is_power_law:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
        if fit.n <= 8:
            ax.set_xticks(fit.x, [f"{x:.4g}" for x in fit.x], fontsize="small")
            ax.set_xticks([], minor=True)
    ax.set_ylabel("residual" + (" (log)" if fit.is_power_law else ""))


def _called(name: str, names: Names) -> str:
    """A name, or the logarithm of one, in symbols; words as they are."""
    before, _, last = name.rpartition(" ")
    is_name = bool(names.words(last)) or (last.isidentifier() and ("_" in last or len(last) <= 2))
    if is_name and before in ("", "log", "-log"):
        return typeset(before.replace("log", r"\log ") + names.symbol(last))
    return name.replace("_", " ")


def _ends(x: np.ndarray) -> tuple[float, float]:
    return float(x.min()), float(x.max())
