"""How a native trajectory can end."""

from enum import IntEnum


class Code(IntEnum):
    """Outcome codes; the last two ask a caller to go on with another solver from where the trajectory stands."""

    COMPLETED = 0
    NOT_REACHED = 1
    STEP_BUDGET = 2
    STEP_TOO_SMALL = 3
    NOT_FINITE = 4
    STIFF = 5
    CANNOT_SLIDE = 6
    INTERRUPTED = 7

    @property
    def is_handover(self) -> bool:
        return self in (Code.STIFF, Code.CANNOT_SLIDE)
