"""Level sets traced by continuation instead of a grid: predictor along the curve, Newton back onto it.

In the plane of two parameters (each scaled to [0, 1], logarithmically where its axis is) a target F = 0 is followed by
arc length, so turning points are points like any other. F and its gradient come from the variational equations. Curves
start where a coarse grid changes sign, and end at the border of the plane, where they close, or where what the target
asks for does not happen any more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from flowsys.analysis.result import Analysis
from flowsys.analysis.targets import NotThere, Target, parse_target
from flowsys.errors import InputError
from flowsys.runs.flow import Flow, flow_of
from flowsys.sweeps.axes import Axis, checked
from flowsys.system import Setup, System

GRID = 7
FIRST_STEP, LONGEST, SHORTEST = 0.04, 0.08, 1e-4
CLOSE = 1e-11  # how near the curve a point lies, in the scaled plane
MOST_POINTS, MOST_NEWTON = 400, 8
LARGEST_TURN = 0.35  # radians between the tangents of neighbours
KNOWN = 0.06  # a seed so near to a curve lies on it


@dataclass(frozen=True)
class Plane:
    """Two parameters between the ends of their axes."""

    axes: tuple[Axis, Axis]

    def values(self, u: np.ndarray) -> dict[str, float]:
        return {axis.name: float(self._value(axis, x)) for axis, x in zip(self.axes, u)}

    def slopes(self, u: np.ndarray) -> np.ndarray:
        """d value / d u."""
        ends = [(float(axis.values[0]), float(axis.values[-1])) for axis in self.axes]
        return np.array([
            self._value(axis, x) * np.log(b / a) if axis.spacing == "log" else b - a
            for axis, x, (a, b) in zip(self.axes, u, ends)
        ])  # fmt: skip

    @staticmethod
    def _value(axis: Axis, u: float) -> float:
        a, b = float(axis.values[0]), float(axis.values[-1])
        return a * (b / a) ** u if axis.spacing == "log" else a + u * (b - a)


@dataclass(frozen=True, kw_only=True)
class Traced(Analysis):
    """The curves of a target in the plane of two parameters, each points × 2."""

    target: str
    label: str
    axes: tuple[Axis, Axis]
    curves: tuple[np.ndarray, ...]

    @property
    def title(self) -> str:
        n = sum(map(len, self.curves))
        return f"{self.origin.system}: {self.target} in {len(self.curves)} curves of {n} points"

    @property
    def rows(self) -> list[dict[str, Any]]:
        x, y = (axis.name for axis in self.axes)
        return [
            {"target": self.target, "curve": k, x: float(a), y: float(b)}
            for k, curve in enumerate(self.curves)
            for a, b in curve
        ]

    def details(self) -> dict[str, Any]:
        return {"target": self.target, "axes": [axis.name for axis in self.axes]}

    def figure(self) -> Any:
        from flowsys.analysis.pictures.tracing import tracing

        return tracing(self)


def trace(
    system: System,
    target: str,
    x: Axis,
    y: Axis,
    setup: Setup | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-11,
    command: str = "",
) -> Traced:
    """All curves of a target between the ends of two axes."""
    plane = Plane((_axis(x, system), _axis(y, system)))
    flow = flow_of(system, setup, level, variant, mode)
    wanted = parse_target(target, flow)
    curves, remarks = _Tracer(flow, wanted, plane, rtol).curves()
    if not curves:
        remarks = [*remarks, f"{target} is met nowhere between the ends of the axes"]
    names = [x.name, y.name]
    fixed = {name: value for name, value in flow.setup.items() if name not in names}
    return Traced(
        origin=replace(flow.origin(command), parameters=fixed),
        symbols=system.names.symbols({*names, *flow.setup}, mode),
        remarks=tuple(dict.fromkeys(remarks)),
        target=target,
        label=wanted.label(flow),
        axes=plane.axes,
        curves=tuple(curves),
    )


def _axis(axis: Axis, system: System) -> Axis:
    """An axis with numbers along it; its ends are those of the plane."""
    axis = checked(axis, system)
    parameter = next(p for p in system.parameters if p.name == axis.name)
    if parameter.integer or any(isinstance(v, str | bool) for v in axis.values) or len(set(axis.values)) < 2:
        raise InputError(f"axis {axis.name} cannot be traced along: it must have two different real ends.")
    return replace(axis, values=tuple(sorted(axis.values)))


class _Tracer:
    """F on the scaled plane, and the curves on which it vanishes."""

    def __init__(self, flow: Flow, target: Target, plane: Plane, rtol: float):
        self.flow, self.target, self.plane, self.rtol = flow, target, plane, rtol
        self.remarks: list[str] = []

    def _at(self, u: np.ndarray) -> Flow:
        return self.flow.at(**self.plane.values(u))

    def value(self, u: np.ndarray) -> float:
        """F; NaN where it has no value."""
        try:
            return self.target.value(self._at(u), 1e-8)
        except (NotThere, InputError):
            return np.nan

    def gradient(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        names = [axis.name for axis in self.plane.axes]
        value, slopes = self.target.gradient(self._at(u), names, self.rtol)
        return value, slopes * self.plane.slopes(u)

    def curves(self) -> tuple[list[np.ndarray], list[str]]:
        found: list[np.ndarray] = []
        for seed in self._seeds():
            if any(_distance(seed, curve) < KNOWN for curve in found):
                continue
            try:
                on = self._corrected(seed)
            except (NotThere, InputError):
                continue
            if on is None or any(_distance(on[0], curve) < KNOWN for curve in found):
                continue
            curve = self._followed(*on)
            if len(curve) > 1:
                found.append(curve)
        values = [np.array([list(self.plane.values(u).values()) for u in curve]) for curve in found]
        return values, self.remarks

    def _seeds(self) -> list[np.ndarray]:
        """Where F changes sign between neighbours of a coarse grid, by straight lines between them."""
        ticks = np.linspace(0, 1, GRID)
        F = np.array([[self.value(np.array([a, b])) for b in ticks] for a in ticks])
        seeds = []
        for i, j in np.ndindex(GRID, GRID):
            for di, dj in ((1, 0), (0, 1)):
                k, m = i + di, j + dj
                if k < GRID and m < GRID and F[i, j] * F[k, m] <= 0 and np.isfinite(F[i, j] + F[k, m]):
                    share = F[i, j] / (F[i, j] - F[k, m]) if F[i, j] != F[k, m] else 0.5
                    a, b = np.array([ticks[i], ticks[j]]), np.array([ticks[k], ticks[m]])
                    seeds.append(a + share * (b - a))
        return seeds

    def _corrected(self, u: np.ndarray, along: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray] | None:
        """The point of the curve near u, and the gradient there; `along` holds it to a line. None if there is none."""
        first = u
        for _ in range(MOST_NEWTON):
            value, slope = self.gradient(u)
            way = slope if along is None else along
            steep = float(slope @ way)
            if not np.isfinite(value) or abs(steep) < 1e-300:
                return None
            step = -value / steep * way
            u = np.clip(u + step, 0.0, 1.0)
            if np.linalg.norm(step) <= CLOSE:
                return u, slope
            if np.linalg.norm(u - first) > 0.3:
                return None
        return None

    def _followed(self, start: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The curve through a point, both ways."""
        ahead, is_closed = self._one_way(start, slope, +1.0)
        if is_closed:
            return np.array([start, *ahead, start])
        behind, _ = self._one_way(start, slope, -1.0)
        return np.array([*behind[::-1], start, *ahead])

    def _one_way(self, start: np.ndarray, slope: np.ndarray, way: float) -> tuple[list[np.ndarray], bool]:
        points: list[np.ndarray] = []
        u, tangent, step, bend = start, way * _tangent(slope), FIRST_STEP, np.zeros(2)
        while len(points) < MOST_POINTS:
            guess = u + step * tangent + 0.5 * step**2 * bend
            if (guess < 0).any() or (guess > 1).any():
                return [*points, *self._exit(u, tangent, guess)], False
            on = self._tried(partial(self._corrected, guess))
            turn = np.pi if on is None else _angle(tangent, _tangent(on[1]))
            if on is None or turn > LARGEST_TURN or np.linalg.norm(on[0] - guess) > 0.5 * step:
                step /= 2
                if step < SHORTEST:
                    return points, False
                continue
            ahead = _tangent(on[1])
            ahead = ahead if ahead @ tangent > 0 else -ahead
            gone = float(np.linalg.norm(on[0] - u))
            bend, u, tangent = (ahead - tangent) / max(gone, 1e-12), on[0], ahead
            if len(points) > 2 and np.linalg.norm(u - start) < 0.75 * step:
                return points, True
            points.append(u)
            step = min(LONGEST, step * (1.6 if turn < LARGEST_TURN / 3 else 1.0))
        self.remarks.append(f"a curve of {self.target.text} is broken off after {MOST_POINTS} points")
        return points, False

    def _exit(self, u: np.ndarray, tangent: np.ndarray, guess: np.ndarray) -> list[np.ndarray]:
        """The point where a curve leaves the plane, if it can be found."""
        lengths = [((g > 1) - x) / d for x, d, g in zip(u, tangent, guess) if not 0 <= g <= 1 and d != 0]
        if not lengths:
            return []
        at = u + min(lengths) * tangent
        side = int(np.abs(at - np.round(at)).argmin())
        at[side] = np.round(at[side])
        free = np.array([float(side != 0), float(side != 1)])
        on = self._tried(lambda: self._corrected(np.clip(at, 0.0, 1.0), free))
        return [on[0]] if on is not None and np.linalg.norm(on[0] - u) > SHORTEST else []

    def _tried(self, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except NotThere as event:
            self.remarks.append(f"a curve of {self.target.text} ends where {event} is not reached")
        except InputError:
            pass
        return None


def _tangent(slope: np.ndarray) -> np.ndarray:
    return np.array([-slope[1], slope[0]]) / np.linalg.norm(slope)


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arccos(np.clip(abs(a @ b), 0.0, 1.0)))


def _distance(point: np.ndarray, curve: Sequence[np.ndarray] | np.ndarray) -> float:
    """From a point to a polygon."""
    curve = np.asarray(curve)
    a, d = curve[:-1], np.diff(curve, axis=0)
    share = np.clip(((point - a) * d).sum(axis=1) / np.maximum((d**2).sum(axis=1), 1e-300), 0, 1)
    return float(np.linalg.norm(a + share[:, None] * d - point, axis=1).min())
