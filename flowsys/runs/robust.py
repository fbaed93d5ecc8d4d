"""What is known of how robust a limit is: verdicts of `flowsys analyse --robust`, kept until the code changes.

A run of the limit, and the rung from finite to infinite width, carry the remark where the limit is fragile. A verdict
takes seconds to minutes and is never computed unasked; of a limit that nobody has asked about, a run that slides looks
for another surface beside the slide, which takes milliseconds, and says what it suspects (`surfaces.suspicion`).
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from flowsys.machine.files import cache_directory
from flowsys.machine.kept import Kept
from flowsys.runs.surfaces import suspicion
from flowsys.system import System
from flowsys.system.problem import Problem

RTOL = 1e-10
OF_FINITE_LEVELS = ("width", "seed", "learning_rate")


def _name(parameters: Mapping[str, Any], mode: str) -> str:
    """A name for a limit: its mode and all parameters but those of finite levels; t_max only ends a run."""
    plain = {k: v for k, v in parameters.items() if k not in (*OF_FINITE_LEVELS, "t_max")}
    return hashlib.sha256(repr((mode, sorted(plain.items()))).encode()).hexdigest()[:16]


def keep(system: System, parameters: Mapping[str, Any], mode: str, remark: str) -> None:
    """Keep the remark of a limit; an empty one if it is robust."""
    Kept(cache_directory("robust"), system.name, system.digest).write(_name(parameters, mode), remark)


def known(system: System, parameters: Mapping[str, Any], mode: str) -> str | None:
    """The remark that was kept of a limit: empty where it is robust, None where nobody has asked."""
    directory = cache_directory("robust")
    if not (directory / system.name).is_dir():
        return None
    return Kept(directory, system.name, system.digest).read(_name(parameters, mode))


def remark(
    system: System, parameters: Mapping[str, Any], mode: str, slides: Callable[[], tuple[Problem, float] | None]
) -> str:
    """What to say of a limit; `slides` gives the problem and the end of a run that slides, if it does."""
    verdict = known(system, parameters, mode)
    if verdict is not None:
        return verdict
    slid = slides()
    return suspicion(*slid, RTOL) if slid else ""
