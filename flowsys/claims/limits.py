"""Limits: what a quantity tends to towards the end of a path or of a run, extrapolated from what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.claims.bounded import thinned
from flowsys.claims.measurements import Finding, Point, Series, branches, few, mixed, shown, together, with_sets
from flowsys.claims.verdict import Word, listed

FEWEST_FITTED = 5
ALL_OF_IT = 1.01  # an interval as wide as what is left at the end, but for rounding
FOLLOWS = 0.02  # of the motion over the later half: the most by which a fit may miss the last third
SAME, RIVAL = 1e-6, 3.0  # fits that miss it by so little, or by few times the best, are equally good
SLOWS = 0.9  # a motion of which less than this follows in as many points more
MOVES = 0.01  # of the whole motion: less than this at the end is rest, or rounding
ROUNDS = 4
WAYS = {  # what falls to 0 as X grows from 1, with the range of its constant; the unit of X is anybody's
    lambda X, rate: X**-rate: (0.02, 6.0),
    lambda X, times: np.exp(-times * (X - 1) / (X[-1] - 1)): (1.0, 60.0),
    lambda X, start: 1 / (np.log(X) + start): (0.5, 16.0),
}


@dataclass(frozen=True)
class Limit:
    """quantity → value towards the end of a path, or of a series along one run.

    It holds if what is extrapolated from the measurements is the value within `tolerance` (of the larger of the value
    and 1), fails if it settles elsewhere, and is not decided where it does not settle.
    """

    value: Callable[..., float] | float
    tolerance: float = 1e-2
    name = "limit"
    predicted = "tends to its value"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        findings = [self._judge(*series) for series in self._series(points)]
        words = [found.word for found in findings]
        word = words[0] if len(set(words)) == 1 else mixed(words)
        worst = max(findings, key=lambda found: abs(found.values["distance"]))
        return Finding(word, together([f.measured for f in findings]), together([f.note for f in findings]),
                       worst.constant, next((f.breaks_at for f in findings if f.breaks_at), None),
                       {"parts": [f.values for f in findings]} if len(findings) > 1 else findings[0].values,
                       tolerance=self.tolerance, interval=worst.interval)  # fmt: skip

    def _series(self, points: Sequence[Point]):
        value = lambda p: float(self.value(p)) if callable(self.value) else float(self.value)
        if any(isinstance(x, Series) for x in points[0].parts().values()):
            for point in points:
                for part, series in point.parts().items():
                    last = {"part": part, **point.sets, series.along: float(series.x[-1])}
                    yield with_sets(part, point.sets), series.x, series.y - value(point.p), value(point.p), last
            return
        for branch, along in branches(points).items():
            x = np.array([float(next(iter(point.sets.values()))) for point in along])
            for part in along[0].parts():
                off = np.array([float(point.parts()[part]) - value(point.p) for point in along])
                name = ", ".join(filter(None, (part, branch)))
                yield name, x, off, value(along[-1].p), {"part": part, **along[-1].sets}

    def _judge(self, part: str, x, off, value: float, last) -> Finding:
        name = f"{part}: " if part else ""
        if not np.isfinite(off).all():
            values = {"x": x, "off": off, "distance": np.inf}
            return Finding(Word.NOT_TESTABLE, f"{name}off by {listed(few(off))}", "a value is no number", None, last,
                           values)  # fmt: skip
        size = self.tolerance * max(abs(value), 1.0)
        left, interval = _extrapolated(*thinned(x, off))
        values = {"x": x, "off": off, "extrapolated": value + left, "distance": left}
        text = f"{name}off by {listed(few(off))}; extrapolated {shown(value + left)} for {shown(value)}"
        ends = value + interval[0], value + interval[1]
        is_near = abs(left) <= size and abs(off[-1]) <= max(abs(off[0]), size)
        spans = interval[0] <= size and interval[1] >= -size
        if is_near and max(abs(interval[0]), abs(interval[1])) <= max(size, ALL_OF_IT * abs(off[-1])):
            return Finding(Word.HOLDS, text, "", value + left, None, values, interval=ends)
        if not spans:
            return Finding(Word.FAILS, text, "it settles elsewhere", value + left, last, values, interval=ends)
        return Finding(Word.NOT_TESTABLE, text, "not yet asymptotic", value + left, last, values, interval=ends)


def _extrapolated(x: np.ndarray, off: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Where a series goes, and an interval for it.

    Ways of settling are fitted to all points and to later ones only; those count that follow the end of the series, and
    the interval spans those that do so about as well as the best. What is left to go beyond the motion of the later
    half is not told by the data, so the interval is as wide. Where none follows, a geometric series through the last
    points says what is left.
    """
    n, spread = len(x), float(np.ptp(off))
    if n < 3 or spread <= 1e-12 * max(1.0, float(np.abs(off).max())):
        return float(off[-1]), (float(off[-1]) - spread, float(off[-1]) + spread)
    X = x[0] / x if x[-1] < x[0] else x / x[0]
    moves = max(float(np.ptp(off[n // 2 :])), 1e-300)
    found = []
    for part in (slice(0, n), slice(n // 4, n), slice(n // 3, n), slice(n // 2, n), slice(0, n - 1)):
        for way, (least, most) in WAYS.items() if len(off[part]) >= FEWEST_FITTED else ():
            end, there = _fitted(way, least, most, X, off, part)
            found.append((float(np.abs(there - off)[-(n // 3) :].max() / moves), end))
    best, value = min(found, default=(np.inf, 0.0))
    if best > FOLLOWS:
        return _geometric(off)
    near = [end for misfit, end in found if misfit <= max(RIVAL * best, SAME)]
    low, high, left = min(near), max(near), abs(value - float(off[-1]))
    half = max(high - low, left if left > moves else 1e-3 * left)
    return value, (low - half, high + half)


def _fitted(way: Callable, least: float, most: float, X: np.ndarray, off: np.ndarray, part: slice):
    """c and c + a way(X, k) at all X, fitted to a part of them: k on a grid that is made finer around the best."""
    for _ in range(ROUNDS):
        each = []
        for k in np.geomspace(least, most, 40):
            rows = np.stack([np.ones(len(X)), way(X, k)], axis=1)
            beta = np.linalg.lstsq(rows[part], off[part], rcond=1e-13)[0]
            each.append((float(((rows @ beta - off)[part] ** 2).sum()), k, float(beta[0]), rows @ beta))
        _, k, end, there = min(each, key=lambda one: one[0])
        step = (most / least) ** (1 / 39)
        least, most = max(least, k / step), min(most, k * step)
    return end, there


def _geometric(off: np.ndarray) -> tuple[float, tuple[float, float]]:
    """The end of a geometric series through the last points, as far off again on both sides; else the last motion.

    Of what still moves and hardly slows down nothing tells how far it goes on.
    """
    step = max(1, (len(off) - 1) // 4)
    first, second = off[-1 - step] - off[-1 - 2 * step], off[-1] - off[-1 - step]
    ratio = second / first if first else np.inf
    left = second * ratio / (1 - ratio) if 0 <= ratio < SLOWS else 0.0
    reach = 2 * abs(left) if left or not second else float(np.ptp(off[-1 - 2 * step :]))
    value = float(off[-1] + left)
    goes_on = second if ratio >= SLOWS and abs(second) > MOVES * np.ptp(off) else 0.0
    return value, (-np.inf if goes_on < 0 else value - reach, np.inf if goes_on > 0 else value + reach)
