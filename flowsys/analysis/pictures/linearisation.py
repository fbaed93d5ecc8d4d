"""Rates at every state that was asked for, and the directions that leave."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from flowsys.analysis.linearisation import Linearisation, Point

MOST = 8  # coordinates of a direction that are drawn


def linearisation(result: "Linearisation") -> Figure:
    """Real parts of all eigenvalues on the left; the unstable direction of each state that has one on the right."""
    unstable = [point for point in result.points if point.n_unstable][:3]
    figure = Figure(figsize=(4.2 + 3.1 * len(unstable), 4.2), layout="constrained")
    spectra, *directions = np.atleast_1d(figure.subplots(1, 1 + len(unstable)))
    for i, point in enumerate(result.points):
        rates = point.eigenvalues.real
        spectra.plot(np.full(len(rates), i), rates, "_", color="C0", markersize=16)
        spectra.plot(i, point.logarithmic_norm, "^", color="C1", markersize=6, label="" if i else "logarithmic norm")
    largest = max(float(np.abs(point.eigenvalues.real).max()) for point in result.points)
    spectra.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(max(largest, 1e-12)) - 1))
    spectra.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    spectra.set_xticks(range(len(result.points)), [_where(result, point, "\n") for point in result.points])
    spectra.tick_params(axis="x", labelsize="small")
    spectra.set_xlim(-0.5, len(result.points) - 0.5)
    spectra.set_ylabel("real part of the eigenvalues")
    spectra.legend(frameon=False, fontsize="small")
    for ax, point in zip(directions, unstable):
        names = list(point.leading.direction)[:MOST][::-1]
        ax.barh(range(len(names)), [point.leading.direction[name] for name in names], color="C0", height=0.6)
        ax.set_yticks(range(len(names)), [result.symbol(name) for name in names])
        ax.axvline(0, color="0.6", linewidth=0.8)
        ax.set_xlim(-1.1, 1.1)
        ax.set_ylim(len(names) - 0.4 - MOST, len(names) - 0.4)
        ax.set_xlabel("part of the direction")
        rate = point.leading.value
        ax.set_title(f"{_where(result, point, ', ')}\nrate {rate.real:.4g}", fontsize="medium")
    figure.suptitle(f"{result.origin.system}, {result.subtitle}", fontsize="medium")
    return figure


def _where(result: "Linearisation", point: "Point", between: str) -> str:
    at = result.symbol(point.at) if not point.at.startswith("t=") else f"${point.at}$"
    return f"{at}{between}{point.stage}"
