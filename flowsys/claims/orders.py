"""Orders (O, Ω, Θ and their tildes) along a path, judged by the measured constants, quantity over scale.

Towards the end of the path they have to stay bounded, for Ω away from 0 (`flowsys.claims.bounded`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.claims.bounded import EVER_FASTER, SLIGHT, bounded, thinned
from flowsys.claims.measurements import Finding, Point, Series, branches, few, mixed, shown, together, with_sets
from flowsys.claims.verdict import Word, listed
from flowsys.laws.fits import Fit, line, power_law
from flowsys.laws.law import Law, law

SYMBOLS = ("O", "Ω", "Θ", "Õ", "Ω̃", "Θ̃")
FAR = 1e3


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
        word = words[0] if len(set(words)) == 1 else mixed(words)
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
                    yield (
                        with_sets(part, point.sets),
                        series.x,
                        series.y,
                        np.broadcast_to(scale, series.x.shape),
                        places,
                    )
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
        word = words[0] if len(set(words)) == 1 else mixed(words)
        if word in (Word.FAILS, Word.IN_PART) and breaks is None:
            breaks = places[-1]
        constant = (float(ratio.min()), float(ratio.max()))
        text = f"{part + ': ' if part else ''}over its scale {listed(few(ratio))}, from {shown(constant[0])} to " \
               f"{shown(constant[1])}"  # fmt: skip
        note = together([why for _, why in verdicts])
        fits = {}
        if len(x) >= 3 and (quantity > 0).all():
            found = law(*thinned(x, quantity))
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
        if word is Word.FAILS and not _exceeds(law(*thinned(x, smaller)), law(*thinned(x, larger)), self.tilde):
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
