"""The memory one thread works in, sized for a program's layout."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.kernels.batch import BatchResult
from flowsys.kernels.collocation import STAGES, SYSTEMS
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
_PARTS = ("re", "im")
_STATES = "y y_new y_stage f_on spare latest_y"
_WATCHED = "at_start at_third at_two_thirds at_end at_inside at_low at_high at_other orientation threshold spare_values"
_GATES = "gates gates_on members met crossed v_now v_on"
_PER_LANE = (
    "fraction step error rtol atol stiffness t target proposed last_step last_error crossed_time low high other full "
    "taken latest"
)
_IMPLICIT_PER_LANE = (
    "tried_start tried_end tried_step tried_age tried_stretch tried_middle tried_norm history_step history_age "
    "history_stretch middle norm age limit stretch_start pace spent"
)
_INTEGERS = (
    "slides returns hurried trajectory stage mode clipped was_rejected full_clipped trials next_time pending "
    "stiff_steps tried_kinks has_tried has_history iterations is_drowned is_implicit patience calm_steps stretch_steps "
    "taken_clipped arrives look_failed sought search_failed crossed_event crossed_kink"
)


@lru_cache(maxsize=2)
def _structure_of(record: type) -> tuple[type[ctypes.Structure], tuple[str, ...]]:
    """The type of a record, and its fields in order."""
    fields = [(name, _CTYPES[kind]) for name, (_, kind) in record_fields(record).items()]
    return type(record.__name__, (ctypes.Structure,), {"_fields_": fields}), tuple(name for name, _ in fields)


def structure(record: type, values: Mapping[str, Any]) -> ctypes.Structure:
    """A record in memory; arrays, given as such or by their addresses, must outlive it."""
    kind, names = _structure_of(record)
    addresses = {name: x.ctypes.data for name, x in values.items() if isinstance(x, np.ndarray)}
    given = {**values, **addresses}
    return kind(*[given[name] for name in names])


@dataclass(frozen=True, eq=False)
class WorkspaceMemory:
    """A workspace record and the memory it points to: `block` holds (first word, words) for every name of `places`."""

    record: ctypes.Structure
    block: np.ndarray
    places: dict[str, tuple[int, int]]
    held: tuple[np.ndarray, ...]

    def array(self, name: str) -> np.ndarray:
        """The doubles under a name."""
        first, count = self.places[name]
        return self.block[first : first + count]

    def address(self, name: str) -> int:
        return getattr(self.record, name)


def workspace(kernel: Kernel, layout: Layout, implicit: bool = False) -> WorkspaceMemory:
    """Memory for one thread, with or without what implicit steps need."""
    form = _form(kernel, (layout.n_gates, layout.n_constants, layout.n_scratch), implicit)
    block = aligned(form.total)
    words = form.words + form.is_address * block.ctypes.data
    record = _structure_of(Workspace)[0].from_buffer(words)
    integers, indices = layout.vectors
    record.layout, record.indices, record.field_work = integers.ctypes.data, indices.ctypes.data, layout.work
    return WorkspaceMemory(record, block, form.places, (words, integers, indices))


@dataclass(frozen=True)
class _Form:
    """What workspaces of equal sizes share: the record's words, addresses counted from the start of the block."""

    words: np.ndarray
    is_address: np.ndarray
    places: dict[str, tuple[int, int]]
    total: int


@lru_cache(maxsize=64)
def _form(kernel: Kernel, of_layout: tuple[int, int, int], implicit: bool) -> _Form:
    """The form of a kernel's workspaces on layouts with so many gates, constants and scratch slots."""
    lanes, dim, n_observed = kernel.host.lanes, len(kernel.program.state), len(kernel.watched)
    gates, n_constants, _ = of_layout
    n_gates = gates if kernel.has_kinks else 0
    n_watched = n_observed + n_gates
    n_surfaces = min(max(n_gates, 1), MAX_SURFACES)
    places, total = _places(lanes, dim, n_watched, n_surfaces, of_layout, implicit)
    values: dict[str, Any] = {name: 8 * first for name, (first, _) in places.items()}
    values |= {"history_here": values["history"]}
    _, names = _structure_of(Workspace)
    is_address = np.array([name in values for name in names], dtype=np.int64)
    values |= {name: kernel.library.address(name) for name in ("field", "watched", "velocity")}
    values |= {
        "dim": dim,
        "n_observed": n_observed,
        "n_gates": n_gates,
        "n_watched": n_watched,
        "n_constants": n_constants,
        "n_surfaces": n_surfaces,
        "matrix_size": n_surfaces * (n_surfaces + 1),
        "n_sliding": 0,
        "pivot": 0,
        "tangent": kernel.tangent.address("tangent") if kernel.tangent else None,
        "has_tangent": kernel.tangent is not None,
        # every layout has its own
        "layout": None,
        "indices": None,
        "field_work": 0.0,
    }
    words = np.frombuffer(memoryview(structure(Workspace, values)), dtype=np.int64)
    return _Form(words, is_address, places, total)


def _places(
    lanes: int, dim: int, n_watched: int, n_surfaces: int, of_layout: tuple[int, int, int], implicit: bool
) -> tuple[dict[str, tuple[int, int]], int]:
    """(first word, words) of every array, and the words of all."""
    n_gates, n_constants, n_scratch = of_layout
    matrix_size = n_surfaces * (n_surfaces + 1)
    sizes = dict.fromkeys(_STATES.split(), dim)
    # at least one, so that no array is empty
    sizes |= dict.fromkeys((*_WATCHED.split(), "v_values"), max(n_watched, 1))
    sizes |= {name: max(n_gates, 1) for name in _GATES.split()}
    sizes |= dict.fromkeys((*_PER_LANE.split(), *_INTEGERS.split()), 1)
    sizes |= {"k": N_EXTENDED * dim, "dense": 7 * dim, "counts": len(BatchResult.COLUMNS)}
    sizes |= {"columns": (n_surfaces + 1) * dim, "matrix": matrix_size, "inverse": n_surfaces**2}
    sizes |= {"shares": n_surfaces, "off_surface": n_surfaces, "work": 3 * matrix_size + 2 * n_surfaces}
    sizes |= {"constants": n_constants, "scratch": max(n_scratch, 1), "representative": n_surfaces}
    sizes |= _implicit_sizes(lanes, dim if implicit else 0)
    places, total = {}, 0
    for name, size in sizes.items():
        # every array starts on a cache line
        places[name] = (total, size * lanes)
        total += -(-size * lanes // 8) * 8
    return places, total


def _implicit_sizes(lanes: int, dim: int) -> dict[str, int]:
    """What implicit steps of `dim` variables work on, in vectors."""
    stages, systems, square = -(-STAGES // lanes), -(-SYSTEMS // lanes), dim * dim
    sizes = dict.fromkeys("increments states slopes changes expected found".split(), stages * dim)
    sizes |= {f"{name}_{part}": systems * dim for name in ("transformed", "right", "solution") for part in _PARTS}
    sizes |= {f"matrix_{part}": systems * square for part in _PARTS}
    sizes |= {f"multiplier_{part}": systems for part in _PARTS}
    sizes |= {"tried": lanes * stages * dim, "history": lanes * stages * dim, "base": dim, "order": systems * dim}
    sizes |= {"weights": STAGES * stages, "sums": stages, "jacobian": -(-square // lanes)}
    sizes |= dict.fromkeys("scales omega inner combined".split(), -(-max(dim, STAGES + 1) // lanes))
    return sizes | dict.fromkeys(_IMPLICIT_PER_LANE.split(), 1)
