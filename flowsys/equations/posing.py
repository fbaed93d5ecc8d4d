"""A derived form as a problem: in the mode asked for, or in the first that has the form."""

from flowsys.errors import InputError
from flowsys.system import Setup, System
from flowsys.system.problem import Problem


def posed(system: System, setup: Setup, variant: str, mode: str) -> tuple[str, Problem]:
    """The mode in which a form of the default level is posed, and its problem; InputError if none has it."""
    refused: InputError | None = None
    for tried in dict.fromkeys((mode, *system.modes)):
        try:
            return tried, system.problem(setup, system.default_level, variant, tried)
        except InputError as error:
            refused = refused or error
    assert refused is not None
    raise refused
