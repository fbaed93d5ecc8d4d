"""When an explicit run on a field in JAX is handed over to a stiff solver, and when it is taken back.

Ten steps in a row that stability limits make a flow stiff. Then work is weighed: explicit steps as long as these, to
the end of what was asked for, against what the stiff solver takes for the same, mostly Jacobians. Where explicit steps
are cheaper the run stays with them, and asks again four times later. A stretch of very many steps is handed over
whatever they tell, but never a field of so many variables that its Jacobian is out of reach.

Flows that rest for long and then move at once, as neurons do that are learned one after the other, are stiff only while
they rest. BDF's steps become short when the motion comes; as soon as stability would bear explicit ones at the same
cost, these go on. A stretch that BDF did not get further with than explicit steps would have makes the run four times
more patient.
"""

from dataclasses import dataclass, field

import numpy as np

from flowsys.integrate.stepper_values import Patience

STIFF = ("bdf", "kvaerno5")
# evidence (see `Patience`) that makes a flow stiff; steps on one stretch that count as stiff in any case
_STIFF, _MOST_STEPS = 20, 20_000
# variables that a stiff solver takes on
_MOST_VARIABLES = 1_000
# slopes in a step of dopri8; steps of BDF on a long stretch, and its Jacobians; explicit steps that compiling
# kvaerno5 is worth
_SLOPES, _STEPS, _JACOBIANS, _COMPILING = 13, 4_000, 40, 20_000
# h‖J‖ that explicit steps bear; slopes in a step of BDF, and variables whose share of a Jacobian costs one more;
# steps in a row that must look cheaper; steps after which a stretch that never was stiff ends too
_STABLE, _OF_STEP, _OF_JACOBIAN, _CONVINCED, _TRIAL = 4.0, 4.0, 40.0, 30, 300


@dataclass
class Impatience:
    """How much an explicit run on n variables bears before a stiff solver takes over, if one `may`."""

    may: bool
    n: int
    evidence: int = 0
    limit: int = field(default=_STIFF)

    @property
    def is_open(self) -> bool:
        return self.may and self.n <= _MOST_VARIABLES

    @property
    def most_steps(self) -> int | None:
        """How many steps a stretch may take."""
        return _MOST_STEPS if self.is_open else None

    @property
    def patience(self) -> Patience:
        return Patience(np.int64(self.evidence), np.int64(self.limit if self.is_open else np.iinfo(np.int64).max))

    def pays(self, steps_left: float, has_kinks: bool) -> bool:
        """Whether a stiff solver is cheaper than so many explicit steps; if not, it is asked later."""
        self.evidence = 0
        found = steps_left * _SLOPES > _STEPS + _JACOBIANS * self.n
        if has_kinks:
            found = steps_left > _COMPILING
        if not found:
            self.limit *= 4
        return found

    def returns(self, has_paid: bool) -> None:
        """Explicit steps go on after a stretch with the stiff solver."""
        self.evidence = 0
        self.limit = _STIFF if has_paid else 4 * self.limit


@dataclass
class Calm:
    """Whether BDF, on n variables, has come to a stretch that explicit steps cross as cheaply, if one `may` go back.

    `norm` is that of the Jacobian it used last.
    """

    may: bool
    n: int
    norm: float = 0.0

    def begin(self) -> None:
        """A new stretch."""
        self.steps, self.explicit, self._in_a_row, self._was_stiff = 0, 0.0, 0, False

    def see(self, h: float) -> None:
        """A step of BDF."""
        self.steps += 1
        needed = h * self.norm / _STABLE
        self.explicit += needed
        is_calm = _SLOPES * needed < self._cost
        self._was_stiff = self._was_stiff or not is_calm
        self._in_a_row = self._in_a_row + 1 if is_calm else 0

    @property
    def _cost(self) -> float:
        """Slopes that a step of BDF is worth."""
        return _OF_STEP + self.n / _OF_JACOBIAN

    @property
    def has_come(self) -> bool:
        is_stretch = self._was_stiff or self.steps >= _TRIAL
        return self.may and self.norm > 0 and is_stretch and self._in_a_row >= _CONVINCED

    @property
    def has_paid(self) -> bool:
        """Whether explicit steps would have cost more over the whole stretch."""
        return _SLOPES * self.explicit > self._cost * self.steps


def stiff_remarks(solver: str, starts: list[float]) -> list[str]:
    """What is said of the times at which a run was handed over, `solver` being the one it ended with."""
    if not starts:
        return []
    if len(starts) == 1 and solver in STIFF:
        return [f"handed over to {solver} at t = {starts[0]:.8g}: the flow is stiff from there on"]
    stretches = "1 stretch" if len(starts) == 1 else f"{len(starts)} stretches"
    return [f"handed over to {STIFF[0]} on {stretches} from t = {starts[0]:.8g} on: the flow is stiff there"]
