"""Times to look at: each is reached by a side step from the start of the step it falls into.

A step is chosen as if nobody looked. When it is about to be taken (`locating.inspect`), the times inside it are looked
at, each by a step of its own from the same start; then it is made again, with the same bits, and taken.
"""

from flowsys.kernels.native.constants import COMPLETED, GOES_ON, LANES, LOOKING, RETURNING, STEPS
from flowsys.kernels.native.implicit import inside
from flowsys.kernels.native.intrinsics import dense_output, interpolate
from flowsys.kernels.native.ledger import finish, record_look
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

NO_MORE = 1e300


def next_look(w: Workspace, b: Batch, l: i64) -> f64:
    """The next time to look at."""
    if w.next_time[l] >= b.n_times:
        return NO_MORE
    return b.times[w.trajectory[l] * b.times_stride + w.next_time[l]]


def side_step(w: Workspace, b: Batch, l: i64) -> i64:
    """Set out to the next time inside the step; 0 if there is none."""
    end = w.target[l] if w.taken_clipped[l] != 0 else w.t[l] + w.taken[l]
    look = next_look(w, b, l)
    if not (look < end):
        return 0
    w.mode[l] = LOOKING
    w.step[l] = look - w.t[l]
    w.clipped[l] = 0
    return 1


def looked(w: Workspace, b: Batch, l: i64) -> i64:
    """After a side step: record what it shows, and go on to the next, or back; 0 if the trajectory is over.

    A side step that fails, though it is shorter than one that did not, gives way to the polynomial of the whole step.
    """
    if not (w.error[l] <= 1.0):
        w.look_failed[l] = 1
        return come_back(w, l)
    look = next_look(w, b, l)
    while next_look(w, b, l) == look:
        record_look(w, b, l, w.y_new)
    if has_seen_all(w, b, l) != 0:
        return ends_at(w, b, l, look, w.y_new)
    if side_step(w, b, l) != 0:
        return 1
    return come_back(w, l)


def has_seen_all(w: Workspace, b: Batch, l: i64) -> i64:
    return 1 if w.next_time[l] >= b.n_times and w.pending[l] == 0 else 0


def ends_at(w: Workspace, b: Batch, l: i64, look: f64, states: Doubles) -> i64:
    """The trajectory is over with its last look, in the state given, or with an event seen before that lies later."""
    is_later = w.latest[l] > look
    w.t[l] = w.latest[l] if is_later else look
    for j in range(w.dim):
        p = j * LANES + l
        w.y[p] = w.latest_y[p] if is_later else states[p]
    w.counts[STEPS * LANES + l] += 1
    return finish(w, b, l, COMPLETED)


def come_back(w: Workspace, l: i64) -> i64:
    """Make the step again that was about to be taken."""
    w.mode[l] = RETURNING
    w.step[l] = w.taken[l]
    w.clipped[l] = w.taken_clipped[l]
    return 1


def looks_again(w: Workspace, b: Batch, l: i64) -> i64:
    """The step stands again: look on its polynomial where a side step failed.

    GOES_ON if the step is to be taken now, 1 if other looks are to come first, 0 if that was the last one.
    """
    if w.look_failed[l] == 0:
        return GOES_ON
    w.look_failed[l] = 0
    dense_output(w)
    look = next_look(w, b, l)
    w.fraction[l] = (look - w.t[l]) / w.step[l]
    interpolate(w)
    if w.is_implicit[l] != 0:
        inside(w, l, w.fraction[l], w.y_stage, l)
    while next_look(w, b, l) == look:
        record_look(w, b, l, w.y_stage)
    if has_seen_all(w, b, l) != 0:
        return ends_at(w, b, l, look, w.y_stage)
    return 1 if side_step(w, b, l) != 0 else GOES_ON
