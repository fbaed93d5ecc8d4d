"""Programs as a paper's package keeps them: texts in its generated module `reduced`."""

from functools import lru_cache
from importlib import import_module

from flowsys.program.text import Program


@lru_cache(maxsize=64)
def committed(package: str, name: str) -> Program:
    """The program that a package holds under a name, parsed once."""
    return Program.parse(getattr(import_module(f"{package}.reduced"), name))
