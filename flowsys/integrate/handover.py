"""When an explicit run on a field in JAX is handed over to a stiff solver.

Ten steps in a row that stability limits make a flow stiff. Then work is weighed: explicit steps as long as these, to
the end of what was asked for, against what the stiff solver takes for the same, mostly Jacobians by differences. Where
explicit steps are cheaper the run stays with them, and asks again four times later. A stretch of very many steps is
handed over whatever they tell.
"""

from dataclasses import dataclass, field

import numpy as np

from flowsys.integrate.stepper_values import Patience

# evidence (see `Patience`) that makes a flow stiff; steps on one stretch that count as stiff in any case
_STIFF, _MOST_STEPS = 20, 20_000
# slopes in a step of dopri8; steps of LSODA on a long stretch, its Jacobians, and variables it takes on; explicit
# steps that compiling kvaerno5 is worth
_SLOPES, _STEPS, _JACOBIANS, _MOST_VARIABLES, _COMPILING = 13, 4_000, 40, 1_000, 20_000


@dataclass
class Impatience:
    """How much an explicit run bears before a stiff solver takes over; `is_open` if one may at all."""

    is_open: bool
    evidence: int = 0
    limit: int = field(default=_STIFF)

    @property
    def most_steps(self) -> int | None:
        """How many steps a stretch may take."""
        return _MOST_STEPS if self.is_open else None

    @property
    def patience(self) -> Patience:
        return Patience(np.int64(self.evidence), np.int64(self.limit if self.is_open else np.iinfo(np.int64).max))

    def pays(self, n: int, steps_left: float, has_kinks: bool) -> bool:
        """Whether a stiff solver is cheaper on n variables than so many explicit steps; if not, it is asked later."""
        self.evidence = 0
        if has_kinks:
            found = steps_left > _COMPILING
        else:
            found = n <= _MOST_VARIABLES and steps_left * _SLOPES > _STEPS + _JACOBIANS * n
        if not found:
            self.limit *= 4
        return found
