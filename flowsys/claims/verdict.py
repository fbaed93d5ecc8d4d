"""Verdicts: the word a check ends with, the numbers it rests on, and the sentences made from them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import isfinite, isnan
from typing import Any

import numpy as np

from flowsys.laws.fits import Fit


class Word(StrEnum):
    """What a verdict says; there are no other words."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    OUTSIDE = "outside the regime"
    NOT_TESTABLE = "not testable"
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced at our settings"


@dataclass(frozen=True)
class Verdict:
    """A claim confronted with a measurement.

    `measured` and `predicted` are texts with numbers in them; `values` holds the numbers themselves. `note` says where
    a claim holds in part, why it fails, or why it cannot be tested. `inside` and `margin` tell where in the claim's
    regime it was measured (margin ≥ 1 is inside; None where the claim states no regime in numbers), `constant` is the
    best constant (of Θ the pair of them), `breaks_at` the first place where it breaks. `interval` and `tolerance`
    belong to fits and limits; `fits` are the fits behind a scaling claim, by name: `flowsys.plot.residuals` draws them.
    """

    word: Word
    predicted: str
    measured: str
    note: str = ""
    interval: tuple[float, float] | None = None
    tolerance: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    fits: Mapping[str, Fit] = field(default_factory=dict)
    inside: bool | None = None
    margin: float | None = None
    constant: float | tuple[float, float] | None = None
    breaks_at: Mapping[str, Any] | None = None

    @property
    def holds(self) -> bool:
        return self.word in (Word.HOLDS, Word.REPRODUCED)

    def as_dict(self) -> dict[str, Any]:
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("word", "fits")}
        fits = {name: fit.as_dict() for name, fit in self.fits.items()}
        return {"word": str(self.word), **plain(named), "fits": fits}


def plain(value: Any) -> Any:
    """Arrays as lists, what is no finite number as None where it stands alone: values for JSON."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(x) for x in value]
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else "inf" if value > 0 else "-inf"
    return value


def untested(reason: str) -> Verdict:
    """A verdict on what cannot be measured."""
    return Verdict(Word.NOT_TESTABLE, "", "", reason)


def listed(numbers: Iterable[float], form: str = ".4g") -> str:
    """Numbers as text."""
    return ", ".join(format(float(x), form) for x in numbers)


def word_of(holds: Iterable[bool]) -> Word:
    """All: holds; none: does not; some: in part."""
    holds = list(holds)
    return Word.HOLDS if all(holds) else Word.IN_PART if any(holds) else Word.FAILS


def without_gaps(verdict: Verdict) -> Verdict:
    """A verdict cannot hold on values that are no numbers: comparisons with NaN let them pass."""
    if verdict.word not in (Word.HOLDS, Word.IN_PART) or not _has_nan(verdict.values):
        return verdict
    note = "; ".join(filter(None, (verdict.note, "a value is no number, so it cannot hold")))
    return replace(verdict, word=Word.FAILS, note=note)


def _has_nan(values: Any) -> bool:
    if isinstance(values, Mapping):
        return any(map(_has_nan, values.values()))
    if isinstance(values, str) or not isinstance(values, float | Iterable):
        return False
    return isnan(values) if isinstance(values, float) else any(map(_has_nan, values))
