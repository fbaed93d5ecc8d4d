"""What of a claim can be proven: statements on windows that together say what it says, at one set of parameters.

    Provable(signs_on("(T_1, T_2]", {"S_cv": 1, "S_vc": -1}), {"omega": 0.1})

`flowsys check --prove` proves them by enclosures (`flowsys.proof`), at the claim's own parameters, those of `at`, and
those asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Provable:
    """Statements as `flowsys.proof.stating` reads them; {names} in them are parameters of the set-up."""

    statements: Sequence[str]
    at: Mapping[str, Any] = field(default_factory=dict)


def signs_on(window: str, signs: Mapping[str, int]) -> tuple[str, ...]:
    """The statements that quantities have their signs on a window."""
    return tuple(f"{name} {'>' if sign > 0 else '<'} 0 on {window}" for name, sign in signs.items())
