"""How a native trajectory can end."""

from enum import IntEnum


class Code(IntEnum):
    """Outcome codes; `SECOND_SURFACE` asks a caller to go on with another solver from where the trajectory stands."""

    COMPLETED = 0
    NOT_REACHED = 1
    STEP_BUDGET = 2
    STEP_TOO_SMALL = 3
    NOT_FINITE = 4
    CANNOT_SLIDE = 5
    DROWNED = 6
    INTERRUPTED = 7

    @property
    def is_handover(self) -> bool:
        return self is Code.CANNOT_SLIDE
