"""One state at a time on compiled code, for what lives in Python: solvers, and the turns of a flow with kinks."""

import ctypes

import numpy as np

from flowsys.kernels.batch import StageBatch
from flowsys.kernels.kernel import Kernel
from flowsys.kernels.workspace import workspace

_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)
_FUNCTIONS = ("field", "watched", "velocity")


class _Evaluation:
    """The functions of a kernel under one stage's arguments. Calls share one workspace: it serves one thread."""

    def __init__(self, kernel: Kernel, stage: StageBatch, kink_width: float = 0.0):
        [native] = kernel.native_stages([stage])
        layout = kernel.layout([native])
        self._kernel, self._layout, self._n_gates = kernel, layout, layout.n_gates
        self._memory = workspace(kernel, layout)
        array, lanes = self._memory.array, kernel.host.lanes
        self._constants = array("constants").reshape(-1, lanes)
        self._read(native, kink_width)
        changing = ("y", "f_on", "v_values", "gates")
        self._y, self._f, self._values, self._gates = (array(name).reshape(-1, lanes) for name in changing)
        names = ("y", "f_on", "v_values", "constants", "gates", "scratch", "layout", "indices")
        self._pointers = [self._memory.address(name) for name in names]
        self._field, self._watched, self._velocity = (_SIGNATURE(kernel.library.address(name)) for name in _FUNCTIONS)

    def _read(self, native: StageBatch, kink_width: float) -> None:
        tables = self._layout.constants(native.tables, native.links)
        constants = np.concatenate([native.parameters, [kink_width], tables])
        self._constants[: len(constants)] = constants[:, None]

    def _slope(self, y: np.ndarray) -> np.ndarray:
        self._y[:] = y[:, None]
        self._field(*self._pointers)
        return self._f[:, 0].copy()


class Slope(_Evaluation):
    """dy/dt and the watched observables. The kernel must read kinks as "exact" or "smooth"."""

    def __init__(self, kernel: Kernel, stage: StageBatch, kink_width: float = 0.0):
        if kernel.has_kinks:
            raise ValueError("kinks = 'frozen', but a slope at a state alone needs a kernel with 'exact' or 'smooth'.")
        super().__init__(kernel, stage, kink_width)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """dy/dt at a state."""
        return self._slope(y)

    def read(self, stage: StageBatch, kink_width: float = 0.0) -> None:
        """From now on under another stage's arguments, of equal sizes and with the same links."""
        [native] = self._kernel.native_stages([stage])
        self._read(native, kink_width)

    def observe(self, y: np.ndarray) -> np.ndarray:
        """The watched observables at a state."""
        self._y[:] = y[:, None]
        self._watched(*self._pointers)
        return self._values[: len(self._kernel.watched), 0].copy()


class FrozenSlope(_Evaluation):
    """dy/dt and the switching functions h under given gates, in the order of the stated program.

    Of a gate that plays no part in the machine code, h is told as 1 (it is open), and its velocity as 0.
    """

    def __init__(self, kernel: Kernel, stage: StageBatch):
        super().__init__(kernel, stage)
        places = np.arange(self._n_gates) if kernel.gate_places is None else kernel.gate_places
        self._count, self._counts = len(places), np.flatnonzero(places >= 0)
        self._places = places[self._counts]

    def __call__(self, y: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """dy/dt at a state."""
        self._set(gates)
        return self._slope(y)

    def switching(self, y: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """h at a state."""
        self._set(gates)
        self._y[:] = y[:, None]
        self._watched(*self._pointers)
        h = np.ones(self._count)
        h[self._counts] = self._values[len(self._kernel.watched) + self._places, 0]
        return h

    def velocity(self, y: np.ndarray, direction: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """∇h · direction at a state."""
        self._set(gates)
        self._y[:], self._f[:] = y[:, None], direction[:, None]
        self._velocity(*self._pointers)
        found = np.zeros(self._count)
        found[self._counts] = self._values[self._places, 0]
        return found

    def _set(self, gates: np.ndarray) -> None:
        self._gates[self._places] = gates[self._counts, None]
