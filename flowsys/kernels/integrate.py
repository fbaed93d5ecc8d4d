"""integrate: a kernel and a batch -> what became of every trajectory; observe: observables at given states.

Threads share nothing but the counter of the next trajectory and write to disjoint places, and every lane decides for
itself, so a trajectory's numbers do not depend on the batch it came in, its place, the chunking or the threads.
"""

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowsys.kernels.batch import METHODS, Batch, BatchResult, StageBatch
from flowsys.kernels.kernel import Kernel
from flowsys.kernels.layout import Layout
from flowsys.kernels.outcomes import Code
from flowsys.kernels.packing import as_integers, filled, per_trajectory, per_trajectory_rows, stacked
from flowsys.kernels.records import Batch as BatchRecord
from flowsys.kernels.workspace import WorkspaceMemory, structure, workspace

Fields = dict[str, Any]


def integrate(kernel: Kernel, batch: Batch, threads: int = 1, stop: np.ndarray | None = None) -> BatchResult:
    """Integrate every trajectory of a batch; once `stop` (one integer) is not 0 any more, they end where they are."""
    initial = np.ascontiguousarray(np.atleast_2d(np.asarray(batch.initial, dtype=float)))
    n, dim = initial.shape
    if dim != len(kernel.program.state):
        raise ValueError(f"initial has {dim} columns, but the program has {len(kernel.program.state)} variables.")
    if not batch.stages:
        raise ValueError("stages is empty, but a batch needs at least one stage.")
    stages = kernel.native_stages(batch.stages)
    layout = kernel.layout(stages)
    fields = {"initial": initial, **_stage_inputs(kernel, layout, stages, n), **_requests(kernel, batch, n)}
    fields |= _outputs(kernel, layout, batch, fields)
    if stop is not None:
        fields["stop"] = stop
    _run("run", kernel, layout, fields, threads)
    return BatchResult(
        outcome=fields["outcome"],
        event_times=fields["event_times"],
        event_states=fields["event_states"],
        event_stages=fields["event_stages"],
        event_slides=fields["event_slides"],
        reached=fields["reached"].astype(bool),
        times=fields["times"],
        time_states=fields["time_states"],
        time_stages=fields["time_stages"],
        time_slides=fields["time_slides"],
        final_t=fields["final_t"],
        final_state=fields["final_y"],
        final_stage=fields["final_stage"],
        final_gates=kernel.gates_as_stated(fields["final_gates"]),
        statistics=fields["statistics"],
        log=fields["log"],
        log_counts=fields["log_counts"],
    )


def observe(
    kernel: Kernel,
    states: np.ndarray,
    stages: Sequence[StageBatch],
    stage_of: np.ndarray | int = 0,
    kink_width: np.ndarray | float = 0.0,
    threads: int = 1,
) -> np.ndarray:
    """The kernel's watched observables at states (n, dim), each in its stage: (n, observables).

    The kernel must read kinks as "exact" or "smooth": a state alone does not tell frozen gates.
    """
    if kernel.has_kinks:
        raise ValueError(
            "kinks = 'frozen', but observables at given states need a kernel with kinks 'exact' or 'smooth'."
        )
    initial = np.ascontiguousarray(np.atleast_2d(np.asarray(states, dtype=float)))
    n = len(initial)
    native = kernel.native_stages(stages)
    layout = kernel.layout(native)
    batch = Batch(initial, stages, np.zeros(len(kernel.watched)), np.zeros(len(kernel.watched)), kink_width=kink_width)
    fields = {"initial": initial, **_stage_inputs(kernel, layout, native, n), **_requests(kernel, batch, n)}
    fields |= _outputs(kernel, layout, batch, fields)
    fields["final_stage"][:] = stage_of
    _run("observe", kernel, layout, fields, threads)
    return fields["event_times"]


def _stage_inputs(kernel: Kernel, layout: Layout, stages: list[StageBatch], n: int) -> Fields:
    """Parameters, tables and ends of all stages; strides are 0 where trajectories share them."""
    parameters, parameters_stride = stacked([np.asarray(s.parameters, dtype=float) for s in stages], n)
    data, data_stride = stacked([layout.constants(s.tables, s.links) for s in stages], n)
    n_parameters = kernel.shape.n_parameters
    if parameters.shape[-1] != n_parameters:
        raise ValueError(f"parameters has {parameters.shape[-1]} columns, but the program has {n_parameters}.")
    until = [np.inf if s.until is None or s is stages[-1] else s.until for s in stages]
    ends_on = [-1 if s.ends_on is None or s is stages[-1] else s.ends_on for s in stages]
    return {
        "n": n,
        "n_stages": len(stages),
        "parameters": parameters,
        "parameters_stride": parameters_stride,
        "n_parameters": n_parameters,
        "data": data,
        "data_stride": data_stride,
        "data_size": data.shape[-1],
        "until": np.stack([per_trajectory(u, n) for u in until]),
        "ends_on": as_integers(ends_on),
    }


