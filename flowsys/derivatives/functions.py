"""What a direction does to a program's switching functions and observables, and to its field.

Switching functions are read under frozen gates, where the flow turns; observables with kinks as they are.
"""

from collections.abc import Callable

import numpy as np

from flowsys.derivatives.tangent import kink_tangents, of, tangent
from flowsys.kernels import Slope, StageBatch, kernel
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function, vector_field
from flowsys.system.problem import ProgramField


class Functions:
    """The functions of a tangent, printed once, and its field for the integrator."""

    def __init__(self, plain: Program, moving: frozenset[str]):
        both = tangent(plain, moving)
        self.field, self.n = ProgramField(both), len(plain.state)
        self.names = tuple(plain.observables)
        self.both = vector_field(both, "frozen", np)
        self._n_kinks = len(plain.kinks)
        named = (*plain.kinks, *kink_tangents(plain, moving))
        self._kinks = function(both, named, "frozen", np) if named else None

    def kink_slopes(self, z: np.ndarray, arguments: Arguments) -> np.ndarray:
        """∇h·s + ∂h of every switching function."""
        if self._kinks is None:
            return np.zeros(0)
        values = self._kinks(z, arguments)
        kinks, slopes = values[: self._n_kinks], values[self._n_kinks :]
        return np.concatenate([np.broadcast_to(s, np.shape(np.atleast_1d(k))) for k, s in zip(kinks, slopes)])

    def observing(self, stage: StageBatch) -> Callable[[np.ndarray], np.ndarray]:
        """Observables and their derivatives (2 × observables) in a stage, of a state with a direction beside it."""
        slope = Slope(kernel(self.field.program, (*self.names, *map(of, self.names)), "exact"), stage)
        return lambda z: slope.observe(z).reshape(2, -1)


_FUNCTIONS: dict[tuple, Functions] = {}


def functions_of(field: ProgramField, moving: frozenset[str]) -> Functions:
    key = field.program.digest, moving
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = Functions(field.program, moving)
    return _FUNCTIONS[key]
