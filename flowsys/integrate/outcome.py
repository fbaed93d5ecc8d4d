"""How an integration ended, in a word for programs and a sentence for people."""

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """The ways an integration can end; all but `completed` mean that something asked for is missing."""

    COMPLETED = "completed"
    NOT_REACHED = "not_reached"
    STEP_BUDGET = "step_budget"
    STEP_TOO_SMALL = "step_too_small"
    NOT_FINITE = "not_finite"


@dataclass(frozen=True)
class Outcome:
    """An ending with its sentence, and remarks on what happened on the way (kinks that slid, hand-overs)."""

    ending: Ending
    sentence: str
    remarks: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """The solver gave up (an event that does not come within t_max is a result, not a failure)."""
        return self.ending not in (Ending.COMPLETED, Ending.NOT_REACHED)

    @property
    def is_complete(self) -> bool:
        return self.ending is Ending.COMPLETED
