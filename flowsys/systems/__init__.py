"""The papers' systems, one package each, found by looking: a new package needs no entry anywhere.

A package `flowsys/systems/<name>/` defines `SYSTEM`, a `flowsys.system.System`. See `flowsys.system` for the contract
and `flowsys/systems/mixture` for the model to follow.
"""

import importlib
import pkgutil
from difflib import get_close_matches

from flowsys.errors import InputError
from flowsys.system import System, find


def names() -> tuple[str, ...]:
    """The systems that are there: the packages that define one."""
    packages = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg)
    return tuple(p for p in packages if hasattr(importlib.import_module(f"{__name__}.{p}"), "SYSTEM"))


def load(name: str) -> System:
    """The system of that name."""
    if name not in names():
        near = get_close_matches(name, names(), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"system = {name} is not known: it must be one of {', '.join(names())}.{hint}")
    return find(name)
