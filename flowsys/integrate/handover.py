"""When an explicit run on a field in JAX is handed over to a stiff solver.

Ten steps in a row that stability limits make a flow stiff. Then work is weighed: explicit steps as long as these, to
the end of what was asked for, against what the stiff solver takes for the same, mostly Jacobians by differences. Where
explicit steps are cheaper the run stays with them, and asks again four times later. A stretch of very many steps is
handed over whatever they tell, but never a field of so many variables that its Jacobian is out of reach.
"""

from dataclasses import dataclass, field

import numpy as np

from flowsys.integrate.stepper_values import Patience

# evidence (see `Patience`) that makes a flow stiff; steps on one stretch that count as stiff in any case
_STIFF, _MOST_STEPS = 20, 20_000
# variables that a stiff solver takes on
_MOST_VARIABLES = 1_000
# slopes in a step of dopri8; steps of LSODA on a long stretch, and its Jacobians; explicit steps that compiling
# kvaerno5 is worth
_SLOPES, _STEPS, _JACOBIANS, _COMPILING = 13, 4_000, 40, 20_000


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
