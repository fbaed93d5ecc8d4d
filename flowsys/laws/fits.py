"""Fits with intervals: power laws and straight lines, as values."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Fit:
    """y = constant + slope·x, or the same on logarithms, with a 95 % confidence interval for the slope."""

    slope: float
    interval: tuple[float, float]
    constant: float
    residuals: np.ndarray
    x: np.ndarray
    y: np.ndarray
    is_power_law: bool = False

    @property
    def n(self) -> int:
        return len(self.x)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.slope:.4g} [{low:.4g}, {high:.4g}]"

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """The fitted y at other x."""
        if self.is_power_law:
            return np.exp(self.constant) * x**self.slope
        return self.constant + self.slope * x

    def as_dict(self) -> dict[str, Any]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in plain.items()}


def line(x: ArrayLike, y: ArrayLike) -> Fit:
    """Least squares of a straight line; with two points the interval is infinite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 2 or np.ptp(x) == 0:
        raise ValueError(f"a line needs at least two different points, not {len(x)}")
    slope, constant = np.polyfit(x, y, 1)
    residuals = y - (constant + slope * x)
    if len(x) == 2:
        return Fit(float(slope), (-np.inf, np.inf), float(constant), residuals, x, y)
    from scipy.stats import t as student

    spread = np.sqrt((residuals**2).sum() / (len(x) - 2) / ((x - x.mean()) ** 2).sum())
    half = float(student.ppf(0.975, len(x) - 2) * spread)
    return Fit(float(slope), (float(slope) - half, float(slope) + half), float(constant), residuals, x, y)


def power_law(x: ArrayLike, y: ArrayLike) -> Fit:
    """The exponent of y ∝ x^slope, by least squares on logarithms."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return replace(line(np.log(x), np.log(y)), x=x, y=y, is_power_law=True)