def _requests(kernel: Kernel, batch: Batch, n: int) -> Fields:
    """Tolerances, budgets, events and times."""
    watches = np.arange(len(kernel.watched)) if batch.watches is None else as_integers(batch.watches)
    n_events = len(watches)
    times = np.asarray(batch.times, dtype=float)
    times = np.ascontiguousarray(np.where(np.isnan(times), np.inf, times))
    if times.shape[-1] and not (np.diff(times, axis=-1)[np.isfinite(times[..., 1:])] >= 0).all():
        raise ValueError("times must ascend along each trajectory.")
    requested = np.ones(n_events) if batch.requested is None else batch.requested
    return {
        "next": as_integers([0]),
        "stop": as_integers([0]),
        **{k: per_trajectory(getattr(batch, k), n) for k in ("start", "t_max", "rtol", "atol", "kink_width")},
        **{k: int(getattr(batch, k)) for k in ("max_steps", "max_kinks", "log_size", "keeps_gates", "alone")},
        "method": METHODS.index(batch.method),
        "n_events": n_events,
        "watches": as_integers(watches),
        "directions": filled(batch.directions, n_events, "directions"),
        "thresholds": per_trajectory_rows(batch.thresholds, n, n_events, "thresholds"),
        "requested": as_integers(filled(requested, n_events, "requested")),
        "times": times,
        "n_times": times.shape[-1],
        "times_stride": times.shape[-1] if times.ndim > 1 else 0,
    }


def _outputs(kernel: Kernel, layout: Layout, batch: Batch, asked: Fields) -> Fields:
    """Arrays to be filled; what stays NaN is explained by the outcome."""
    dim, n, n_times, n_events = len(kernel.program.state), asked["n"], asked["n_times"], asked["n_events"]
    n_gates = layout.n_gates if kernel.has_kinks and batch.keeps_gates else 0
    whole = lambda shape, value: np.full(shape, value, dtype=np.int64)
    return {
        "outcome": whole(n, int(Code.INTERRUPTED)),
        "final_t": np.full(n, np.nan),
        "final_y": np.full((n, dim), np.nan),
        "final_stage": whole(n, 0),
        "final_gates": np.full((n, n_gates), np.nan),
        "time_states": np.full((n, n_times, dim), np.nan),
        "time_stages": whole((n, n_times), -1),
        "time_slides": whole((n, n_times), 0),
        "event_times": np.full((n, n_events), np.nan),
        "event_states": np.full((n, n_events, dim), np.nan),
        "event_stages": whole((n, n_events), -1),
        "event_slides": whole((n, n_events), 0),
        "reached": whole((n, n_events), 0),
        "statistics": whole((n, len(BatchResult.COLUMNS)), 0),
        "log": np.zeros((n, batch.log_size, 3)),
        "log_counts": whole(n, 0),
    }


def _run(function: str, kernel: Kernel, layout: Layout, fields: Fields, threads: int) -> None:
    """Let the threads work; an interrupt stops them at their next step and is raised again."""
    record = structure(BatchRecord, fields)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(kernel.driver.address(function))
    groups = -(-fields["n"] // kernel.host.lanes)
    implicit, n = function == "run", max(1, min(threads, groups))
    spaces = [(workspace(kernel, layout, implicit), workspace(kernel, layout)) for _ in range(n)]
    workers = [threading.Thread(target=_work, args=(run, pair, record, fields, kernel), daemon=True) for pair in spaces]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except BaseException:
        fields["stop"][0] = 1
        for worker in workers:
            worker.join()
        raise


def _work(
    run: Any, spaces: tuple[WorkspaceMemory, WorkspaceMemory], record: ctypes.Structure, fields: Fields, kernel: Kernel
) -> None:
    """A thread's share. Native code knows addresses only: what they point to is held here until it returns.

    A second interrupt leaves `_run` while threads still finish their step.
    """
    run(*(ctypes.addressof(space.record) for space in spaces), ctypes.addressof(record))
