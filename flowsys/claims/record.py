"""Verdicts on record: what was measured when they were put there, and checked claims beside them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsys.claims.claim import Claim
from flowsys.claims.verdict import Verdict

if TYPE_CHECKING:
    from flowsys.proof.claiming import ClaimProof


@dataclass(frozen=True)
class Recorded:
    """A verdict on record, with the measurement it was made from."""

    verdict: str
    predicted: str
    measured: str
    note: str


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict, the one on record, and its proof if that was asked for."""

    claim: Claim
    verdict: Verdict
    recorded: Recorded | None
    proof: "ClaimProof | None" = None

    @property
    def is_as_recorded(self) -> bool:
        """Whether the verdict is the one on record; a claim that cannot be measured need not be on it."""
        if self.recorded is None:
            return self.claim.measure is None
        return self.recorded.verdict == str(self.verdict.word)

    def as_dict(self) -> dict[str, Any]:
        claim, found = self.claim, self.verdict.as_dict()
        first = ("word", "inside", "margin", "constant", "breaks_at", "values")
        return {
            "id": claim.id,
            "number": claim.number,
            "kind": getattr(claim.kind, "name", None),
            "whose": claim.whose,
            "source": claim.what,
            **{name: found.pop(name) for name in first},
            "place": claim.place,
            "statement": claim.statement,
            "sharpens": claim.sharpens or None,
            "regime": str(claim.regime),
            "recorded": self.recorded and self.recorded.verdict,
            **found,
            **({"proof": self.proof.as_dict()} if self.proof else {}),
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
