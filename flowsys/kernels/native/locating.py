"""Crossings inside a step, found by exact steps from the step's start to trial times.

First what decides where the step ends: the earliest kink, end of a slide or end of the stage. Then, in the step that is
about to be taken, every event that was asked for, one after the other, by itself; and after them the times to look at.
Events and looks are seen on the way: the step is made again, with the same bits, and taken. So neither changes what
the trajectory does, nor what others see; and once all has been seen, it ends there.
"""

from flowsys.kernels.native.bracketing import first_crossed, keep_other, next_trial
from flowsys.kernels.native.constants import (
    CONFIRMING,
    EPSILON,
    FORCED,
    GOES_ON,
    LANES,
    LOCATING,
    NONE,
    STEPPING,
    STEPS,
)
from flowsys.kernels.native.intrinsics import dense_output, fabs, fmax, fmin
from flowsys.kernels.native.kinks import meet_kink
from flowsys.kernels.native.ledger import is_requested, record_event
from flowsys.kernels.native.looking import come_back, ends_at, has_seen_all, looks_again, side_step
from flowsys.kernels.native.slides import leave_surface
from flowsys.kernels.native.stages import settle
from flowsys.kernels.native.stepping import move
from flowsys.kernels.native.watching import (
    first_suspect,
    has_fired,
    hides_a_crossing,
    look_inside,
    orient,
    orient_to,
    oriented,
    watch,
)
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

# halvings of a step on its polynomial
HALVINGS = 60


def begin_search(w: Workspace, b: Batch, l: i64, suspect: f64) -> i64:
    """Look for the first crossing in the step that stands: where one is suspected, or from its end."""
    w.full[l] = w.step[l]
    w.full_clipped[l] = w.clipped[l]
    w.clipped[l] = 0
    w.low[l] = 0.0
    w.trials[l] = 0
    for i in range(w.n_watched):
        w.at_low[i * LANES + l] = w.at_start[i * LANES + l]
    if suspect > 0.0:
        w.mode[l] = CONFIRMING
        w.step[l] = suspect * w.full[l]
        return 1
    w.mode[l] = LOCATING
    return tried(w, b, l)


def tried(w: Workspace, b: Batch, l: i64) -> i64:
    """A trial inside the step: narrow the bracket [low, high], or stop here."""
    s = w.step[l]
    w.trials[l] += 1
    tolerance = 4.0 * EPSILON * fmax(fabs(w.t[l] + s), 1e-300)
    earliest = s
    fires = 0
    near = 0
    for i in range(w.n_watched):
        p = i * LANES + l
        g = oriented(w, w.at_end, p)
        before = oriented(w, w.at_low, p)
        if has_fired(w, w.at_low, w.at_end, i, l) != 0:
            root = w.low[l]
            if before < 0.0:
                root = s - (s - w.low[l]) * (g / (g - before))
            fires += 1
            earliest = fmin(earliest, root)
        elif before < g and g <= 0.0 and -g * (s - w.low[l]) <= tolerance * (g - before):
            near = 1
    if w.mode[l] == CONFIRMING:
        if fires == 0:
            return false_alarm(w, l)
        w.mode[l] = LOCATING
        w.trials[l] = 1
    if fires > 0 and (earliest >= s - tolerance or s - w.low[l] <= tolerance):
        return arrived(w, b, l, s)
    if fires == 0 and near != 0 and w.trials[l] > 1:
        return arrived(w, b, l, s)
    if fires > 0:
        if w.trials[l] > 1:
            keep_other(w, w.at_high, w.high[l], l)
        w.high[l] = s
        for i in range(w.n_watched):
            w.at_high[i * LANES + l] = w.at_end[i * LANES + l]
        if w.trials[l] == 1:
            keep_other(w, w.at_end, s, l)
    else:
        keep_other(w, w.at_low, w.low[l], l)
        w.low[l] = s
        for i in range(w.n_watched):
            w.at_low[i * LANES + l] = w.at_end[i * LANES + l]
    w.step[l] = next_trial(w, l, tolerance)
    return 1


def false_alarm(w: Workspace, l: i64) -> i64:
    """Nothing crosses: make the step again and take it, or go on looking."""
    if w.sought[l] != NONE:
        return come_back(w, l)
    w.mode[l] = FORCED
    w.step[l] = w.full[l]
    w.clipped[l] = w.full_clipped[l]
    return 1


