"""Sensitivities as a map: how many per cent a quantity changes with a per cent of a parameter."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from flowsys.plot.marks import heat

if TYPE_CHECKING:
    from flowsys.analysis.sensitivities import Sensitivities

MOST = 16  # rows of the map
LEAST, MOST_SHARE = 1e-9, 1e6  # beyond, the quantity itself is 0


def sensitivities(result: "Sensitivities") -> Figure:
    """Times first, then the observables that move most; in a start that is 0 the change is per unit."""
    names = list(result.sizes)
    rows = []
    for q in result.quantities:
        shares = q.elasticities(result.sizes)
        values = [shares[name] for name in names]
        if np.isfinite(values).all() and LEAST < np.abs(values).max() < MOST_SHARE:
            at = result.symbol(q.at) if not q.at.startswith("t=") else f"${q.at}$"
            rows.append(
                (q.quantity != "t", at if q.quantity == "t" else f"{result.symbol(q.quantity)} at {at}", values)
            )
    times = [row for row in rows if not row[0]]
    others = sorted((row for row in rows if row[0]), key=lambda row: -float(np.abs(row[2]).max()))
    chosen = [*times, *others][:MOST]
    figure = Figure(figsize=(3.8 + 0.8 * len(names), 1.9 + 0.3 * max(len(chosen), 4)), layout="constrained")
    ax = figure.subplots()
    if not chosen:
        ax.set_axis_off()
        figure.text(0.5, 0.5, "no quantity with a share of change", ha="center")
        return figure
    unit = lambda name: "\n(per unit)" if not result.sizes[name] else ""
    columns = [
        result.symbol(name) if ":" not in name else f"start {result.symbol(name.split(':')[1])}{unit(name)}"
        for name in names
    ]
    heat(ax, [row[2] for row in chosen], [row[1] for row in chosen], columns, "", "", r"$d\,\log |q|\,/\,d\,\log p$")
    ax.set_aspect("auto")
    figure.suptitle(f"{result.origin.system}, {result.subtitle}", fontsize="small")
    return figure
