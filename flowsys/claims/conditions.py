"""Conditions: a claim measured elsewhere than where it is stated: at another level, width, seed or parameter.

A measuring function is written once: its kit (`flowsys.claims.kit`) is at what was asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
