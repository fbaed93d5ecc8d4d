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
_STATES = "y y_new y_stage f_on f_off spare"
_WATCHED = "at_start at_third at_two_thirds at_end at_inside at_low at_high at_other orientation threshold spare_values"
_GATES = "gates gates_on gates_off members second crossed v_now v_on v_off"
_PER_LANE = (
    "fraction step error rtol atol stiffness t target proposed last_step last_error crossed_time low high other full"
)
_INTEGERS = (
    "slides representative returns hurried trajectory stage mode clipped was_rejected full_clipped trials next_time "
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
    n_watched = n_events + n_gates + 2
    integers, indices = layout.vectors
    sizes = dict.fromkeys(_STATES.split(), dim)
    sizes |= dict.fromkeys((*_WATCHED.split(), "v_values"), n_watched)
    sizes |= {name: max(layout.n_gates, 1) for name in _GATES.split()}
    sizes |= dict.fromkeys(_PER_LANE.split(), 1)
    sizes |= {"k": N_EXTENDED * dim, "dense": 7 * dim}
    sizes |= {"constants": layout.n_constants, "scratch": max(layout.n_scratch, 1)}
    arrays = {name: aligned(size * lanes) for name, size in sizes.items()}
    arrays |= {name: aligned(lanes, np.int64) for name in _INTEGERS.split()}
    arrays |= {"counts": aligned(len(BatchResult.COLUMNS) * lanes, np.int64), "layout": integers, "indices": indices}
    functions = {name: kernel.library.address(name) for name in ("field", "watched", "velocity")}
    numbers = {
        "dim": dim,
        "n_events": n_events,
        "n_gates": n_gates,
        "n_watched": n_watched,
        "n_constants": layout.n_constants,
        "n_sliding": 0,
    }
    return WorkspaceMemory(structure(Workspace, {**arrays, **functions, **numbers}), arrays)
