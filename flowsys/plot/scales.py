"""Axes of a sweep on a picture: where cells lie, how ticks read."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flowsys.sweeps.axes import Axis
from flowsys.system.names import number, typeset


def positions(axis: Axis) -> np.ndarray:
    """The values of an axis, or their places where they are words."""
    numbers = all(isinstance(v, int | float) for v in axis.values)
    return np.array(axis.values, dtype=float) if numbers else np.arange(len(axis), dtype=float)


def scale(ax: Axes, axis: Axis, where: str, symbol: str) -> None:
    """Scale, ticks and label of the x or the y axis."""
    set_scale, set_label = (ax.set_xscale, ax.set_xlabel) if where == "x" else (ax.set_yscale, ax.set_ylabel)
    drawn = ax.xaxis if where == "x" else ax.yaxis
    if axis.spacing == "log":
        set_scale("log")
        plain_decades(drawn, np.array([axis.values[0], axis.values[-1]]))
    elif all(float(v).is_integer() for v in axis.values if not isinstance(v, str)):
        drawn.set_major_locator(MaxNLocator(integer=True))
    set_label(symbol)
    if any(isinstance(v, str) for v in axis.values):
        (ax.set_xticks if where == "x" else ax.set_yticks)(range(len(axis)), labels=[str(v) for v in axis.values])


def plain_decades(drawn: MatplotlibAxis, values: np.ndarray, is_narrow: bool = False) -> None:
    """Ticks of a logarithmic axis: 1, 2, 5, 10, … where values span less than two decades, else powers alone."""
    span = values.max() / values.min()
    if span < 100:
        drawn.set_major_locator(LogLocator(subs=(1, 3) if is_narrow and span > 10 else (1, 2, 5)))
        drawn.set_major_formatter(FuncFormatter(lambda value, _: typeset(number(value))))
    drawn.set_minor_formatter(NullFormatter())
