"""What is known of how robust a limit is: verdicts of `flowsys analyse --robust`, kept until the code changes.

A run of the limit, and the rung from finite to infinite width, carry the remark where the limit is fragile.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from flowsys.machine.files import cache_directory
from flowsys.machine.kept import Kept
from flowsys.system import System

OF_FINITE_LEVELS = ("width", "seed", "learning_rate")


def _name(parameters: Mapping[str, Any], mode: str) -> str:
    """A name for a limit: its mode and all parameters but those of finite levels; t_max only ends a run."""
    plain = {k: v for k, v in parameters.items() if k not in (*OF_FINITE_LEVELS, "t_max")}
    return hashlib.sha256(repr((mode, sorted(plain.items()))).encode()).hexdigest()[:16]


def keep(system: System, parameters: Mapping[str, Any], mode: str, remark: str) -> None:
    """Keep the remark of a limit; an empty one if it is robust."""
    Kept(cache_directory("robust"), system.name, system.digest).write(_name(parameters, mode), remark)


def known(system: System, parameters: Mapping[str, Any], mode: str) -> str:
    """The remark that was kept of a limit; empty where none was, or where it is robust."""
    directory = cache_directory("robust")
    if not (directory / system.name).is_dir():
        return ""
    return Kept(directory, system.name, system.digest).read(_name(parameters, mode)) or ""
