"""The event-driven driver: every lane walks its own trajectory, all lanes step together.

One round tries one step in every lane (`attempt`), then each lane decides for itself what the result means. A lane
steps, or is locating a crossing inside an accepted step; stages, kinks and sliding are dealt with where they occur.
Lanes whose flow is stiff make implicit steps, one lane after the other, with all lanes at the service of each. A lane
whose trajectory ends takes the next one of the batch. No decision looks at another lane, so results do not depend on
which trajectories travel together. Stages, events, kinks and sliding mean what they mean in
`flowsys.integrate.driver`; when to give up is told otherwise (chatter by kinks that hurry), and going on from there is
left to the caller.
"""

from flowsys.kernels.native.choosing import PATIENCE, back_to_explicit, consider, reconsider, work_of_step
from flowsys.kernels.native.constants import (
    AUTO,
    DROWNED,
    EMPTY,
    EPSILON,
    EVALUATIONS,
    FORCED,
    GOES_ON,
    IMPLICIT,
    IMPLICIT_STEPS,
    LANES,
    LOOKING,
    N_COUNTS,
    NONE,
    NOT_FINITE,
    REJECTED,
    RETURNING,
    STEP_BUDGET,
    STEP_TOO_SMALL,
    STEPPING,
    STEPS,
    TRIALS,
)
from flowsys.kernels.native.drowning import NOW_AND_THEN, drowns
from flowsys.kernels.native.field import evaluate_watched, pull_back
from flowsys.kernels.native.implicit import implicit_step
from flowsys.kernels.native.intrinsics import attempt, fabs, fmax, fmin, invoke, stiffness, take_next
from flowsys.kernels.native.ledger import finish, is_requested
from flowsys.kernels.native.locating import arrive, begin_search, came_back, inspect, tried
from flowsys.kernels.native.looking import come_back, looked, next_look
from flowsys.kernels.native.stages import enter_stage, load_stage, settle
from flowsys.kernels.native.stepping import eighth_root, move, set_step, starting_step
from flowsys.kernels.native.watching import any_fired, first_suspect, may_hide_a_crossing
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import f64, i64

# a step may shrink or grow by these factors (HNW II.4)
SMALLEST, LARGEST, SAFETY = 0.333, 6.0, 0.9
LARGEST_AT_FIRST = 1000.0
# errors of the last step that count for the prediction, and from which on it is made at all
SMALLEST_ERROR, ERROR_MATTERS = 1e-2, 1e-4


def run(w: Workspace, s: Workspace, b: Batch) -> None:
    """Work until the batch is used up; `s` has all its lanes for the implicit step of one trajectory."""
    active = 0
    s.trajectory[0] = -1
    for l in range(LANES):
        w.mode[l] = EMPTY
        active += take(w, b, l)
    while active > 0 and b.stop[0] == 0:
        explicit = 0
        for l in range(LANES):
            if w.mode[l] != EMPTY and w.is_implicit[l] == 0:
                explicit = 1
        if explicit != 0:
            attempt(w)
        good = 0
        for l in range(LANES):
            if w.mode[l] != EMPTY and w.is_implicit[l] != 0:
                implicit_step(w, s, l)
                if w.mode[l] != LOOKING and w.mode[l] != RETURNING and w.sought[l] == NONE:
                    w.spent[l] += work_of_step(w, w.iterations[l])
            if w.mode[l] != EMPTY and w.error[l] <= 1.0:
                good = 1
        if good != 0:
            evaluate_watched(w, w.y_new, w.k + 12 * w.dim * LANES, w.at_end)
            if explicit != 0:
                stiffness(w)
            if w.n_sliding > 0:
                pull_back(w)
        for l in range(LANES):
            if w.mode[l] != EMPTY:
                w.counts[EVALUATIONS * LANES + l] += 12 if w.is_implicit[l] == 0 else 1
                if after_attempt(w, b, l) == 0:
                    active += take(w, b, l) - 1


def take(w: Workspace, b: Batch, l: i64) -> i64:
    """Put the next trajectory into a lane: 1, or 0 if there is none left."""
    w.mode[l] = EMPTY
    w.step[l] = 0.0
    while b.stop[0] == 0:
        n = take_next(b.next)
        if n >= b.n:
            break
        w.trajectory[l] = n
        w.t[l] = b.start[n]
        w.rtol[l] = b.rtol[n]
        w.atol[l] = b.atol[n]
        w.next_time[l] = 0
        w.sought[l] = NONE
        w.stiff_steps[l] = 0
        w.calm_steps[l] = 0
        w.patience[l] = PATIENCE
        w.is_implicit[l] = 1 if b.method == IMPLICIT else 0
        for c in range(N_COUNTS):
            w.counts[c * LANES + l] = 0
        for j in range(w.dim):
            w.y[j * LANES + l] = b.initial[n * w.dim + j]
        w.pending[l] = 0
        for e in range(b.n_events):
            w.pending[l] += is_requested(w, b, l, e)
        enter_stage(w, b, l, 0)
        if settle(w, b, l) != 0:
            return 1
    return 0


