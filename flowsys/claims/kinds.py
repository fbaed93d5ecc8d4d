"""Kinds of claims that are decided place by place: identity, inequality, sign, existence, experiment.

Each turns measurements into a word by a rule of its own. A claim holds if it does everywhere it was measured, in part
if it does at some places or for some of its parts. A window that is empty or never reached decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.claims.bounded import bounded
from flowsys.claims.measurements import Finding, Point, Sides, Tolerance, mixed, number, placed, shown, together
from flowsys.claims.verdict import Word, listed, word_of

ROUNDING = 1e-9
EMPTY = "the window is empty, so there is nothing to judge"


def _sides(measured: Any) -> Sides:
    return measured if isinstance(measured, Sides) else Sides(*measured)


def _first(marks: np.ndarray) -> int | None:
    rows = np.flatnonzero(marks)
    return int(rows[0]) if len(rows) else None


def _named(part: str, text: str) -> str:
    return f"{part}: {text}" if part else text


@dataclass(frozen=True)
class Identity:
    """left = right within a tolerance, relative to the largest |right| of the window (or absolute).

    `tolerance` is a number or a function of the kit. A measurement is `Sides` or a pair, or several by name.
    """

    tolerance: Tolerance = 1e-8
    relative: bool = True
    name = "identity"
    predicted = "both sides are equal"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        tolerance, cells, breaks, by_point = number(self.tolerance, kit), [], None, []
        errors: dict[str, float] = {}
        for point in points:
            for part, measured in point.parts().items():
                sides = _sides(measured)
                if not sides.left.size:
                    return Finding(Word.NOT_TESTABLE, "", EMPTY)
                size = np.abs(sides.right).max() if self.relative else 1.0
                error = np.abs(sides.left - sides.right) / (size or 1.0)
                row = _first(~(error <= tolerance))
                cells.append(row is None)
                errors[part] = max(errors.get(part, 0.0), float(np.max(error)))
                if row is not None and breaks is None:
                    breaks = {"part": part, **point.sets, **sides.place(row)}
            by_point.append(all(cells[-len(point.parts()) :]))
        largest = max(errors.values())
        what = "relative difference" if self.relative else "difference"
        text = f"largest {what} {shown(largest)}, tolerance {shown(tolerance)}"
        return Finding(word_of(cells), text, _broken(breaks), largest, breaks, {"errors": errors}, tolerance=tolerance,
                       by_point=by_point)  # fmt: skip


def _broken(place: Mapping[str, Any] | None) -> str:
    return f"breaks first at {placed(place)}" if place is not None and placed(place) else ""


@dataclass(frozen=True)
class Inequality:
    """left ≤ C right (or ≥) on a window, at every place.

    With C given the inequality is as printed; with `constant=None` some constant has to serve every place, and along a
    path it must not run away. The best constant is the largest (for ≥ the least) ratio left / right.
    """

    sense: str = "<="
    constant: float | None = 1.0
    rounding: float = ROUNDING
    name = "inequality"

    @property
    def predicted(self) -> str:
        sign = {"<=": "≤", ">=": "≥"}[self.sense]
        return (
            f"left {sign} C right for some C" if self.constant is None else f"left {sign} {shown(self.constant)} right"
        )

    def __post_init__(self):
        if self.sense not in ("<=", ">="):
            raise ValueError(f"sense = {self.sense} is not one of <=, >=")

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        by_part: dict[str, list[tuple[Point, Sides, float]]] = {}
        for point in points:
            for part, measured in point.parts().items():
                sides = _sides(measured)
                if not sides.left.size:
                    return Finding(Word.NOT_TESTABLE, "", EMPTY)
                name = ", ".join(filter(None, (part, point.branch)))
                by_part.setdefault(name, []).append((point, sides, self._best(sides)))
        judge = self._explicit if self.constant is not None else self._hidden
        return judge(by_part, points)

    def _best(self, sides: Sides) -> float:
        """The largest (least) ratio; a right side that vanishes where the left does says nothing of it."""
        left, right = sides.left, sides.right
        matters = (left != 0) | (right != 0)
        if not matters.any():
            return np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(right[matters] > 0, left[matters] / right[matters], np.nan)
        if np.isnan(ratio).any():
            return np.inf if self.sense == "<=" and (left[matters] > 0).any() else np.nan
        return float(ratio.max() if self.sense == "<=" else ratio.min())

    def _explicit(self, by_part: Mapping[str, list], points: Sequence[Point]) -> Finding:
        sign, breaks = 1 if self.sense == "<=" else -1, None
        cells: dict[tuple[str, int], bool] = {}
        best: dict[str, list[float]] = {}
        at = dict.fromkeys(map(id, points), True)
        for part, found in by_part.items():
            for point, sides, ratio in found:
                size = np.maximum(np.abs(sides.left), np.abs(sides.right))
                excess = sign * (sides.left - self.constant * sides.right) - self.rounding * size
                row = _first(~(excess <= 0))
                cells[part, id(point)] = row is None
                at[id(point)] &= row is None
                best.setdefault(part, []).append(ratio)
                if row is not None and breaks is None:
                    breaks = {"part": part, **point.sets, **sides.place(row)}
        extreme = {part: float(max(x) if sign > 0 else min(x)) for part, x in best.items()}
        constant = _extreme(list(extreme.values()), sign)
        text = together([_named(part, f"left over right {'at most' if sign > 0 else 'at least'} {shown(c)}")
                         for part, c in extreme.items()])  # fmt: skip
        return Finding(word_of(cells.values()), text, _broken(breaks), constant, breaks, {"constants": extreme},
                       by_point=[at[id(p)] for p in points])  # fmt: skip

    def _hidden(self, by_part: Mapping[str, list], points: Sequence[Point]) -> Finding:
        sign, words, texts, extreme, breaks = (1 if self.sense == "<=" else -1), [], [], {}, None
        open_ends: dict[str, str] = {}
        for part, found in by_part.items():
            ratios = np.array([ratio for _, _, ratio in found])
            extreme[part] = float(ratios.max() if sign > 0 else ratios.min())
            usable = np.isfinite(ratios) & ((ratios > 0) if sign < 0 else True)
            if not usable.all():
                breaks = breaks or {"part": part, **found[int(np.argmin(usable))][0].sets}
                words.append(Word.FAILS if not usable.any() else Word.IN_PART)
            elif len(found) > 2:
                x = [next(iter(point.sets.values())) for point, _, _ in found]
                word, why = bounded(x, ratios if sign > 0 else 1 / ratios, "")
                words.append(word)
                open_ends |= {part: why} if why and word is not Word.HOLDS else {}
            else:
                words.append(Word.HOLDS)
            texts.append(_named(part, f"best constant {shown(extreme[part])}; at each place {listed(ratios)}"))
        word = words[0] if len(set(words)) == 1 else mixed(words)
        note = together([_broken(breaks), *(_named(part, why) for part, why in open_ends.items())])
        return Finding(word, together(texts), note, _extreme(list(extreme.values()), sign), breaks,
                       {"constants": extreme})  # fmt: skip


def _extreme(values: Sequence[float], sign: int) -> float | None:
    finite = [value for value in values if not np.isnan(value)]
    return None if not finite else float(max(finite) if sign > 0 else min(finite))


@dataclass(frozen=True)
class Sign:
    """Signs of named quantities on a window: {name: +1 or -1}; `strict` where 0 is not allowed.

    A measurement is a trajectory (read by name, along its t) or {name: array}. The constant is the least quantity
    times its sign, over the largest of its absolute values.
    """

    signs: Mapping[str, int]
    strict: bool = False
    name = "sign"

    @property
    def predicted(self) -> str:
        return f"{len(self.signs)} signs"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        wrong: dict[str, dict] = {}
        least: dict[str, float] = {}
        by_point: list[bool] = []
        for point in points:
            there = point.measured
            by_point.append(True)
            t = getattr(there, "t", None)
            for name, sign in self.signs.items():
                x = sign * np.atleast_1d(np.asarray(there[name], float))
                if not x.size:
                    return Finding(Word.NOT_TESTABLE, "", EMPTY)
                size = float(np.abs(x).max()) or 1.0
                least[name] = min(least.get(name, np.inf), float(x.min()) / size)
                row = _first(~(x > 0) if self.strict else ~(x >= -1e-12 * size))
                by_point[-1] &= row is None
                if row is not None and name not in wrong:
                    wrong[name] = {"part": name, **point.sets} | ({} if t is None else {"t": float(t[row])})
        n, broken = len(self.signs), next(iter(wrong.values()), None)
        text = f"{n - len(wrong)} of {n} signs hold" + (f"; broken: {', '.join(sorted(wrong))}" if wrong else "")
        return Finding(word_of(name not in wrong for name in self.signs), text, _broken(broken), min(least.values()),
                       broken, {"broken": sorted(wrong), "least": least}, by_point=by_point)  # fmt: skip


@dataclass(frozen=True)
class Existence:
    """Something with a property exists: the measurement is the margin (> 0) of the best one found, by name or alone.

    Not finding one disproves it only where the search was exhaustive.
    """

    exhaustive: bool = False
    name = "existence"
    predicted = "there is one"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        margins, breaks = [], None
        for point in points:
            margin = min(float(np.min(x)) for x in point.parts().values())
            margins.append(margin)
            if not margin > 0 and breaks is None:
                breaks = dict(point.sets)
        word = word_of(margin > 0 for margin in margins)
        note = _broken(breaks)
        if word is not Word.HOLDS and not self.exhaustive:
            word = Word.NOT_TESTABLE if word is Word.FAILS else word
            note = together(["none was found, which is no proof that there is none", note])
        return Finding(word, f"margin of the best one found {listed(margins)}", note, min(margins), breaks,
                       {"margins": margins}, by_point=[margin > 0 for margin in margins])  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """What an experiment of the paper shows: the measurement says of each finding whether it was seen.

    A finding is a truth value, or `Sides` whose left has to be at least its right.
    """

    name = "experiment"
    predicted = "the findings are seen"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        seen: dict[str, bool] = {}
        values: dict[str, Any] = {}
        for point in points:
            for part, measured in point.parts().items():
                is_sides = isinstance(measured, Sides)
                is_seen = bool((measured.left >= measured.right).all()) if is_sides else bool(measured)
                seen[part] = seen.get(part, True) and is_seen
                values[part] = [measured.left, measured.right] if is_sides else is_seen
        missed = [part for part, is_seen in seen.items() if not is_seen]
        text = f"{len(seen) - len(missed)} of {len(seen)} findings seen"
        text += "".join(f"; {part} {listed(x[0])} against {listed(x[1])}" for part, x in values.items() if not
                        isinstance(x, bool))  # fmt: skip
        note = f"not seen: {', '.join(filter(None, missed))}" if any(missed) else ""
        word = Word.NOT_REPRODUCED if missed else Word.REPRODUCED
        return Finding(word, text, note, None, {"part": missed[0]} if missed else None, values)
