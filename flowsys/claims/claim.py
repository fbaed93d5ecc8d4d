"""Claims: what a paper says, measured, with a verdict.

A claim names its place in the paper, states its prediction in one line, and carries a function that measures it and
returns a `Verdict`. A claim that fails in the measurements is reported as failing. Each claim has a *control*: the same
measurement on a perturbed system, prediction or parameter, where the verdict must be another one. A check whose verdict
nothing can change says nothing; so a claim that holds needs a control that does not, and a claim that fails needs one
under which its check is met (or a sentence why there is none).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

from flowsys.claims.conditions import DEFAULT, Conditions, under
from flowsys.errors import InputError
from flowsys.laws.fits import Fit
from flowsys.system import FINITE
from flowsys.system.references import Ref


class Word(StrEnum):
    """What a verdict says."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Verdict:
    """A claim confronted with a measurement.

    `measured` and `predicted` are texts with numbers in them; `values` holds the numbers themselves. `note` says where
    a claim holds in part, why it fails, or why it cannot be tested; `interval` and `tolerance` belong to fits and
    limits. `fits` are the fits behind a scaling claim, by name: `flowsys.plot.residuals` draws them.
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

    @property
    def holds(self) -> bool:
        return self.word is Word.HOLDS

    def as_dict(self) -> dict[str, Any]:
        plain = asdict(replace(self, fits={}))
        return {
            "verdict": str(plain.pop("word")),
            **plain,
            "fits": {name: fit.as_dict() for name, fit in self.fits.items()},
        }


def judged(holds: bool, predicted: str, measured: str, **more: Any) -> Verdict:
    """A verdict that holds or does not."""
    return Verdict(Word.HOLDS if holds else Word.FAILS, predicted, measured, **more)


def listed(numbers: Iterable[float], form: str = ".4g") -> str:
    """Numbers as text."""
    return ", ".join(format(float(x), form) for x in numbers)


def word_of(holds: Iterable[bool]) -> Word:
    """All: holds; none: does not; some: in part."""
    holds = list(holds)
    return Word.HOLDS if all(holds) else Word.IN_PART if any(holds) else Word.FAILS


@dataclass(frozen=True)
class Claim:
    """A numbered statement of a paper and how it is checked.

    `measure()` returns the verdict at the claim's own parameters; `control()` the verdict of the same check where it
    must be another one, unless `control_note` says why it cannot be. A claim that is not testable has neither, and
    `reason` says why. `is_cheap` marks what runs within about a second. `levels` are the levels at which it can be
    asked for, `takes` the parameters that may be set (see `flowsys.claims.conditions`).
    """

    id: str
    ref: Ref
    statement: str
    regime: str = ""
    measure: Callable[[], Verdict] | None = None
    control: Callable[[], Verdict] | None = None
    is_cheap: bool = True
    reason: str = ""
    levels: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    control_note: str = ""

    def __post_init__(self):
        if (self.measure is None) == (not self.reason):
            raise ValueError(f"claim {self.id}: give a measure, or a reason why there is none")
        if self.measure is not None and self.control is None:
            raise ValueError(f"claim {self.id}: a check needs a control under which its verdict changes")

    def refusal(self, conditions: Conditions) -> str:
        """Why the claim cannot be measured under these conditions, in a sentence; empty if it can."""
        if conditions.level is not None and conditions.level not in self.levels:
            can = f"it can at {' and '.join(self.levels)}" if self.levels else "only where it is stated"
            where = f" ({self.regime})" if self.regime else ""
            return f"claim {self.id} cannot be measured at level {conditions.level}, {can}{where}."
        finite = ("width", "seed", "learning_rate") if conditions.is_finite else ()
        for name, value in conditions.parameters:
            if name not in (*self.takes, *finite):
                can = f"it takes {', '.join(self.takes)}" if self.takes else "it sets its parameters itself"
                return f"claim {self.id} cannot be measured with {name} = {value}: {can}."
        if conditions.seeds is not None and not conditions.is_finite:
            finite = [level for level in self.levels if level in FINITE]
            can = f"give --level {' or '.join(finite)}" if finite else "it can be measured only where it is stated"
            return f"claim {self.id} has no seeds = {conditions.seeds} to measure here: {can}."
        return ""

    def check(self, conditions: Conditions = DEFAULT) -> Verdict:
        """The verdict, measured now; over several seeds it holds if it does for each."""
        if self.measure is None:
            return Verdict(Word.NOT_TESTABLE, "", "", self.reason)
        if conditions.is_default:
            return _without_gaps(self.measure())
        refused = self.refusal(conditions)
        if refused:
            return Verdict(Word.NOT_TESTABLE, "", "", refused)
        try:
            verdicts = []
            for seed in range(conditions.seeds or 1):
                seeded = (("seed", seed),) if conditions.seeds else ()
                with under(Conditions(conditions.level, None, (*conditions.parameters, *seeded))):
                    verdicts.append(_without_gaps(self.measure()))
        except InputError as error:
            return Verdict(Word.NOT_TESTABLE, "", "", str(error))
        found = verdicts[0] if len(verdicts) == 1 else _over_seeds(verdicts)
        return replace(found, parameters={**found.parameters, **conditions.as_dict()})


def _without_gaps(verdict: Verdict) -> Verdict:
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


def _over_seeds(verdicts: Sequence[Verdict]) -> Verdict:
    first, words = verdicts[0], [v.word for v in verdicts]
    word = words[0] if len(set(words)) == 1 else Word.IN_PART
    return replace(
        first,
        word=word,
        measured=f"holds for {words.count(Word.HOLDS)} of {len(words)} seeds; seed 0: {first.measured}",
        values={"seeds": [v.as_dict()["values"] for v in verdicts]},
    )


def claim(
    paper: str,
    id: str,
    place: str,
    statement: str,
    measure: Callable[..., Verdict],
    *,
    control: Mapping[str, Any],
    regime: str = "",
    is_cheap: bool = True,
    levels: str = "",
    takes: str = "",
    control_note: str = "",
) -> Claim:
    """A claim whose control is its own measurement with some arguments changed; `levels`, `takes` as words."""
    return Claim(
        id, Ref(paper, place), statement, regime, measure, partial(measure, **control), is_cheap, "",
        tuple(levels.split()), tuple(takes.split()), control_note,
    )  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """A verdict on record, with the measurement it was made from."""

    verdict: str
    predicted: str
    measured: str
    note: str


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict and the one on record; `is_fresh` if it was measured now, not read."""

    claim: Claim
    verdict: Verdict
    recorded: Recorded | None
    is_fresh: bool = True

    @property
    def is_as_recorded(self) -> bool:
        """Whether the verdict is the one on record; a claim that cannot be measured need not be on it."""
        if self.recorded is None:
            return self.claim.measure is None
        return self.recorded.verdict == str(self.verdict.word)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.claim.id,
            "place": self.claim.ref.place,
            "statement": self.claim.statement,
            "regime": self.claim.regime,
            "recorded": self.recorded and self.recorded.verdict,
            **self.verdict.as_dict(),
        }


def read_record(path: Path) -> dict[str, Recorded]:
    """The recorded verdicts of a system by claim; empty if there are none yet."""
    if not path.exists():
        return {}
    return {id: Recorded(**content) for id, content in json.loads(path.read_text(encoding="utf-8")).items()}


def write_record(path: Path, checked: Sequence[Checked], claims: Sequence[Claim]) -> None:
    """Put verdicts on record, keeping those of the system's claims that were not checked now."""
    from flowsys.machine.files import write_text

    now = {c.claim.id: Recorded(str(v.word), v.predicted, v.measured, v.note) for c in checked for v in (c.verdict,)}
    known = {c.id for c in claims}
    record = {id: asdict(content) for id, content in sorted((read_record(path) | now).items()) if id in known}
    write_text(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
