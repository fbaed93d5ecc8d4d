"""Stages in order: their data, the events that hold from the start, and where their steps must end."""

from flowsys.kernels.native.constants import COMPLETED, LANES, NOT_FINITE, NOT_REACHED, STEPPING
from flowsys.kernels.native.field import refresh
from flowsys.kernels.native.intrinsics import fabs, fmin
from flowsys.kernels.native.kinks import gates_from_state
from flowsys.kernels.native.ledger import end_slides, finish, record_event, record_look
from flowsys.kernels.native.stepping import set_step, starting_step
from flowsys.kernels.native.watching import orient
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import i64


def settle(w: Workspace, b: Batch, l: i64) -> i64:
    """At a state worth looking at: record times, change stages, set the next target; 0 if the trajectory is over."""
    n = w.trajectory[l]
    while True:
        look_here(w, b, l)
        if w.next_time[l] >= b.n_times and w.pending[l] == 0:
            return finish(w, b, l, COMPLETED)
        for j in range(w.dim):
            if not (fabs(w.k[j * LANES + l]) < 1e300):
                return finish(w, b, l, NOT_FINITE)
        end = fmin(b.until[w.stage[l] * b.n + n], b.t_max[n])
        terminal = b.ends_on[w.stage[l]]
        is_over = w.t[l] >= end
        if terminal >= 0 and b.reached[n * b.n_events + terminal] != 0:
            is_over = 1
        if is_over == 0:
            w.target[l] = end
            set_step(w, l)
            w.mode[l] = STEPPING
            return 1
        if w.t[l] >= b.t_max[n] or w.stage[l] + 1 >= b.n_stages:
            return finish(w, b, l, NOT_REACHED)
        enter_stage(w, b, l, w.stage[l] + 1)
    return 0  # noqa: V201 (the compiled subset ends every function in a return)


def look_here(w: Workspace, b: Batch, l: i64) -> None:
    """Record the times to look at that have come with the state as it stands."""
    n = w.trajectory[l]
    while w.next_time[l] < b.n_times and b.times[n * b.times_stride + w.next_time[l]] <= w.t[l]:
        record_look(w, b, l, w.y)


def enter_stage(w: Workspace, b: Batch, l: i64, stage: i64) -> None:
    """A stage's data, the gates as they stand, events that hold from the start, and a first step size."""
    n = w.trajectory[l]
    end_slides(w, b, l)
    w.stage[l] = stage
    w.was_rejected[l] = 0
    w.last_error[l] = -1.0
    w.returns[l] = 0
    forget(w, l)
    load_stage(w, b, l, n, stage)
    gates_from_state(w, b, l)
    refresh(w, l)
    terminal = b.ends_on[stage]
    for e in range(b.n_events):
        value = b.directions[e] * (w.at_start[b.watches[e] * LANES + l] - b.thresholds[n * b.n_events + e])
        is_first_look = e == terminal or w.t[l] == b.start[n]
        if value > 0.0 and is_first_look != 0:
            record_event(w, b, l, e, w.t[l], w.y)
    orient(w, b, l)
    w.proposed[l] = starting_step(w, l)


def forget(w: Workspace, l: i64) -> None:
    """Implicit steps before this one tell nothing about the next."""
    w.has_tried[l] = 0
    w.has_history[l] = 0
    w.norm[l] = 0.0
    w.age[l] = 0.0


def load_stage(w: Workspace, b: Batch, l: i64, n: i64, stage: i64) -> None:
    """Parameters, tables and links of a stage into a lane."""
    parameters = b.parameters + stage * b.n_parameters * (b.n if b.parameters_stride != 0 else 1)
    for p in range(b.n_parameters):
        w.constants[p * LANES + l] = parameters[n * b.parameters_stride + p]
    w.constants[b.n_parameters * LANES + l] = b.kink_width[n]
    data = b.data + stage * b.data_size * (b.n if b.data_stride != 0 else 1)
    for i in range(b.data_size):
        w.constants[(b.n_parameters + 1 + i) * LANES + l] = data[n * b.data_stride + i]
