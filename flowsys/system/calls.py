"""What a call names: a system as a value or by its name, a setup as a value or by parameters."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from flowsys.errors import InputError
from flowsys.system.definition import PACKAGES, System
from flowsys.system.parameters import Setup


def system_of(system: System | str) -> System:
    """The system itself; a name is looked up among the packages and the models that distributions offer."""
    if isinstance(system, str):
        return import_module(PACKAGES).load(system)
    if not isinstance(system, System):
        raise InputError(
            f"system = {system!r} is none: it must be a name (flowsys.names() lists them), or a System such as an "
            "fs.Model."
        )
    return system


def asked(
    system: System | str, setup: Setup | None, mode: str | None, parameters: Mapping[str, Any]
) -> tuple[System, Setup]:
    """The system, and the setup for a mode with some parameters given by name."""
    found = system_of(system)
    if not parameters:
        return found, found.setup_in(mode, setup)
    given = found.given_of(setup)
    return found, found.setup(mode or (setup.mode if setup is not None else None), **{**given, **parameters})
