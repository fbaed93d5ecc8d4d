"""A program and its tangent as NumPy functions: rates, switching functions, observables, and their derivatives."""

from collections.abc import Callable

import numpy as np

from flowsys.analysis.tangent import kink_tangents, of, tangent
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function, observed, switching_functions, vector_field
from flowsys.system.problem import ProgramField


def still(arguments: Arguments) -> Arguments:
    """The same data with nothing but the state moving."""
    parameters = np.array(arguments.parameters)
    parameters[len(parameters) // 2 :] = 0.0
    return arguments._replace(parameters=parameters)


class Functions:
    """The functions of a program and its tangent on NumPy, printed once; the tangent's field for the integrator."""

    def __init__(self, plain: Program, moving: frozenset[str], names: tuple[str, ...] | None):
        both = tangent(plain, moving)
        self.program, self.field, self.n = both, ProgramField(both), len(plain.state)
        self.names = tuple(plain.observables) if names is None else tuple(n for n in names if n in plain.observables)
        self.rhs = vector_field(plain, "frozen", np)
        self.has_kinks = bool(plain.kinks)
        self._switching = switching_functions(plain, "frozen", np) if plain.kinks else None
        self.both = vector_field(both, "frozen", np)
        self._n_kinks = len(plain.kinks)
        named = (*plain.kinks, *kink_tangents(plain, moving))
        self._kinks = function(both, named, "frozen", np) if named else None
        self._observed = observed(both, (*self.names, *map(of, self.names)), "exact", np) if self.names else None
        self._slopes: dict[str, Callable] = {}

    def switching(self, y: np.ndarray, plain: Arguments) -> np.ndarray:
        return self._switching(y, plain) if self.has_kinks else np.zeros(0)

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
        if not self.has_kinks:
            return np.zeros(0)
        values = self._kinks(z, arguments)
        kinks, slopes = values[: self._n_kinks], values[self._n_kinks :]
        return np.concatenate([np.broadcast_to(s, np.shape(np.atleast_1d(k))) for k, s in zip(kinks, slopes)])

    def observed(self, z: np.ndarray, rate: np.ndarray, dt: float, arguments: Arguments):
        """Observables, and their derivatives where their time moves with them."""
        if self._observed is None:
            return {}, {}
        found, k = self._observed(z, arguments), len(self.names)
        slopes = found[k:]
        if dt:
            slopes = slopes + dt * self._observed(np.concatenate([z[: self.n], rate]), still(arguments))[k:]
        return dict(zip(self.names, map(float, found[:k]))), dict(zip(self.names, map(float, slopes)))

    def slope_of(self, observable: str) -> Callable:
        """The tangent of one observable."""
        if observable not in self._slopes:
            self._slopes[observable] = observed(self.program, (of(observable),), "exact", np)
        return self._slopes[observable]


_FUNCTIONS: dict[tuple, Functions] = {}


def functions_of(field: ProgramField, moving: frozenset[str], names: tuple[str, ...] | None) -> Functions:
    key = field.program.digest, moving, names
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = Functions(field.program, moving, names)
    return _FUNCTIONS[key]
