"""Kinds of claims that speak of a limit: orders (O, Ω, Θ and their tildes) along a path, and limits.

An order is judged by the measured constants, quantity over scale, towards the end of the path: they have to stay
bounded, for Ω away from 0. Whether they do is decided between laws of the constants that stay bounded, grow like a
logarithm and grow like a power (`flowsys.laws`): the growing one is believed only if it predicts clearly better what
it was not fitted to and the growth goes on at the end of the path; where neither is clear the claim is not decided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flowsys.claims.measurements import Finding, Point, Series, branches, shown, together
from flowsys.claims.verdict import Word, listed
from flowsys.laws.fits import Fit, line, power_law
from flowsys.laws.law import Law, evidence, law, local_exponents

SYMBOLS = ("O", "Ω", "Θ", "Õ", "Ω̃", "Θ̃")
CLEARLY = 2.0
ABOUT = 1.3
SLIGHT = 0.02
HOLDS_ON = 0.75
FAR = 1e3
STEEP = 5.0
EVER_FASTER = "the constants grow ever faster"
MOST_POINTS = 20


def bounded(x: ArrayLike, ratio: ArrayLike, tilde: str) -> tuple[Word, str]:
    """Whether positive ratios stay bounded towards the last x, up to logarithms if `tilde`; and why, in words."""
    x, ratios = _thinned(np.asarray(x, float), np.asarray(ratio, float))
    if not (ratios[-max(1, len(ratios) // 3) :] > 0).any():
        return Word.HOLDS, ""
    ratios = np.maximum(ratios, 1e-300)
    X = 1 / x if x[-1] < x[0] else x
    local = local_exponents(X, ratios)
    last = local[-max(1, len(local) // 3) :]
    middle = local[: len(local) - len(last)][-max(1, len(local) // 3) :] if len(local) > 1 else last
    end, before = float(np.mean(last)), float(np.mean(middle)) if len(middle) else float(np.mean(last))
    if len(x) < 3:
        return (Word.HOLDS, "") if end <= SLIGHT else (Word.NOT_TESTABLE, "too few places along the path to tell")
    flat, logarithm, power = evidence(x, ratios)
    allowed, growing = (min(flat, logarithm), power) if tilde else (flat, min(logarithm, power))
    if tilde:
        goes_on = end > 0 and _is_power(X, local)
    else:
        goes_on = end > 0 and (end >= HOLDS_ON * before if power <= logarithm else _is_logarithmic(X, local))
    goes_up = end > SLIGHT and goes_on and _rises(ratios, local)
    if goes_up and _steepens(local):
        return Word.FAILS, f"{EVER_FASTER}, local exponents {listed(local)}"
    if goes_up and allowed <= ABOUT * growing:
        return Word.NOT_TESTABLE, f"the constants grow, but by no law: local exponents {listed(local)}"
    if end <= 0 or allowed <= ABOUT * growing:
        return Word.HOLDS, ""
    if allowed >= CLEARLY * growing and goes_on and end > SLIGHT:
        how = "a power" if power <= logarithm else "a logarithm"
        return Word.FAILS, f"the constants grow like {how}, local exponents {listed(local)}"
    if not goes_on or end <= SLIGHT:
        return Word.HOLDS, f"the constants level off, local exponents {listed(local)}"
    return Word.NOT_TESTABLE, f"not yet asymptotic: local exponents of the constants {listed(local)}"


def _rises(ratios: np.ndarray, local: np.ndarray) -> bool:
    """Whether constants rise throughout the later path, and by a factor that is no noise."""
    n = max(1, len(local) // 3)
    return bool((local[n:] > 0).all()) and float(ratios[-1]) > STEEP * float(ratios[len(ratios) // 2])


def _steepens(local: np.ndarray) -> bool:
    """Whether local exponents themselves rise, as an exponential's do: no law that is fitted here would have them."""
    n = max(1, len(local) // 3)
    first, last = float(np.mean(local[:n])), float(np.mean(local[-n:]))
    middle = float(np.mean(local[n:-n])) if len(local) > 2 * n else first
    return last >= ABOUT * max(middle, 0.0) and middle >= first


def _is_power(X: np.ndarray, local: np.ndarray) -> bool:
    """Whether local exponents stay rather than fall like 1/log X."""
    L, n = np.log(np.sqrt(X[1:] * X[:-1])), max(1, len(local) // 3)
    if len(local) < 2 * n:
        return True
    end, before = float(np.mean(local[-n:])), float(np.mean(local[-2 * n : -n]))
    of_logarithm = float(np.mean(L[-2 * n : -n]) / np.mean(L[-n:])) if L.min() > 0 else 1.0
    return end >= (1 + of_logarithm) / 2 * before


def _is_logarithmic(X: np.ndarray, local: np.ndarray) -> bool:
    """Whether local exponents fall like 1/log X, as those of a logarithm do, and no faster."""
    times_log = local * np.log(np.sqrt(X[1:] * X[:-1]))
    n = max(1, len(local) // 3)
    end, before = float(np.mean(times_log[-n:])), float(np.mean(times_log[-2 * n : -n])) if len(local) > n else 0.0
    return end >= 0.8 or (end >= 0.3 and end >= 0.9 * before)


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A long series at some of its points, evenly by the logarithm of x, the last one among them."""
    x, y = x[x > 0], y[x > 0]
    if len(x) <= MOST_POINTS:
        return x, y
    wanted = np.linspace(np.log(x[0]), np.log(x[-1]), MOST_POINTS)
    rows = np.unique([int(np.abs(np.log(x) - w).argmin()) for w in wanted])
    return x[rows], y[rows]


@dataclass(frozen=True)
class Order:
    """quantity = O(scale), Ω, Θ, or with a tilde, towards the end of a path, or of a series along one run.

    `scale` is a function of the parameters (of a series: and of its x), or a number. A quantity whose absolute value
    is below `floor` counts as 0: what rounding leaves of an exact 0 has no order. `along` names the variable of a
    series within a run ("t"); without it the order is judged along the claim's path.
    """

    symbol: str
    scale: Callable[..., Any] | float = 1.0
    floor: float = 0.0
    along: str = ""

    def __post_init__(self):
        if self.symbol not in SYMBOLS:
            raise ValueError(f"symbol = {self.symbol} is not one of {', '.join(SYMBOLS)}")

    @property
    def name(self) -> str:
        return f"order {self.symbol}"

    @property
    def predicted(self) -> str:
        upper = "bounded" if self.is_upper else ""
        lower = "away from zero" if self.is_lower else ""
        logs = ", up to logarithms" if self.tilde else ""
        return f"{self.symbol}: over its scale {' and '.join(filter(None, (upper, lower)))}{logs}"

    @property
    def tilde(self) -> str:
        return "tilde" if self.symbol in ("Õ", "Ω̃", "Θ̃") else ""

    @property
    def is_upper(self) -> bool:
        return self.symbol[0] in "OÕΘ"

    @property
    def is_lower(self) -> bool:
        return self.symbol[0] in "ΩΘ"

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        findings = [self._judge(series, kit) for series in self._series(points)]
        words = [found.word for found in findings]
        word = words[0] if len(set(words)) == 1 else _mixed(words)
        breaks = next((found.breaks_at for found in findings if found.breaks_at), None)
        ends = [found.constant for found in findings if found.constant is not None]
        constant: float | tuple[float, float] | None = None
        if ends:
            low, high = float(min(np.min(c) for c in ends)), float(max(np.max(c) for c in ends))
            constant = (low, high) if self.is_upper and self.is_lower else high if self.is_upper else low
        return Finding(
            word,
            together([f.measured for f in findings]),
            together([f.note for f in findings]),
            constant,
            breaks,
            {"parts": [f.values for f in findings]} if len(findings) > 1 else findings[0].values,
            {name: fit for found in findings for name, fit in found.fits.items()},
        )

    def _series(self, points: Sequence[Point]) -> Iterator[tuple]:
        """(name, x, quantity, scale, places): along the path by parts, or along each point's own series."""
        if any(isinstance(x, Series) for x in points[0].parts().values()):
            for point in points:
                for part, series in point.parts().items():
                    scale = self._scale(point.p, series.x)
                    places = [{"part": part, **point.sets, series.along: float(x)} for x in series.x]
                    yield _placed(part, point.sets), series.x, series.y, np.broadcast_to(scale, series.x.shape), places
            return
        for branch, along in branches(points).items():
            x = np.array([float(next(iter(point.sets.values()))) for point in along])
            scale = np.array([float(self._scale(point.p)) for point in along])
            for part in along[0].parts():
                quantity = np.array([float(point.parts()[part]) for point in along])
                places = [{"part": part, **point.sets} for point in along]
                yield ", ".join(filter(None, (part, branch))), x, quantity, scale, places

    def _scale(self, *arguments: Any) -> Any:
        return self.scale(*arguments) if callable(self.scale) else self.scale

    def _judge(self, series: tuple, kit: Any) -> Finding:
        part, x, quantity, scale, places = series
        quantity = np.where(np.abs(quantity) < self.floor, 0.0, quantity)
        values = {"x": x, "quantity": quantity, "ratios": quantity / scale}
        if not np.isfinite(quantity).all():
            return self._never(part, x, quantity, scale, places, kit, values)
        ratio, verdicts, breaks = np.abs(quantity) / scale, [], None
        if self.is_upper:
            verdicts.append(self._bounded(x, np.abs(quantity), scale))
        if self.is_lower:
            positive = quantity / scale > 0
            if positive.all():
                verdicts.append(self._bounded(x, scale, quantity))
            else:
                breaks = places[int(np.argmin(positive))]
                verdicts.append((Word.FAILS, "the quantity is not positive"))
        words = [word for word, _ in verdicts]
        word = words[0] if len(set(words)) == 1 else _mixed(words)
        if word in (Word.FAILS, Word.IN_PART) and breaks is None:
            breaks = places[-1]
        constant = (float(ratio.min()), float(ratio.max()))
        text = f"{part + ': ' if part else ''}over its scale {listed(_few(ratio))}, from {shown(constant[0])} to " \
               f"{shown(constant[1])}"  # fmt: skip
        note = together([why for _, why in verdicts])
        fits = {}
        if len(x) >= 3 and (quantity > 0).all():
            found = law(*_thinned(x, quantity))
            values |= {"law": found.as_dict()}
            text += f"; the quantity itself: {found}"
            fits = _fits(found, part, self.along or next(name for name in places[0] if name != "part"))
        return Finding(word, text, note, constant, breaks, values, fits)

    def _bounded(self, x: np.ndarray, smaller: np.ndarray, larger: np.ndarray) -> tuple[Word, str]:
        """Whether one side is of the order of the other; that it is not has to show in the laws of both, too.

        Of what grows ever faster there is no law to compare.
        """
        word, why = bounded(x, smaller / larger, self.tilde)
        if EVER_FASTER in why:
            return word, why
        if word is Word.FAILS and not _exceeds(law(*_thinned(x, smaller)), law(*_thinned(x, larger)), self.tilde):
            return Word.NOT_TESTABLE, together([why, "but their own laws are of one order"])
        return word, why

    def _never(self, part, x, quantity, scale, places, kit, values) -> Finding:
        """A time that is never reached: a run far beyond its scale refutes an upper bound, a short one says nothing."""
        row = int(np.argmin(np.isfinite(quantity)))
        finite = np.isfinite(quantity)
        usual = float((np.abs(quantity[finite]) / scale[finite]).max()) if finite.any() else 1.0
        horizon = float(kit.p["t_max"]) if "t_max" in kit.p else np.inf
        is_far = horizon > FAR * max(usual, 1.0) * float(scale[row])
        text = f"{part + ': ' if part else ''}not reached at the place {int(row) + 1} along the path"
        word = Word.FAILS if is_far and self.is_upper else Word.NOT_TESTABLE
        why = f"the run ends at t = {shown(horizon)}" if not is_far else ""
        return Finding(word, text, why, None, places[row], values)


def _exceeds(one: Law, other: Law, tilde: str) -> bool:
    """Whether a law grows faster than another towards the end of their x."""
    sign = -1.0 if one.x[-1] < one.x[0] else 1.0
    ends = lambda found: sorted(sign * e for e in found.interval) if found.kind.startswith("power") else (0.0, 0.0)
    (low, high), (other_low, other_high) = ends(one), ends(other)
    if low > other_high + SLIGHT:
        return True
    return not tilde and high >= other_low - SLIGHT and one.logarithms > other.logarithms


def _fits(found: Law, part: str, along: str) -> dict[str, Fit]:
    """The law as a fit to draw: a power law, or a line over the logarithm."""
    what = part or "quantity"
    if found.kind == "logarithm" and found.logarithms == 1:
        is_small = found.x[-1] < found.x[0]
        over = f"-log {along}" if is_small else f"log {along}"
        return {f"{what} over {over}": line(np.log(1 / found.x if is_small else found.x), found.y)}
    return {f"{what} over {along}": power_law(found.x, found.y)}


def _mixed(words: Sequence[Word]) -> Word:
    """Some parts hold and others do not: in part; what is not decided leaves the whole undecided, unless one fails."""
    if Word.FAILS in words or Word.IN_PART in words:
        return Word.IN_PART if any(word in (Word.HOLDS, Word.IN_PART) for word in words) else Word.FAILS
    return Word.NOT_TESTABLE


def _few(ratio: np.ndarray) -> np.ndarray:
    return ratio if len(ratio) <= 8 else ratio[np.unique(np.linspace(0, len(ratio) - 1, 8).round().astype(int))]


def _placed(part: str, sets) -> str:
    named = ", ".join(f"{name} = {shown(x)}" for name, x in sets.items() if isinstance(x, float | int))
    return ", ".join(filter(None, (part, named)))


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
        word = words[0] if len(set(words)) == 1 else _mixed(words)
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
                    yield _placed(part, point.sets), series.x, series.y - value(point.p), value(point.p), last
            return
        for branch, along in branches(points).items():
            x = np.array([float(next(iter(point.sets.values()))) for point in along])
            for part in along[0].parts():
                off = np.array([float(point.parts()[part]) - value(point.p) for point in along])
                name = ", ".join(filter(None, (part, branch)))
                yield name, x, off, value(along[-1].p), {"part": part, **along[-1].sets}

    def _judge(self, part: str, x, off, value: float, last) -> Finding:
        size = self.tolerance * max(abs(value), 1.0)
        left, interval = _extrapolated(*_thinned(x, off))
        values = {"x": x, "off": off, "extrapolated": value + left, "distance": left}
        text = f"{part + ': ' if part else ''}off by {listed(_few(off))}; extrapolated {shown(value + left)} for " \
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