def after_attempt(w: Workspace, b: Batch, l: i64) -> i64:
    """What a tried step means for its lane; 0 if the trajectory is over."""
    counts = w.counts
    made = counts[STEPS * LANES + l] + counts[REJECTED * LANES + l] + counts[TRIALS * LANES + l]
    if made >= b.max_steps:
        return finish(w, b, l, STEP_BUDGET)
    if w.mode[l] == STEPPING:
        if made % NOW_AND_THEN == 0 and w.is_implicit[l] == 0 and drowns(w, b, l, b.max_steps - made) != 0:
            return finish(w, b, l, DROWNED)
        if w.error[l] <= 1.0:
            return accepted(w, b, l)
        return rejected(w, b, l)
    if w.mode[l] == LOOKING:
        return looked(w, b, l)
    if w.mode[l] == RETURNING:
        again = came_back(w, b, l)
        if again != GOES_ON:
            return again
        return arrive(w, b, l) if w.arrives[l] != 0 else taken(w, b, l)
    if w.sought[l] != NONE:
        if w.error[l] <= 1.0:
            return tried(w, b, l)
        w.search_failed[l] = 1
        return come_back(w, l)
    counts[TRIALS * LANES + l] += 1
    if w.mode[l] == FORCED:
        w.mode[l] = STEPPING
        return advance(w, b, l)
    if not (w.error[l] <= 1.0):
        # a shorter step than an accepted one that fails: forget the crossing and take the shorter step's word
        w.mode[l] = STEPPING
        return rejected(w, b, l)
    return tried(w, b, l)


def rejected(w: Workspace, b: Batch, l: i64) -> i64:
    w.counts[REJECTED * LANES + l] += 1
    error = w.error[l]
    factor = 0.2
    if error < 1e30:
        factor = fmax(SMALLEST, SAFETY / eighth_root(error))
    w.was_rejected[l] = 1
    if w.last_error[l] < 0.0:
        w.last_error[l] = 0.0
    h = w.step[l] * factor
    if w.is_implicit[l] != 0 and w.is_drowned[l] != 0:
        return finish(w, b, l, DROWNED)
    if h <= EPSILON * fabs(w.t[l]) or h < 1e-300:
        if w.is_implicit[l] != 0 and b.method == AUTO and error < 1e30:
            # a kink that implicit steps cannot get past may be no obstacle to explicit ones
            back_to_explicit(w, b, l)
            h = starting_step(w, l)
            w.proposed[l] = h
            w.step[l] = h
            set_step(w, l)
            return 1
        return finish(w, b, l, STEP_TOO_SMALL if error < 1e30 else NOT_FINITE)
    w.proposed[l] = h
    w.step[l] = h
    w.clipped[l] = 0
    return 1


def growth(w: Workspace, l: i64) -> f64:
    """By how much the next step may differ from the one just accepted.

    The smaller of what the error alone suggests and Gustafsson's prediction from the last two steps (Hairer & Wanner,
    Solving ODEs II, IV.8), so that a rising error does not cost a rejection at every other step. Until the error first
    matters, a step that started too small may grow fast.
    """
    error = w.error[l]
    largest = LARGEST
    if w.last_error[l] < 0.0:
        largest = LARGEST_AT_FIRST
    grown = largest
    if error > 1e-30:
        root = eighth_root(error)
        grown = fmin(largest, fmax(SMALLEST, SAFETY / root))
        if w.last_error[l] > 0.0:
            predicted = SAFETY * (w.step[l] / w.last_step[l]) * eighth_root(w.last_error[l]) / (root * root)
            grown = fmin(grown, fmax(SMALLEST, predicted))
    if w.was_rejected[l] != 0:
        grown = fmin(grown, 1.0)
    w.was_rejected[l] = 0
    if error > ERROR_MATTERS or w.last_error[l] > 0.0:
        w.last_error[l] = fmax(error, SMALLEST_ERROR)
        w.last_step[l] = w.step[l]
    return grown


def accepted(w: Workspace, b: Batch, l: i64) -> i64:
    """A step within tolerance: go on, unless something may have happened inside it."""
    grown = growth(w, l)
    natural = w.step[l] * grown
    if w.is_implicit[l] != 0:
        natural = fmin(natural, w.limit[l])
    # a step cut short to land on its target says nothing about the next one's size
    w.proposed[l] = fmax(natural, w.proposed[l]) if w.clipped[l] != 0 else natural
    fired = any_fired(w, w.at_start, w.at_end, l)
    suspect = 0.0
    if may_hide_a_crossing(w, l) != 0:
        suspect = first_suspect(w, l)
    if fired == 0 and suspect == 0.0:
        return advance(w, b, l)
    return begin_search(w, b, l, suspect)


def advance(w: Workspace, b: Batch, l: i64) -> i64:
    """Take the step just made, after all that was asked for inside it."""
    found = inspect(w, b, l, 0)
    return found if found != GOES_ON else taken(w, b, l)


def taken(w: Workspace, b: Batch, l: i64) -> i64:
    """Move to the end of the step just made."""
    w.mode[l] = STEPPING
    move(w, l)
    w.counts[STEPS * LANES + l] += 1
    if w.is_implicit[l] != 0:
        w.counts[IMPLICIT_STEPS * LANES + l] += 1
        reconsider(w, b, l)
    else:
        consider(w, b, l)
    if w.clipped[l] != 0 or next_look(w, b, l) <= w.t[l]:
        return settle(w, b, l)
    set_step(w, l)
    return 1


def observe(w: Workspace, s: Workspace, b: Batch) -> None:
    """Watched observables at given states (`initial`, in stage `final_stage`), into `event_times`."""
    while b.stop[0] == 0:
        first = take_next(b.next) * LANES
        if first >= b.n:
            break
        for l in range(LANES):
            n = first + l if first + l < b.n else b.n - 1
            load_stage(w, b, l, n, b.final_stage[n])
            for j in range(w.dim):
                w.y[j * LANES + l] = b.initial[n * w.dim + j]
        invoke(w.watched, w.y, w.spare, w.spare_values, w.constants, w.gates, w.scratch, w.layout, w.indices)
        for l in range(LANES):
            if first + l < b.n:
                for i in range(w.n_observed):
                    b.event_times[(first + l) * w.n_observed + i] = w.spare_values[i * LANES + l]