def arrived(w: Workspace, b: Batch, l: i64, s: f64) -> i64:
    """At a crossing: the event that was sought is seen, or the step about to be taken ends here."""
    if w.sought[l] != NONE:
        return sees(w, b, l, w.t[l] + s, w.y_new)
    w.clipped[l] = 1 if s == w.full[l] and w.full_clipped[l] != 0 else 0
    which = first_crossed(w, l, s)
    w.crossed_event[l] = NONE
    w.crossed_kink[l] = which if which >= w.n_observed else NONE
    for i in range(w.n_watched):
        has_crossed = i == which
        if has_fired(w, w.at_low, w.at_end, i, l) != 0:
            has_crossed = 1
        if has_crossed != 0 and i < w.n_observed:
            w.crossed_event[l] = b.ends_on[w.stage[l]]
        if has_crossed != 0 and i >= w.n_observed and w.crossed_kink[l] == NONE:
            w.crossed_kink[l] = i
    found = inspect(w, b, l, 1)
    return found if found != GOES_ON else arrive(w, b, l)


def inspect(w: Workspace, b: Batch, l: i64, arrives: i64) -> i64:
    """See what was asked for inside the step that stands and is about to be taken (`arrives`: to a crossing)."""
    w.taken[l] = w.step[l]
    w.taken_clipped[l] = w.clipped[l]
    w.arrives[l] = arrives
    w.look_failed[l] = 0
    w.search_failed[l] = 0
    w.latest[l] = w.t[l]
    return seek(w, b, l, 0)


def seek(w: Workspace, b: Batch, l: i64, first: i64) -> i64:
    """Set out to the next event, from number `first` on, or time inside the step; GOES_ON if there is none."""
    n = w.trajectory[l]
    terminal = b.ends_on[w.stage[l]]
    for e in range(first, b.n_events):
        if b.reached[n * b.n_events + e] == 0 and e != terminal and is_requested(w, b, l, e) != 0:
            i = b.watches[e]
            watch(w, b, l, e)
            has_come = has_fired(w, w.at_start, w.at_end, i, l)
            hides = hides_a_crossing(w, i * LANES + l)
            if has_come != 0 or hides != 0:
                orient_to(w, b, l, e)
                suspect = 0.0
                if hides != 0:
                    suspect = first_suspect(w, l)
                if suspect > 0.0 or has_come != 0:
                    w.sought[l] = e
                    return begin_search(w, b, l, suspect)
    w.sought[l] = NONE
    orient(w, b, l)
    return 1 if side_step(w, b, l) != 0 else GOES_ON


def sees(w: Workspace, b: Batch, l: i64, t: f64, states: Doubles) -> i64:
    """Record the event that was sought; then back to the step, unless that was all."""
    record_event(w, b, l, w.sought[l], t, states)
    if t >= w.latest[l]:
        w.latest[l] = t
        for j in range(w.dim):
            w.latest_y[j * LANES + l] = states[j * LANES + l]
    if has_seen_all(w, b, l) != 0:
        w.sought[l] = NONE
        return ends_at(w, b, l, w.latest[l], w.latest_y)
    return come_back(w, l)


def came_back(w: Workspace, b: Batch, l: i64) -> i64:
    """The step stands again: on to what else is to be seen; GOES_ON if it is to be taken now."""
    if w.sought[l] == NONE:
        return looks_again(w, b, l)
    if w.search_failed[l] != 0:
        w.search_failed[l] = 0
        return sees_on_polynomial(w, b, l)
    return seek(w, b, l, w.sought[l] + 1)


def sees_on_polynomial(w: Workspace, b: Batch, l: i64) -> i64:
    """Where a trial failed, though it is shorter than a step that did not, the polynomial of the step tells."""
    e = w.sought[l]
    orient_to(w, b, l, e)
    dense_output(w)
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        look_inside(w, l, middle, w.at_inside)
        if oriented(w, w.at_inside, b.watches[e] * LANES + l) < 0.0:
            low = middle
        else:
            high = middle
    look_inside(w, l, high, w.at_inside)
    if has_fired(w, w.at_start, w.at_inside, b.watches[e], l) != 0:
        return sees(w, b, l, w.t[l] + high * w.step[l], w.y_stage)
    return seek(w, b, l, e + 1)


def arrive(w: Workspace, b: Batch, l: i64) -> i64:
    """Take the step to the crossing: the end of the stage is recorded, a kink or the end of a slide dealt with."""
    w.mode[l] = STEPPING
    move(w, l)
    w.counts[STEPS * LANES + l] += 1
    if w.crossed_event[l] != NONE:
        record_event(w, b, l, w.crossed_event[l], w.t[l], w.y)
    if w.crossed_kink[l] != NONE:
        # beyond a kink the last error predicts nothing
        w.last_error[l] = 0.0
        g = w.crossed_kink[l] - w.n_observed
        if w.members[g * LANES + l] != 0.0:
            leave_surface(w, b, l, g)
        elif meet_kink(w, b, l, g) == 0:
            return 0
    orient(w, b, l)
    return settle(w, b, l)
