"""The stretches on which a run slid, in words."""

from collections.abc import Sequence
from typing import NamedTuple

_MOST_REMARKS = 8
# a slide that takes less of the time passed is not worth a word
_SHORTEST = 1e-9


class Stretch(NamedTuple):
    """From where to where a flow slid along the same number of surfaces, and how many gates these have."""

    begin: float
    end: float
    surfaces: int
    gates: int


def slide_remarks(stretches: Sequence[Stretch]) -> list[str]:
    """One remark a stretch; more than a few are summed up in one."""
    joined: list[Stretch] = []
    for s in stretches:
        goes_on = joined and joined[-1].end == s.begin and joined[-1][2:] == s[2:]
        joined[-1:] = [s._replace(begin=joined[-1].begin)] if goes_on else [*joined[-1:], s]
    long = [s for s in joined if s.end - s.begin > _SHORTEST * abs(s.end)]
    if len(long) > _MOST_REMARKS:
        most = max(s.surfaces for s in long)
        what = "switching surfaces" if most == 1 else f"up to {most} switching surfaces at once"
        return [f"slid along {what} {len(long)} times from t = {long[0].begin:.8g} to {long[-1].end:.8g} (Filippov)"]
    return [_remark(s) for s in long]


def _remark(s: Stretch) -> str:
    what = "a switching surface" if s.surfaces == 1 else f"{s.surfaces} switching surfaces"
    gates = f"{s.gates} gate{'s' * (s.gates > 1)}"
    return f"slid along {what} ({gates}) from t = {s.begin:.8g} to {s.end:.8g} (Filippov)"
