"""Claims with high probability: the failure rate over random starts against δ, with a confidence interval.

The measurement gives, for every start of `kit.starts`, the quantity over its bound at `kit.delta`: a start fails where
the ratio exceeds 1. The claim holds if the whole interval (95 %) of the failure rate lies at or below δ, does not if it
lies above; in between more starts are drawn, and if these do not decide either, the claim is not decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.claims.measurements import Finding, Point, shown, together
from flowsys.claims.verdict import Word


def failure_interval(failures: int, starts: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a rate."""
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = 0.0 if failures == 0 else float(beta.ppf(tail, failures, starts - failures + 1))
    high = 1.0 if failures == starts else float(beta.ppf(1 - tail, failures + 1, starts - failures))
    return low, high


@dataclass(frozen=True)
class HighProbability:
    """quantity ≤ bound with probability at least 1 - δ, for each of `deltas`."""

    deltas: tuple[float, ...]
    starts: int = 100
    most_starts: int = 1600
    name = "high probability"

    @property
    def predicted(self) -> str:
        return f"fails with probability at most δ = {', '.join(map(shown, self.deltas))}"

    def measured(self, measure: Any, kit: Any) -> dict[float, np.ndarray]:
        """{δ: ratios over the starts}, with as many starts as it takes."""
        from dataclasses import replace

        found = {}
        for delta in self.deltas:
            ratios = np.zeros(0)
            while len(ratios) < self.most_starts:
                n = max(self.starts, len(ratios))
                chosen = range(len(ratios), min(len(ratios) + n, self.most_starts))
                more = np.asarray(measure(replace(kit, delta=delta, starts=chosen)), float).ravel()
                if len(more) != len(chosen):
                    raise ValueError(f"{len(chosen)} starts were asked for, {len(more)} ratios were given")
                ratios = np.concatenate([ratios, more])
                if self._word(ratios, delta) is not Word.NOT_TESTABLE:
                    break
            found[delta] = ratios
        return found

    def _word(self, ratios: np.ndarray, delta: float) -> Word:
        low, high = failure_interval(int((~(ratios <= 1)).sum()), len(ratios))
        return Word.HOLDS if high <= delta else Word.FAILS if low > delta else Word.NOT_TESTABLE

    def judge(self, points: Sequence[Point], kit: Any) -> Finding:
        words, texts, values, constants, breaks, interval = [], [], [], [], None, None
        for point in points:
            for delta, ratios in point.measured.items():
                failures = int((~(ratios <= 1)).sum())
                low, high = failure_interval(failures, len(ratios))
                word = self._word(ratios, delta)
                if interval is None or (word is not Word.HOLDS and breaks is None):
                    interval = low, high
                if word is Word.FAILS and breaks is None:
                    breaks = {**point.sets, "delta": delta}
                constants.append(float(np.quantile(ratios, 1 - delta)))
                words.append(word)
                texts.append(f"δ = {shown(delta)}: {failures} of {len(ratios)} starts fail, rate in [{shown(low)}, "
                             f"{shown(high)}], the bound times {shown(constants[-1])} would serve")  # fmt: skip
                values.append({"delta": delta, "starts": len(ratios), "failures": failures, "interval": [low, high],
                               "constant": constants[-1], **point.sets})  # fmt: skip
        undecided = Word.NOT_TESTABLE in words
        decided = [word for word in words if word is not Word.NOT_TESTABLE]
        if not decided or (undecided and Word.FAILS not in decided):
            word = Word.NOT_TESTABLE
        else:
            word = decided[0] if len(set(decided)) == 1 else Word.IN_PART
        note = "the starts do not decide: the interval holds δ" if undecided else ""
        return Finding(word, together(texts), note, max(constants), breaks, {"rates": values}, interval=interval)
