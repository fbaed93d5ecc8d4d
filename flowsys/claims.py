"""Claims: what a paper says, measured, with a verdict.

A claim names its place in the paper, states its prediction in one line, and carries a function that measures it and
returns a `Verdict`. Each claim has a *control*: the same measurement on a perturbed system or parameter, under which
the check must not hold; a check that cannot fail says nothing. A claim that fails in the measurements is reported as
failing.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from flowsys.errors import InputError
from flowsys.references import Ref


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
    limits.
    """

    word: Word
    predicted: str
    measured: str
    note: str = ""
    interval: tuple[float, float] | None = None
    tolerance: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.word is Word.HOLDS


def judged(holds: bool, predicted: str, measured: str, **more: Any) -> Verdict:
    """A verdict that holds or does not."""
    return Verdict(Word.HOLDS if holds else Word.FAILS, predicted, measured, **more)


@dataclass(frozen=True)
class Claim:
    """A numbered statement of a paper and how it is checked.

    `measure()` returns the verdict at the claim's own parameters; `control()` the verdict of the same check where it
    must not hold. A claim that is not testable has neither, and `reason` says why. `is_cheap` marks what runs within
    about a second.
    """

    id: str
    ref: Ref
    statement: str
    regime: str = ""
    measure: Callable[[], Verdict] | None = None
    control: Callable[[], Verdict] | None = None
    is_cheap: bool = True
    reason: str = ""

    def __post_init__(self):
        if (self.measure is None) == (not self.reason):
            raise ValueError(f"claim {self.id}: give a measure, or a reason why there is none")
        if self.measure is not None and self.control is None:
            raise ValueError(f"claim {self.id}: a check needs a control under which it fails")

    def check(self) -> Verdict:
        """The verdict, measured now."""
        if self.measure is None:
            return Verdict(Word.NOT_TESTABLE, self.statement, "", self.reason)
        return self.measure()


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict and the one on record."""

    claim: Claim
    verdict: Verdict
    recorded: str | None

    @property
    def is_as_recorded(self) -> bool:
        return self.recorded == str(self.verdict.word)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.claim.id,
            "place": self.claim.ref.place,
            "statement": self.claim.statement,
            "regime": self.claim.regime,
            "verdict": str(self.verdict.word),
            "recorded": self.recorded,
            **{k: v for k, v in asdict(self.verdict).items() if k != "word"},
        }


def check(
    claims: Sequence[Claim],
    ids: Iterable[str] | None = None,
    everything: bool = False,
    recorded: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> list[Checked]:
    """Check the named claims; by default the cheap ones, with `everything` all."""
    by_id = {claim.id: claim for claim in claims}
    if ids is not None:
        chosen = []
        for name in ids:
            matching = [c for c in claims if c.id == name or c.ref.place == name]
            if not matching:
                raise InputError(f"claim = {name} is not known: it must be one of {', '.join(by_id)}.")
            chosen += matching
    else:
        chosen = [claim for claim in claims if everything or claim.is_cheap]
    results = []
    for claim in chosen:
        results.append(Checked(claim, claim.check(), (recorded or {}).get(claim.id)))
        if on_progress is not None:
            on_progress(claim.id)
    return results


def read_record(path: Path) -> dict[str, str]:
    """The recorded verdicts of a system, {claim id: verdict}; empty if there are none yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_record(path: Path, checked: Sequence[Checked]) -> None:
    """Put verdicts on record, keeping those of claims that were not checked now."""
    from flowsys.files import write_text

    record = read_record(path) | {c.claim.id: str(c.verdict.word) for c in checked}
    write_text(path, json.dumps(dict(sorted(record.items())), indent=2, ensure_ascii=False) + "\n")
