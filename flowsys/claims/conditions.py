"""Conditions: a claim measured elsewhere than where it is stated: at another level, width, seed or parameter.

The conditions are a scope, like floating-point precision. A system's claims reach their trajectories through a few
helpers of their own (`claims/runs.py`); those ask here what was chosen, so that a measuring function is written once.
What a claim sets itself is the claim's: asking for another value of it is refused in a sentence.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

from flowsys.errors import InputError
from flowsys.system import FINITE


@dataclass(frozen=True)
class Conditions:
    """What was asked for instead of a claim's own: a level, seeds, parameters, hidden constants of its regime."""

    level: str | None = None
    seeds: int | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    constants: tuple[tuple[str, float], ...] = ()

    def __post_init__(self):
        for name in ("parameters", "constants"):
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, tuple(given.items()))

    @property
    def is_default(self) -> bool:
        return self == DEFAULT

    @property
    def is_finite(self) -> bool:
        return self.level in FINITE

    def as_dict(self) -> dict[str, Any]:
        named = {"level": self.level, "seeds": self.seeds}
        named = {name: value for name, value in named.items() if value is not None}
        return named | dict(self.parameters) | dict(self.constants)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.as_dict().items())


DEFAULT = Conditions()
_current: ContextVar[Conditions] = ContextVar("conditions", default=DEFAULT)


def current() -> Conditions:
    """The conditions of the measurement under way."""
    return _current.get()


@contextmanager
def under(conditions: Conditions) -> Iterator[None]:
    """Measure under these conditions."""
    token = _current.set(conditions)
    try:
        yield
    finally:
        _current.reset(token)


def chosen_level(own: str | None, default: str) -> str:
    """The level of a run: what the claim insists on, else what was asked for, else the claims' usual one."""
    return own or current().level or default


def chosen_parameters(own: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a run: those the claim sets and those asked for, which must be others."""
    asked = dict(current().parameters)
    for name in own:
        if name in asked:
            raise InputError(f"{name} = {asked[name]} cannot be chosen here: this measurement sets {name} itself.")
    return asked | dict(own)


def at_level(limit: float, finite: float) -> float:
    """A tolerance: one in the limit, another at finite width, where a random start adds its own deviations."""
    return finite if current().is_finite else limit


def remembered(maxsize: int = 512) -> Callable[[Callable], Callable]:
    """Keep a function's results for arguments and conditions seen before."""

    def decorate(function: Callable) -> Callable:
        @lru_cache(maxsize=maxsize)
        def kept(conditions: Conditions, arguments: tuple, named: tuple):
            return function(*arguments, **dict(named))

        @wraps(function)
        def found(*arguments, **named):
            return kept(current(), arguments, tuple(sorted(named.items())))

        return found

    return decorate
