"""Claims over a diagram: a paper's statement measured at every point's parameters.

verdict(ID)      1 where the claim holds (is reproduced), 0.5 where it holds in part, 0 where it does not
constant(ID)     the claim's best constant
margin(ID)       how far inside its regime the point lies, 1 at the edge
fit(ID)          the slope of the claim's fit, its rate or exponent; fit(ID.NAME) where it has several

A claim is measured under the point's swept and set parameters (`flowsys.claims.conditions`), at the level given, over
the sweep's seeds. Where it cannot be, the point's outcome says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.diagram import CODES
from flowsys.system import Setup, System
from flowsys.system.names import Names

if TYPE_CHECKING:
    from flowsys.claims import Verdict
    from flowsys.sweeps.setups import Points
    from flowsys.sweeps.sweep import Sweep

_PATTERN = re.compile(r"(verdict|constant|margin|fit)\(([^()]+)\)")


@dataclass(frozen=True)
class OfClaim:
    """The verdict of a claim as a number, its constant or margin, or the slope of one of its fits."""

    name: str
    claim: str
    what: str
    level: str | None
    parameters: tuple[str, ...] = ()
    terms: tuple = ()

    @classmethod
    def parse(cls, text: str, level: str | None) -> "OfClaim | None":
        found = _PATTERN.fullmatch(text)
        return cls(text, found[2].strip(), found[1], level) if found else None

    def checked(self, system: System, parameters: Sequence[str], example: Setup, seeds: int) -> "OfClaim":
        """The same, once the claim is known and can be measured at an example's parameters."""
        quantity = replace(self, parameters=tuple(parameters))
        refused = quantity._claim(system).refusal(system, quantity.conditions(example, seeds))
        if refused:
            raise InputError(f"observable {self.name}: {refused}")
        return quantity

    def label(self, names: Names, mode: str) -> str:
        words = {"constant": "best constant", "margin": "distance into the regime", "fit": "fitted slope"}
        return f"{words.get(self.what, self.what)} of claim {self.claim}"

    def conditions(self, setup: Setup, seeds: int):
        from flowsys.claims.conditions import Conditions

        given = tuple((name, setup[name]) for name in self.parameters)
        return Conditions(self.level, seeds if seeds > 1 else None, given)

    def _claim(self, system: System):
        by_id = {claim.id: claim for claim in system.claims}
        id = self._split(by_id)[0]
        if id not in by_id:
            known = ", ".join(i for i, c in by_id.items() if c.takes or c.levels or c.is_declared) or "none"
            raise InputError(
                f"observable {self.name}: {self.claim} is not a claim of {system.name}; those that can be measured "
                f"at other parameters are {known}."
            )
        return by_id[id]

    def _split(self, known) -> tuple[str, str]:
        """The claim's id and the name of a fit; ids may have dots themselves."""
        head, _, tail = self.claim.rpartition(".")
        return (head, tail) if self.what == "fit" and self.claim not in known and head in known else (self.claim, "")

    def measure(self, system: System, setup: Setup, seeds: int) -> tuple[float, int]:
        """The number at a point (NaN if there is none), and the point's outcome."""
        claim = self._claim(system)
        verdict = claim.check(system, self.conditions(setup, seeds))
        read = {
            "verdict": lambda: _AS_NUMBER.get(str(verdict.word), np.nan),
            "constant": lambda: np.nan if verdict.constant is None else float(np.max(verdict.constant)),
            "margin": lambda: np.nan if verdict.margin is None else verdict.margin,
            "fit": lambda: self._slope(verdict, system),
        }
        outcome = _OUTCOMES.get(str(verdict.word), "completed")
        return read[self.what](), CODES[outcome]

    def _slope(self, verdict: "Verdict", system: System) -> float:
        _, name = self._split({claim.id for claim in system.claims})
        fits = dict(verdict.fits)
        chosen = fits.get(name) if name else next(iter(fits.values()), None)
        return np.nan if chosen is None else float(chosen.slope)


_AS_NUMBER = {
    "holds": 1.0, "holds in part": 0.5, "does not hold": 0.0, "reproduced": 1.0, "not reproduced at our settings": 0.0,
}  # fmt: skip
_OUTCOMES = {"not testable": "claim not testable", "outside the regime": "outside the claim's regime"}


def measured(sweep: "Sweep", quantities: Sequence[OfClaim], points: "Points") -> tuple[np.ndarray, np.ndarray]:
    """Values (quantities × points) and outcomes."""
    values = np.full((len(quantities), len(points)), np.nan)
    outcomes = np.where(points.valid, CODES["completed"], CODES["invalid parameters"]).astype(np.uint8)
    for place in np.flatnonzero(points.valid):
        setup = points.setup(place)
        for row, quantity in enumerate(quantities):
            values[row, place], outcome = quantity.measure(sweep.system, setup, sweep.seeds)
            outcomes[place] = max(outcomes[place], outcome)
    return values, outcomes
