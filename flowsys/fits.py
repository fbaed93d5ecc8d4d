"""Fits with intervals: power laws and straight lines, as values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fit:
    """y = constant + slope·x (or y = e^constant x^slope) with a 95 % confidence interval for the slope."""

    slope: float
    interval: tuple[float, float]
    constant: float
    residuals: np.ndarray
    n: int

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.slope:.4g} [{low:.4g}, {high:.4g}]"


def line(x: Sequence[float], y: Sequence[float]) -> Fit:
    """Least squares of a straight line; with two points the interval is infinite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 2 or np.ptp(x) == 0:
        raise ValueError(f"a line needs at least two different points, not {len(x)}")
    slope, constant = np.polyfit(x, y, 1)
    residuals = y - (constant + slope * x)
    if len(x) == 2:
        return Fit(float(slope), (-np.inf, np.inf), float(constant), residuals, 2)
    from scipy.stats import t as student

    spread = np.sqrt((residuals**2).sum() / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
    half = float(student.ppf(0.975, len(x) - 2) * spread)
    return Fit(float(slope), (float(slope) - half, float(slope) + half), float(constant), residuals, len(x))


def power_law(x: Sequence[float], y: Sequence[float]) -> Fit:
    """The exponent of y ∝ x^slope, by least squares on logarithms."""
    return line(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)))
