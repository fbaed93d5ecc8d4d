"""Statistics over the seeds of a point: a sweep with seeds runs every point so often, each time from other weights.

mean(Q)  std(Q)  median(Q)  q10(Q)  q90(Q) …   over the seeds that have a value (std: of the sample)
share(Q)                                       how many have one, between 0 and 1

A point at which only some seeds have a value says so in its outcome; where none has, the first seed's outcome stands,
unless shares are all that is asked for: then the share is 0.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.diagram import CODES, has_value
from flowsys.system.names import Names

_PATTERN = re.compile(r"(mean|std|median|share|q\d{1,2})\((.+)\)")


def is_statistic(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None


@dataclass(frozen=True)
class Statistic:
    """A statistic over seeds of an inner quantity; `value` is the inner one, of each seed."""

    name: str
    kind: str
    inner: Any

    @classmethod
    def parse(cls, text: str, parse_inner: Callable[[str], Any]) -> "Statistic":
        found = _PATTERN.fullmatch(text)
        assert found is not None, f"is_statistic({text!r}) comes first"
        kind, inner = found.groups()
        if is_statistic(inner):
            raise InputError(f"observable {text} is not allowed: a statistic over seeds of another one.")
        return cls(text, kind, parse_inner(inner))

    @property
    def terms(self) -> tuple:
        return self.inner.terms

    def value(self, of: Mapping) -> np.ndarray:
        return self.inner.value(of)

    def label(self, names: Names, mode: str) -> str:
        of = self.inner.label(names, mode)
        if self.kind == "share":
            return f"share of seeds that have {of}"
        words = {"std": "standard deviation"}.get(self.kind) or self.kind.replace("q", "quantile ")
        return f"{words} over seeds of {of}"

    def over(self, values: np.ndarray) -> np.ndarray:
        """Of values (points × seeds), NaN where a seed has none."""
        return np.array([self._of(row[np.isfinite(row)], len(row)) for row in values])

    def _of(self, known: np.ndarray, n: int) -> float:
        if self.kind == "share":
            return len(known) / n
        if len(known) < (2 if self.kind == "std" else 1):
            return np.nan
        match self.kind:
            case "mean":
                return float(known.mean())
            case "std":
                return float(known.std(ddof=1))
            case "median":
                return float(np.median(known))
            case quantile:
                return float(np.quantile(known, int(quantile[1:]) / 100))


def fresh_seed(seed: int, place: Mapping[str, Any]) -> int:
    """A seed of a point's own: of the seed asked for and the point's place on the other axes, and of nothing else."""
    values = sorted((name, x if isinstance(x, str) else float(x)) for name, x in place.items() if name != "seed")
    return int.from_bytes(hashlib.sha256(repr([int(seed), values]).encode()).digest()[:4], "big") >> 2


def reduced(statistics: Sequence[Statistic], values: np.ndarray, outcomes: np.ndarray, n: int):
    """Values (statistics × points) and outcomes of points, from those of their n seeds, one after the other."""
    ends, each = outcomes.reshape(-1, n), values.reshape(len(statistics), -1, n)
    found = np.array([s.over(of_seeds) for s, of_seeds in zip(statistics, each)])
    fine = has_value(ends)
    some = np.where(fine.all(axis=1), ends.max(axis=1), CODES["only some seeds have a value"])
    ran = ends[:, 0] != CODES["invalid parameters"]
    valued = fine.any(axis=1) | (ran & all(s.kind == "share" for s in statistics))
    return found, np.where(valued, some, ends[:, 0]).astype(np.uint8)
