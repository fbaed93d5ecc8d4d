"""What is written down of a trajectory: its events and looks, its switches and slides, and how it ended."""

from flowsys.kernels.native.constants import EMPTY, LANES, N_COUNTS, SLIDES
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64


def is_requested(w: Workspace, b: Batch, l: i64, e: i64) -> i64:
    """Whether the lane's trajectory must reach event e: where the threshold is no number, nothing is asked for."""
    threshold = b.thresholds[w.trajectory[l] * b.n_events + e]
    return b.requested[e] if threshold == threshold else 0


def record_event(w: Workspace, b: Batch, l: i64, e: i64, t: f64, states: Doubles) -> None:
    """An event has come at a time, in the state given."""
    n = w.trajectory[l]
    place = n * b.n_events + e
    if b.reached[place] == 0:
        b.reached[place] = 1
        b.event_times[place] = t
        b.event_stages[place] = w.stage[l]
        b.event_slides[place] = w.counts[SLIDES * LANES + l]
        for j in range(w.dim):
            b.event_states[place * w.dim + j] = states[j * LANES + l]
        w.pending[l] -= b.requested[e]


def record_look(w: Workspace, b: Batch, l: i64, states: Doubles) -> None:
    """The next time to look at has come, in the state given."""
    n = w.trajectory[l]
    place = n * b.n_times + w.next_time[l]
    b.time_stages[place] = w.stage[l]
    b.time_slides[place] = w.counts[SLIDES * LANES + l]
    for j in range(w.dim):
        b.time_states[place * w.dim + j] = states[j * LANES + l]
    w.next_time[l] += 1


def finish(w: Workspace, b: Batch, l: i64, outcome: i64) -> i64:
    """Write down how and where a trajectory ended."""
    n = w.trajectory[l]
    b.outcome[n] = outcome
    b.final_t[n] = w.t[l]
    b.final_stage[n] = w.stage[l]
    for j in range(w.dim):
        b.final_y[n * w.dim + j] = w.y[j * LANES + l]
    if b.keeps_gates != 0:
        for g in range(w.n_gates):
            b.final_gates[n * w.n_gates + g] = w.gates[g * LANES + l]
    for c in range(N_COUNTS):
        b.statistics[n * N_COUNTS + c] = w.counts[c * LANES + l]
    end_slides(w, b, l)
    w.mode[l] = EMPTY
    w.step[l] = 0.0
    return 0


def log_entry(w: Workspace, b: Batch, l: i64, kind: f64, members: i64) -> None:
    """Note a switch (0), or on how many surfaces the flow slides from here on (-1: none); when, and how many gates."""
    n = w.trajectory[l]
    if b.log_counts[n] < b.log_size:
        place = 3 * (n * b.log_size + b.log_counts[n])
        b.log[place] = kind
        b.log[place + 1] = w.t[l]
        b.log[place + 2] = members
        b.log_counts[n] += 1


def log_slide(w: Workspace, b: Batch, l: i64) -> None:
    n = w.slides[l]
    log_entry(w, b, l, n if n > 0 else -1, count_members(w, w.members, l))


def end_slides(w: Workspace, b: Batch, l: i64) -> None:
    """The lane slides no more, whatever it slid on."""
    if w.slides[l] != 0:
        w.slides[l] = 0
        w.n_sliding -= 1
        log_slide(w, b, l)
        for g in range(w.n_gates):
            w.members[g * LANES + l] = 0.0


def count_members(w: Workspace, surface: Doubles, l: i64) -> i64:
    found = 0
    for g in range(w.n_gates):
        if surface[g * LANES + l] > 0.0:
            found += 1
    return found
