"""What a direction does to a program's switching functions and observables, and to its field.

Switching functions are read under frozen gates, where the flow turns; observables with kinks as they are.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from flowsys.derivatives.tangent import kink_tangents, of, tangent
from flowsys.kernels import Kernel, Slope, StageBatch, kernel
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function, vector_field
from flowsys.system.problem import ProgramField


class Functions:
    """The functions of a tangent, printed when they are needed, and its field for the integrator."""

    def __init__(self, plain: Program, moving: frozenset[str]):
        self.plain, self.moving = plain, moving
        self.field, self.names = ProgramField(tangent(plain, moving)), tuple(plain.observables)

    @cached_property
    def both(self) -> Callable:
        """The rates of state and direction under frozen gates."""
        return vector_field(self.field.program, "frozen", np)

    @cached_property
    def _kinks(self) -> Callable:
        named = (*self.plain.kinks, *kink_tangents(self.plain, self.moving))
        return function(self.field.program, named, "frozen", np)

    def kink_slopes(self, z: np.ndarray, arguments: Arguments) -> np.ndarray:
        """∇h·s + ∂h of every switching function."""
        values, n = self._kinks(z, arguments), len(self.plain.kinks)
        kinks, slopes = values[:n], values[n:]
        return np.concatenate([np.broadcast_to(s, np.shape(np.atleast_1d(k))) for k, s in zip(kinks, slopes)])

    def observing(self, moving: StageBatch, still: StageBatch) -> "Observing":
        """What is observed in a stage whose data move with the direction, or stand still."""
        return Observing(kernel(self.field.program, (*self.names, *map(of, self.names)), "exact"), moving, still)


class Observing:
    """Observables and their derivatives (2 × observables) of a state with a direction beside it."""

    def __init__(self, compiled: Kernel, moving: StageBatch, still: StageBatch):
        self._slope, self._data, self._moves = Slope(compiled, moving), {True: moving, False: still}, True

    def __call__(self, z: np.ndarray, moves: bool = True) -> np.ndarray:
        if moves is not self._moves:
            self._slope.read(self._data[moves])
            self._moves = moves
        return self._slope.observe(z).reshape(2, -1)

    def rate(self, z: np.ndarray) -> np.ndarray:
        """dy/dt of the state, where the flow has no kinks."""
        return self._slope(z)[: len(z) // 2]


_FUNCTIONS: dict[tuple, Functions] = {}


def functions_of(field: ProgramField, moving: frozenset[str]) -> Functions:
    key = field.program.digest, moving
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = Functions(field.program, moving)
    return _FUNCTIONS[key]
