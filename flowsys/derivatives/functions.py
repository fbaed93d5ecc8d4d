"""A program and its tangent as functions: rates, switching functions, observables, and what a direction does to them.

Rates and switching functions are read under frozen gates, a state at a time, where the flow turns; observables of all
states of a run at once, with kinks as they are.
"""

from collections.abc import Sequence

import numpy as np

from flowsys.derivatives.tangent import kink_tangents, of, tangent
from flowsys.kernels import StageBatch, kernel, observe
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function, switching_functions, vector_field
from flowsys.system.problem import ProgramField


class Functions:
    """The functions of a program and its tangent, printed once; the tangent's field for the integrator."""

    def __init__(self, plain: Program, moving: frozenset[str]):
        both = tangent(plain, moving)
        self.field, self.n = ProgramField(both), len(plain.state)
        self.names = tuple(plain.observables)
        self.rhs = vector_field(plain, "frozen", np)
        self.has_kinks = bool(plain.kinks)
        self._switching = switching_functions(plain, "frozen", np) if plain.kinks else None
        self.both = vector_field(both, "frozen", np)
        self._n_kinks = len(plain.kinks)
        named = (*plain.kinks, *kink_tangents(plain, moving))
        self._kinks = function(both, named, "frozen", np) if named else None

    def switching(self, y: np.ndarray, plain: Arguments) -> np.ndarray:
        return self._switching(y, plain) if self._switching is not None else np.zeros(0)

    def gates_at(self, y: np.ndarray, plain: Arguments) -> np.ndarray:
        """The gates as the state has them; one that stands behind others is known once these are right."""
        gates = np.ones(len(plain.gates))
        for _ in range(len(gates) + 1):
            opened = (self.switching(y, plain._replace(gates=gates)) > 0).astype(float)
            if np.array_equal(opened, gates):
                break
            gates = opened
        return gates

    def kink_slopes(self, z: np.ndarray, arguments: Arguments) -> np.ndarray:
        """∇h·s + ∂h of every switching function."""
        if self._kinks is None:
            return np.zeros(0)
        values = self._kinks(z, arguments)
        kinks, slopes = values[: self._n_kinks], values[self._n_kinks :]
        return np.concatenate([np.broadcast_to(s, np.shape(np.atleast_1d(k))) for k, s in zip(kinks, slopes)])

    def observed(self, z: np.ndarray, stages: Sequence[StageBatch], stage_of: np.ndarray) -> np.ndarray:
        """Observables and then their derivatives (2 × states × observables) at states with directions beside them."""
        compiled = kernel(self.field.program, (*self.names, *map(of, self.names)), "exact")
        return observe(compiled, z, stages, stage_of).reshape(len(z), 2, -1).swapaxes(0, 1)


_FUNCTIONS: dict[tuple, Functions] = {}


def functions_of(field: ProgramField, moving: frozenset[str]) -> Functions:
    key = field.program.digest, moving
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = Functions(field.program, moving)
    return _FUNCTIONS[key]
