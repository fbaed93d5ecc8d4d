"""Values made when they are first read, so that a system can be listed without the libraries it draws with."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any


def late(place: str, meaning: str | None = None) -> Callable:
    """The function at "module:name", imported when it is first called: a system can be listed without its libraries."""
    module, name = place.split(":")
    found = lambda *arguments: getattr(import_module(module), name)(*arguments)
    found.__doc__ = meaning
    return found


def late_form(place: str) -> Callable:
    """The same for a form of a level that takes a start of its own."""
    module, name = place.split(":")
    return lambda *arguments, start=None: getattr(import_module(module), name)(*arguments, start=start)


def late_reading(place: str, **fixed: Any) -> Callable:
    """A form that is another declaration of the same model (`Model.alone`), the one at "module:name".

    It is that one's flow on what its loss sees (L2), with some parameters fixed.
    """

    def build(setup, mode, start=None):
        reading, there = late_value(place)(), replace(setup, values={**setup, **fixed})
        return reading.started(there, "L2", reading.variant("L2", None), mode, start)

    return build


def late_value(place: str) -> Callable[[], Any]:
    """A function that gives the value at "module:name", imported when it is asked for."""
    module, name = place.split(":")
    return lambda: getattr(import_module(module), name)


def packaged(package: str, ladder: str = "ladder") -> dict[str, Any]:
    """What a paper's package holds under the names of the house, each imported when it is first asked for.

    `ladder` is the module that has it.
    """
    value = lambda place: late_value(f"{package}.{place}")
    return {
        "derive": late(f"{package}.derive:derive"),
        "equations": value("reduced:EQUATIONS"),
        "meanings": LazyMapping(value("notation:WORDS")),
        "places": LazyMapping(value("notation:PLACES")),
        "ladder": late(f"{package}.{ladder}:ladder"),
        "claims": LazySequence(value("claims:CLAIMS")),
        "figures": LazyMapping(value("figures:FIGURES")),
        "diagrams": LazyMapping(value("diagrams:DIAGRAMS")),
    }


class LazyMapping(Mapping):
    """A mapping made when it is first read, so that a system can be listed without importing what it draws with."""

    def __init__(self, make: Callable[[], Mapping]):
        self._make = make

    @cached_property
    def _made(self) -> Mapping:
        return self._make()

    def __getitem__(self, key):
        return self._made[key]

    def __iter__(self):
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class LazySequence(Sequence):
    """A sequence made when it is first read."""

    def __init__(self, make: Callable[[], Sequence]):
        self._make = make

    @cached_property
    def _made(self) -> Sequence:
        return self._make()

    def __getitem__(self, index):
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)


class Computed(Mapping):
    """{name: make(name)} for given names, each made when it is asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Any]):
        self._names, self._make = dict.fromkeys(names), make

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self):
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def first_of(*mappings: Mapping[str, Callable]) -> Mapping[str, Callable]:
    """Functions by name, each from the first of the mappings that has it; none is asked before it is needed."""
    return ChainMap(*mappings)  # type: ignore[arg-type]  # only read, so they need not be mutable
