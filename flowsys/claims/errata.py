"""Errata: what is wrong as printed, the corrected form, and the measurements of both.

An erratum belongs to the claim of the printed form. It is reported only if that claim does not hold now (or holds in
part); the claim of the corrected form, if there is one, is measured beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowsys.claims.claim import Erratum
from flowsys.claims.record import Checked
from flowsys.claims.verdict import Word
from flowsys.system import System


@dataclass(frozen=True)
class Found:
    """An erratum with the verdicts it rests on."""

    system: str
    printed: Checked
    corrected: Checked | None

    @property
    def erratum(self) -> Erratum:
        assert self.printed.claim.erratum is not None
        return self.printed.claim.erratum

    @property
    def is_confirmed(self) -> bool:
        return self.printed.verdict.word in (Word.FAILS, Word.IN_PART)

    def as_dict(self) -> dict[str, Any]:
        erratum, found = self.erratum, self.printed
        return {
            "system": self.system,
            "id": found.claim.id,
            "place": found.claim.place,
            "printed": erratum.printed,
            "corrected": erratum.corrected,
            "grade": erratum.grade,
            "confirmed": self.is_confirmed,
            "word": str(found.verdict.word),
            "measured": found.verdict.measured,
            "corrected_word": self.corrected and str(self.corrected.verdict.word),
            "corrected_measured": self.corrected and self.corrected.verdict.measured,
        }


def ids_of_errata(system: System) -> list[str]:
    """The claims to measure for a system's errata."""
    chosen = [claim for claim in system.claims if claim.erratum]
    return list(dict.fromkeys(id for c in chosen for id in (c.id, c.erratum.corrected_by) if id))


def errata(system: System, checked: Sequence[Checked]) -> list[Found]:
    """The errata among checked claims, what affects a statement first."""
    by_id = {c.claim.id: c for c in checked}
    found = [Found(system.name, c, by_id.get(c.claim.erratum.corrected_by)) for c in checked if c.claim.erratum]
    return sorted(found, key=lambda f: f.erratum.grade == "harmless")
