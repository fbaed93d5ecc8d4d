"""integrate: a kernel and a batch -> what became of every trajectory.

Threads share nothing but the counter of the next trajectory and write to disjoint places, and every lane decides for
itself, so a trajectory's numbers do not depend on the batch it came in, its place, the chunking or the threads.
"""

import ctypes
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from flowsys.kernels.batch import Batch, BatchResult, StageBatch
from flowsys.kernels.kernel import Kernel
from flowsys.kernels.layout import Layout
from flowsys.kernels.outcomes import Code
from flowsys.kernels.packing import filled, per_trajectory, per_trajectory_rows
from flowsys.kernels.records import Batch as BatchRecord
from flowsys.kernels.workspace import structure, workspace


def _stage_data(layout: Layout, stages: list[StageBatch], n: int) -> tuple[np.ndarray, bool]:
    """Tables and links of all stages: (stages, size), or (stages, n, size) if any differs between trajectories."""
    flat = [layout.constants(s.tables, s.links) for s in stages]
    differs = any(f.ndim > 1 for f in flat)
    if differs:
        flat = [np.broadcast_to(f, (n, f.shape[-1])) for f in flat]
    return np.ascontiguousarray(np.stack(flat)), differs


def integrate(kernel: Kernel, batch: Batch, threads: int = 1) -> BatchResult:
    """Integrate every trajectory of a batch."""
    initial = np.ascontiguousarray(np.atleast_2d(np.asarray(batch.initial, dtype=float)))
    n, dim = initial.shape
    if dim != len(kernel.program.state):
        raise ValueError(f"initial has {dim} columns, but the program has {len(kernel.program.state)} variables.")
    stages, n_events = kernel.native_stages(batch.stages), len(kernel.watched)
    layout = kernel.layout(stages)
    data, data_differs = _stage_data(layout, stages, n)
    parameters = [np.asarray(s.parameters, dtype=float) for s in stages]
    parameters_differ = any(p.ndim > 1 for p in parameters)
    if parameters_differ:
        parameters = [np.broadcast_to(p, (n, p.shape[-1])) for p in parameters]
    parameters = np.ascontiguousarray(np.stack(parameters))
    n_parameters = len(kernel.native.parameters)
    if parameters.shape[-1] != n_parameters:
        raise ValueError(f"parameters has {parameters.shape[-1]} columns, but the program has {n_parameters}.")
    times = np.asarray(batch.times, dtype=float)
    times_differ = times.ndim > 1
    times = np.ascontiguousarray(np.where(np.isnan(times), np.inf, times))
    n_times = times.shape[-1]
    until = [np.inf if s.until is None or s is stages[-1] else s.until for s in stages]
    ends_on = [-1 if s.ends_on is None or s is stages[-1] else s.ends_on for s in stages]
    requested = np.ones(n_events) if batch.requested is None else batch.requested
    n_gates = layout.n_gates if kernel.has_kinks else 0
    arrays: dict[str, np.ndarray] = {
        "next": np.zeros(1, dtype=np.int64),
        "stop": np.zeros(1, dtype=np.int64),
        "initial": initial,
        "start": per_trajectory(batch.start, n),
        "t_max": per_trajectory(batch.t_max, n),
        "rtol": per_trajectory(batch.rtol, n),
        "atol": per_trajectory(batch.atol, n),
        "kink_width": per_trajectory(batch.kink_width, n),
        "parameters": parameters,
        "data": data,
        "until": np.stack([per_trajectory(u, n) for u in until]),
        "ends_on": np.array(ends_on, dtype=np.int64),
        "directions": filled(batch.directions, n_events, "directions"),
        "thresholds": per_trajectory_rows(batch.thresholds, n, n_events, "thresholds"),
        "requested": np.array(requested, dtype=np.int64),
        "times": times,
        "outcome": np.full(n, int(Code.INTERRUPTED), dtype=np.int64),
        "final_t": np.full(n, np.nan),
        "final_y": np.full((n, dim), np.nan),
        "final_stage": np.zeros(n, dtype=np.int64),
        "final_gates": np.full((n, n_gates if batch.keeps_gates else 0), np.nan),
        "time_states": np.full((n, n_times, dim), np.nan),
        "time_stages": np.full((n, n_times), -1, dtype=np.int64),
        "event_times": np.full((n, n_events), np.nan),
        "event_states": np.full((n, n_events, dim), np.nan),
        "event_stages": np.full((n, n_events), -1, dtype=np.int64),
        "reached": np.zeros((n, n_events), dtype=np.int64),
        "statistics": np.zeros((n, len(BatchResult.COLUMNS)), dtype=np.int64),
        "log": np.zeros((n, batch.log_size, 3)),
        "log_counts": np.zeros(n, dtype=np.int64),
    }
    numbers = {
        "n": n,
        "n_stages": len(stages),
        "n_times": n_times,
        "max_steps": batch.max_steps,
        "max_kinks": batch.max_kinks,
        "stiff_after": batch.stiff_after,
        "n_parameters": n_parameters,
        "log_size": batch.log_size,
        "keeps_gates": int(batch.keeps_gates),
        "parameters_stride": parameters.shape[-1] if parameters_differ else 0,
        "data_stride": data.shape[-1] if data_differs else 0,
        "data_size": data.shape[-1],
        "times_stride": n_times if times_differ else 0,
    }
    _run(kernel, layout, arrays, numbers, max(1, min(threads, -(-n // kernel.host.lanes))))
    return BatchResult(
        outcome=arrays["outcome"],
        event_times=arrays["event_times"],
        event_states=arrays["event_states"],
        event_stages=arrays["event_stages"],
        reached=arrays["reached"].astype(bool),
        times=times,
        time_states=arrays["time_states"],
        time_stages=arrays["time_stages"],
        final_t=arrays["final_t"],
        final_state=arrays["final_y"],
        final_stage=arrays["final_stage"],
        final_gates=kernel.gates_as_stated(arrays["final_gates"]),
        statistics=arrays["statistics"],
        log=arrays["log"],
        log_counts=arrays["log_counts"],
    )


def _run(kernel: Kernel, layout: Layout, arrays: Mapping[str, np.ndarray], numbers: Mapping[str, Any], threads: int):
    """Let the threads work; an interrupt stops them at their next step and is raised again."""
    record = structure(BatchRecord, {**arrays, **numbers})
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.driver.address("run"))
    spaces = [workspace(kernel, layout) for _ in range(threads)]
    workers = [
        threading.Thread(target=run, args=(ctypes.addressof(space.record), ctypes.addressof(record)), daemon=True)
        for space in spaces
    ]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except BaseException:
        arrays["stop"][0] = 1
        for worker in workers:
            worker.join()
        raise
