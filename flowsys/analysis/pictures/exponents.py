"""Exponents: quantities over the parameter, and their local exponents towards the limit."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flowsys.laws.law import local_exponents
from flowsys.system.names import typeset

if TYPE_CHECKING:
    from flowsys.analysis.exponents import Exponents, Measured

MOST = 8  # curves that a panel can tell apart
LEAST_SLOPE = 0.02


def exponents(result: "Exponents") -> Figure:
    """Sizes on the left, local exponents on the right; what has not settled is dashed."""
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    sizes, slopes = figure.subplots(1, 2)
    for i, quantity in enumerate(_drawn(result)):
        look = {"color": f"C{i}", "linestyle": "-" if quantity.is_settled else "--"}
        sizes.plot(quantity.x, np.abs(quantity.y), marker="o", markersize=3, label=_label(result, quantity), **look)
        middle = np.sqrt(quantity.x[1:] * quantity.x[:-1])
        slopes.plot(middle, local_exponents(quantity.x, quantity.y), marker="o", markersize=3, **look)
    for ax in (sizes, slopes):
        ax.set_xscale("log")
        ax.set_xlabel(result.symbol(result.parameter))
        ax.xaxis.set_minor_formatter(NullFormatter())
    sizes.set_yscale("log")
    sizes.set_ylabel("absolute value")
    slopes.set_ylabel("local exponent")
    slopes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    if sizes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", frameon=False, fontsize="small", title="dashed: not yet asymptotic")
    figure.suptitle(f"{result.origin.system}, {result.subtitle}", fontsize="medium")
    return figure


def _drawn(result: "Exponents") -> list["Measured"]:
    """Times first, then what moves most; one of quantities that agree."""
    moving = [q for q in result.quantities if q.law is not None and np.abs(q.law.local).max() > LEAST_SLOPE]
    times = [q for q in moving if q.name == "t" or "-" in q.name]
    slope = lambda q: 0.0 if q.law is None else float(np.abs(q.law.local[-1]))
    others = sorted((q for q in moving if q not in times), key=slope, reverse=True)
    found: list[Measured] = []
    for quantity in [*times[:4], *others]:
        if not any(len(q.y) == len(quantity.y) and np.allclose(np.abs(q.y), np.abs(quantity.y)) for q in found):
            found.append(quantity)
    return found[:MOST]


def _label(result: "Exponents", quantity: "Measured") -> str:
    at = result.symbol(quantity.at) if not quantity.at.startswith("t=") else typeset(quantity.at)
    if quantity.name == "t":
        return at
    if "-" in quantity.name:
        return " - ".join(result.symbol(name) for name in quantity.name.split("-"))
    return f"{result.symbol(quantity.name)} at {at}"
