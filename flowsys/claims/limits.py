"""Limits: what a quantity tends to towards the end of a path or of a run, extrapolated from what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.claims.bounded import thinned
from flowsys.claims.measurements import Finding, Point, Series, branches, few, mixed, shown, together, with_sets
from flowsys.claims.verdict import Word, listed


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
        size = self.tolerance * max(abs(value), 1.0)
        left, interval = _extrapolated(*thinned(x, off))
        values = {"x": x, "off": off, "extrapolated": value + left, "distance": left}
        text = f"{part + ': ' if part else ''}off by {listed(few(off))}; extrapolated {shown(value + left)} for " \
               f"{shown(value)}"  # fmt: skip
        ends = value + interval[0], value + interval[1]
        if not np.isfinite(off).all():
            return Finding(Word.NOT_TESTABLE, text, "a value is no number", None, last, values)
        is_near = abs(left) <= size and abs(off[-1]) <= max(abs(off[0]), size)
        spans = interval[0] <= size and interval[1] >= -size
        if is_near and max(abs(interval[0]), abs(interval[1])) <= max(size, abs(off[-1])):
            return Finding(Word.HOLDS, text, "", value + left, None, values, interval=ends)
        if not spans:
            return Finding(Word.FAILS, text, "it settles elsewhere", value + left, last, values, interval=ends)
        return Finding(Word.NOT_TESTABLE, text, "not yet asymptotic", value + left, last, values, interval=ends)


def _extrapolated(x: np.ndarray, off: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Where c + a X^-r goes, and an interval for it from fits without the first and last points."""
    from flowsys.laws.candidates import Candidate, fit

    n = len(x)
    spread = float(np.ptp(off))
    if n < 3 or spread <= 1e-12 * max(1.0, float(np.abs(off).max())):
        return float(off[-1]), (float(off[-1]) - spread, float(off[-1]) + spread)
    X = 1 / x if x[-1] < x[0] else x
    shift = off[-1] - 10 * spread * np.sign(off[-1] - off[0] or 1.0)  # positive and of one size: weights are relative
    settling, found = Candidate("constant", False, 0, "power"), []
    for part in (slice(0, n), slice(n // 4, n), slice(n // 3, n), slice(0, n - 1)):
        there = np.abs(off[part] - shift)
        fitted = fit(settling, X[part], there) if len(there) >= 5 else None
        if fitted is not None:
            found.append(shift + np.sign(off[-1] - shift) * fitted.leading)
    if not found:
        return float(off[-1]), (float(min(off[-1], 2 * off[-1] - off[-2])), float(max(off[-1], 2 * off[-1] - off[-2])))
    low, high = min(found), max(found)
    half = max(high - low, 1e-3 * abs(found[0] - off[-1]))
    return float(found[0]), (float(low - half), float(high + half))
