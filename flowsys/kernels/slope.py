"""One state at a time on compiled code: the slope and the watched observables, for solvers that live in Python."""

import ctypes

import numpy as np

from flowsys.kernels.batch import StageBatch
from flowsys.kernels.kernel import Kernel
from flowsys.kernels.workspace import workspace

_N_POINTERS = 8


class Slope:
    """dy/dt and the watched observables of a kernel under one stage's arguments.

    The kernel must read kinks as "exact" or "smooth". Calls share one workspace: an instance serves one thread.
    """

    def __init__(self, kernel: Kernel, stage: StageBatch, kink_width: float = 0.0):
        if kernel.has_kinks:
            raise ValueError("kinks = 'frozen', but a slope at a state alone needs a kernel with 'exact' or 'smooth'.")
        [native] = kernel.native_stages([stage])
        layout = kernel.layout([native])
        self._kernel = kernel
        self._memory = workspace(kernel, layout)
        array, lanes = self._memory.array, kernel.host.lanes
        constants = np.concatenate([native.parameters, [kink_width], layout.constants(native.tables, native.links)])
        array("constants").reshape(-1, lanes)[: len(constants)] = constants[:, None]
        self._y, self._f, self._values = (array(name).reshape(-1, lanes) for name in ("y", "f_on", "v_values"))
        names = ("y", "f_on", "v_values", "constants", "gates", "scratch", "layout", "indices")
        self._pointers = [self._memory.address(name) for name in names]
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _N_POINTERS)
        self._field, self._watched = (signature(kernel.library.address(name)) for name in ("field", "watched"))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """dy/dt at a state."""
        self._y[:] = y[:, None]
        self._field(*self._pointers)
        return self._f[:, 0].copy()

    def observe(self, y: np.ndarray) -> np.ndarray:
        """The watched observables at a state."""
        self._y[:] = y[:, None]
        self._watched(*self._pointers)
        return self._values[: len(self._kernel.watched), 0].copy()
