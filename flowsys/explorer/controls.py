"""Which sliders a system has: one for every parameter that its level reads, over the declared range.

Of a range that reaches far beyond a hundred times the default, what lies within a hundredth to a hundred times of it is
slid over, logarithmically as where that is declared. A parameter on an axis of the system's first diagram has its range
and spacing: it is what is looked at most.
"""

from dataclasses import dataclass
from math import isfinite, log10
from typing import Any

from flowsys.sweeps.axes import Axis, parse_axis
from flowsys.system import Parameter, Setup, System

LEADING = 6  # sliders shown at once: a system declares what matters most first
WIDE = 100.0
STEPS, DECADE = 200, 100  # steps of a slider: over its range, or over a decade of it
NOT_SLID = ("t_max", "seed", "width", "learning_rate")


@dataclass(frozen=True)
class Control:
    """A parameter to be moved: a choice, or a number between two."""

    name: str
    meaning: str
    value: Any
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    log: bool = False
    choices: tuple[str, ...] = ()

    @property
    def step(self) -> float:
        """How far a step goes, on a logarithmic slider in decades: the value to start at is a whole number of them."""
        if self.log:
            step, above = 1 / DECADE, log10(self.value / self.low)
        else:
            step, above = (self.high - self.low) / STEPS, self.value - self.low
        return above / max(1, round(above / step)) if above > 0 and step > 0 else step

    def nearest(self, value: Any) -> Any:
        """The value, inside the range, in few digits."""
        if self.choices:
            return value
        if self.integer:
            return round(min(max(float(value), self.low), self.high))
        return min(max(float(f"{value:.6g}"), self.low), self.high)

    def on_a_step(self, value: Any) -> Any:
        """The nearest value that the slider can stand at."""
        if self.choices or self.integer or not self.step:
            return self.nearest(value)
        if self.log:
            return self.nearest(self.low * 10 ** (round(log10(value / self.low) / self.step) * self.step))
        return self.nearest(self.low + round((value - self.low) / self.step) * self.step)


def controls(system: System, setup: Setup, level: str) -> list[Control]:
    """The parameters that can be moved at a level, in the order of their declaration."""
    fixed = system.fixes(setup, level, system.variant(level, None), system.mode(setup.mode))
    usual = _diagram_axes(system)
    moved = (p for p in system.parameters if level in p.levels and p.name not in NOT_SLID and p.name not in fixed)
    return [found for p in moved if (found := _control(p, setup[p.name], usual.get(p.name))) is not None]


def _control(p: Parameter, value: Any, axis: Axis | None) -> Control | None:
    if p.choices:
        return Control(p.name, p.meaning, value, choices=p.choices)
    if not isfinite(value):
        return None
    low, high, is_log = _range(p, float(value))
    if axis is not None:
        low, high = min(*axis.values, value), max(*axis.values, value)
        is_log = p.log or axis.spacing == "log"
    return Control(p.name, p.meaning, value, low, high, p.integer, is_log and low > 0 and not p.integer)


def _range(p: Parameter, value: float) -> tuple[float, float, bool]:
    """The declared range and whether it is logarithmic; of one that is much wider, what lies about the default."""
    size = abs(value) or 1.0
    low, high = max(p.low, -WIDE * size), min(p.high, WIDE * size)
    is_wide = p.high > WIDE * size and value > 0
    if is_wide and not p.integer:
        low = max(low, size / WIDE)
    if p.open_low and low == p.low:
        low += size / WIDE
    if p.open_high and high == p.high:
        high -= (high - value) / WIDE
    return low, high, p.log or is_wide


def _diagram_axes(system: System) -> dict[str, Axis]:
    """The axes of the system's first diagram that are numbers."""
    first = next(iter(system.diagrams.values()), None)
    axes = [parse_axis(text) for text in (first.axes if first is not None else ())]
    return {axis.name: axis for axis in axes if all(isinstance(v, int | float) for v in axis.values)}
