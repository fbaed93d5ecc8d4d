"""The papers' systems, one package each, found by looking: a new package needs no entry anywhere.

A package `flowsys/systems/<name>/` defines `SYSTEM`, a `flowsys.system.System` of that name. See `flowsys.system` for
the contract and `flowsys/systems/mixture` for the model to follow. Two more files are found by their names, if they are
there: `statements.py` (what the paper says) and `verdicts.json` (the verdicts on record). Beside them stand the models
that installed distributions offer (`outside`). What cannot be loaded, because it is not finished, stands in nobody's
way: only who asks for it is told.
"""

import importlib
import logging
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from flowsys.errors import InputError, did_you_mean
from flowsys.system import System
from flowsys.systems.outside import from_entry_point, offered

_log = logging.getLogger("flowsys")


def packages() -> tuple[str, ...]:
    """The packages that are there, finished or not; none of them is imported."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg and not m.name.startswith("_")))


def listed() -> tuple[str, ...]:
    """The names of the packages and of the models that are offered, whether they can be loaded or not."""
    return (*packages(), *sorted(offered().keys() - {*packages()}))


def names() -> tuple[str, ...]:
    """The systems that are there: those that can be loaded."""
    return tuple(name for name in listed() if _is_loadable(name))


@cache
def _is_loadable(name: str) -> bool:
    try:
        load(name)
    except InputError as error:
        _log.warning("%s It is left out.", error)
        return False
    return True


def at_hand(origin: Mapping[str, Any]) -> System | None:
    """The system that a stored result comes from, if it is one of those that are there; a file is never executed."""
    name, place = origin.get("system"), origin.get("place")
    if name not in listed() or not _is_loadable(name):
        return None
    found = load(name)
    return found if place in (None, found.place) else None


def load(name: str) -> System:
    """The system of that name; InputError if there is none, or if it cannot be loaded."""
    if name not in packages():
        if entry := offered().get(name):
            return from_entry_point(entry)
        hint = did_you_mean(name, listed())
        raise InputError(f"system = {name} is not known: it must be one of {', '.join(listed())}.{hint}")
    try:
        package = importlib.import_module(f"{__name__}.{name}")
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"system = {name} cannot be loaded: {type(error).__name__}: {said}.") from error
    system = getattr(package, "SYSTEM", None)
    if not isinstance(system, System):
        what = (
            f"its SYSTEM is of type {type(system).__name__}" if hasattr(package, "SYSTEM") else "it defines no SYSTEM"
        )
        raise InputError(f"system = {name} cannot be loaded: {what}, but a package defines SYSTEM = System(…).")
    if system.name != name:
        raise InputError(f"system = {name} cannot be loaded: its SYSTEM is named {system.name}, not as its package.")
    return system
