"""The memory one thread works in, sized for a program's layout."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.kernels.batch import BatchResult
from flowsys.kernels.kernel import Kernel
from flowsys.kernels.layout import Layout
from flowsys.kernels.packing import aligned
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import record_fields
from flowsys.kernels.stepper import N_EXTENDED

_CTYPES = {
    "double": ctypes.c_double,
    "i64": ctypes.c_int64,
    "doubles": ctypes.c_void_p,
    "integers": ctypes.c_void_p,
    "code": ctypes.c_void_p,
}
# so many surfaces can be slid on at once
MAX_SURFACES = 16
_STATES = "y y_new y_stage f_on spare"
_WATCHED = "at_start at_third at_two_thirds at_end at_inside at_low at_high at_other orientation threshold spare_values"
_GATES = "gates gates_on members met crossed v_now v_on"
_PER_LANE = (
    "fraction step error rtol atol stiffness t target proposed last_step last_error crossed_time low high other full"
)
_INTEGERS = (
    "slides returns hurried trajectory stage mode clipped was_rejected full_clipped trials next_time "
    "pending stiff_steps"
)


def structure(record: type, values: Mapping[str, Any]) -> ctypes.Structure:
    """A record in memory; arrays are given by their addresses and must outlive it."""
    fields = record_fields(record)
    kind = type(record.__name__, (ctypes.Structure,), {"_fields_": [(n, _CTYPES[k]) for n, (_, k) in fields.items()]})
    given = {n: (values[n].ctypes.data if isinstance(values[n], np.ndarray) else values[n]) for n in fields}
    return kind(**given)


@dataclass(frozen=True, eq=False)
class WorkspaceMemory:
    """A workspace record and the arrays it points to."""

    record: ctypes.Structure
    arrays: dict[str, np.ndarray]


def workspace(kernel: Kernel, layout: Layout) -> WorkspaceMemory:
    """Memory for one thread."""
    lanes, dim, n_events = kernel.host.lanes, len(kernel.program.state), len(kernel.watched)
    n_gates = layout.n_gates if kernel.has_kinks else 0
    n_watched = n_events + n_gates
    n_surfaces = min(max(n_gates, 1), MAX_SURFACES)
    matrix_size = n_surfaces * (n_surfaces + 1)
    integers, indices = layout.vectors
    sizes = dict.fromkeys(_STATES.split(), dim)
    sizes |= dict.fromkeys((*_WATCHED.split(), "v_values"), n_watched)
    sizes |= {name: max(layout.n_gates, 1) for name in _GATES.split()}
    sizes |= dict.fromkeys(_PER_LANE.split(), 1)
    sizes |= {"k": N_EXTENDED * dim, "dense": 7 * dim}
    sizes |= {"columns": (n_surfaces + 1) * dim, "matrix": matrix_size, "inverse": n_surfaces**2}
    sizes |= {"shares": n_surfaces, "off_surface": n_surfaces, "work": 3 * matrix_size + 2 * n_surfaces}
    sizes |= {"constants": layout.n_constants, "scratch": max(layout.n_scratch, 1)}
    arrays = {name: aligned(size * lanes) for name, size in sizes.items()}
    arrays |= {name: aligned(lanes, np.int64) for name in _INTEGERS.split()}
    arrays["representative"] = aligned(n_surfaces * lanes, np.int64)
    arrays |= {"counts": aligned(len(BatchResult.COLUMNS) * lanes, np.int64), "layout": integers, "indices": indices}
    functions = {name: kernel.library.address(name) for name in ("field", "watched", "velocity")}
    numbers = {
        "dim": dim,
        "n_events": n_events,
        "n_gates": n_gates,
        "n_watched": n_watched,
        "n_constants": layout.n_constants,
        "n_surfaces": n_surfaces,
        "matrix_size": matrix_size,
        "n_sliding": 0,
    }
    return WorkspaceMemory(structure(Workspace, {**arrays, **functions, **numbers}), arrays)
