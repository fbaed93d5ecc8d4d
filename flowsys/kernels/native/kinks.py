"""Kinks: which gates share a surface, which side the flow goes on to, and sliding where both sides point back.

A flow that slides may meet a second surface. It goes through where the flow beyond goes on as well; where that points
back, it would slide on both at once, which is left to others (`SECOND_SURFACE`).
"""

from flowsys.kernels.native.constants import EPSILON, EVALUATIONS, KINKS, LANES, SECOND_SURFACE, SLIDES, STEP_BUDGET
from flowsys.kernels.native.field import refresh
from flowsys.kernels.native.intrinsics import fabs, fmax, invoke
from flowsys.kernels.native.ledger import count_members, finish, log_entry
from flowsys.kernels.native.stepping import starting_step
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

# gates whose switching functions agree this closely (in value and velocity) share one surface
SAME_SURFACE = 1e-9
ON_SURFACE = 1e-14
# so often in a row may a surface be met again in no time before the flow is said to slide
MAX_RETURNS = 3
# so many kinks in a row, each within HURRY of the time of the one before, mean sliding on several surfaces at once
MAX_HURRIED = 40
HURRY = 1e-10
NEVER = -1e300


def gates_from_state(w: Workspace, b: Batch, l: i64) -> None:
    """Open where the switching function is positive; on a surface, the side the flow points to."""
    for g in range(w.n_gates):
        w.gates[g * LANES + l] = 1.0
        w.members[g * LANES + l] = 0.0
        w.crossed[g * LANES + l] = 0.0
    w.hurried[l] = 0
    w.crossed_time[l] = NEVER
    if w.n_gates > 0:
        refresh(w, l)
        for g in range(w.n_gates):
            h = w.at_start[(w.n_events + g) * LANES + l]
            w.gates[g * LANES + l] = 1.0 if h > 0.0 else 0.0
        for g in range(w.n_gates):
            h = w.at_start[(w.n_events + g) * LANES + l]
            if fabs(h) <= ON_SURFACE and w.members[g * LANES + l] == 0.0 and w.slides[l] == 0:
                refresh(w, l)
                find_surface(w, l, g, w.members)
                choose_side(w, b, l, g)


def find_surface(w: Workspace, l: i64, g: i64, surface: Doubles) -> f64:
    """All gates that share the surface of gate g: same value, and same velocity up to the number returned."""
    invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
    w.counts[EVALUATIONS * LANES + l] += 1
    h = w.at_start + w.n_events * LANES
    v = w.v_now
    largest_h = 0.0
    largest_v = 0.0
    for i in range(w.n_gates):
        largest_h = fmax(largest_h, fabs(h[i * LANES + l]))
        largest_v = fmax(largest_v, fabs(v[i * LANES + l]))
    p = g * LANES + l
    same_velocity = SAME_SURFACE * (1.0 + largest_v)
    for i in range(w.n_gates):
        q = i * LANES + l
        same = fabs(h[q] - h[p]) <= SAME_SURFACE * (1.0 + largest_h)
        surface[q] = 1.0 if same != 0 and fabs(v[q] - v[p]) <= same_velocity else 0.0
    return same_velocity


def meet_kink(w: Workspace, b: Batch, l: i64, g: i64) -> i64:
    """A switching function reached zero; 0 if the trajectory ends here."""
    w.counts[KINKS * LANES + l] += 1
    if w.counts[KINKS * LANES + l] > b.max_kinks:
        return finish(w, b, l, STEP_BUDGET)
    surface = w.second if w.slides[l] != 0 else w.members
    same_velocity = find_surface(w, l, g, surface)
    log_entry(w, b, l, 0.0, count_members(w, surface, l))
    w.hurried[l] = w.hurried[l] + 1 if w.t[l] - w.crossed_time[l] <= HURRY * fabs(w.t[l]) else 0
    if w.hurried[l] > MAX_HURRIED:
        return finish(w, b, l, SECOND_SURFACE)
    if w.slides[l] != 0:
        w.crossed_time[l] = w.t[l]
        if goes_through(w, b, l, g, same_velocity) != 0:
            return 1
        return finish(w, b, l, SECOND_SURFACE)
    w.returns[l] = w.returns[l] + 1 if is_back_at_once(w, l, g) != 0 else 0
    if w.returns[l] > MAX_RETURNS:
        w.returns[l] = 0
        begin_slide(w, b, l, g)
    else:
        choose_side(w, b, l, g)
    w.crossed_time[l] = w.t[l]
    for i in range(w.n_gates):
        w.crossed[i * LANES + l] = w.members[i * LANES + l]
    return 1


def is_back_at_once(w: Workspace, l: i64, g: i64) -> i64:
    """Whether the flow returned to the surface it has just left, in no time.

    It does, again and again, where a side holds it off the surface by less than rounding: both sides then point back.
    """
    if w.crossed[g * LANES + l] > 0.0 and w.t[l] - w.crossed_time[l] <= 8.0 * EPSILON * fabs(w.t[l]):
        return 1
    return 0


def choose_side(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """On a surface: go on to the side the flow points to, or slide where both sides point back.

    The slope and the surface's velocity under the present gates are known (`k`, `v_now`); the other side is tried.
    """
    gate = w.gates[g * LANES + l]
    is_mixed = 0
    for i in range(w.n_gates):
        p = i * LANES + l
        if w.members[p] > 0.0 and w.gates[p] != gate:
            is_mixed = 1
    if is_mixed != 0:
        set_gates(w, l, w.members, gate)
        invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
    for i in range(w.n_gates * LANES):
        w.gates_on[i] = w.gates[i]
    for i in range(w.n_gates):
        if w.members[i * LANES + l] > 0.0:
            w.gates_on[i * LANES + l] = 1.0 - gate
    other = w.gates_on
    invoke(w.watched, w.y, w.spare, w.spare_values, w.constants, other, w.scratch, w.layout, w.indices)
    invoke(w.velocity, w.y, w.spare, w.v_on, w.constants, other, w.scratch, w.layout, w.indices)
    w.counts[EVALUATIONS * LANES + l] += 2
    here = w.v_now[g * LANES + l]
    there = w.v_on[g * LANES + l]
    v_on = here if gate > 0.0 else there
    v_off = there if gate > 0.0 else here
    if v_on < 0.0 and v_off > 0.0:
        begin_slide(w, b, l, g)
        return
    is_open = v_on > 0.0 and (v_off > 0.0 or gate == 0.0)
    if v_on <= 0.0 and v_off >= 0.0:
        is_open = gate == 0.0
    if is_open != (gate > 0.0):
        cross(w, l)


def goes_through(w: Workspace, b: Batch, l: i64, g: i64, same_velocity: f64) -> i64:
    """Take a sliding flow through the surface of gate g (`second`); 0 if it does not go through.

    It does if it moves off that surface beyond as it arrives at it here. Beyond, the first surface still holds it,
    with another share of its sides, or lets it go at once. Motion within `same_velocity` is none: the two surfaces are
    then one, as far as the flow can tell.
    """
    p = g * LANES + l
    gate = w.gates[p]
    onward = -1.0 if gate > 0.0 else 1.0
    arrives = onward * w.v_now[p]
    set_gates(w, l, w.second, 1.0 - gate)
    # what is watched last tells which side of the first surface, if any, lets go
    lets_go = w.at_start + (w.n_events + w.n_gates) * LANES
    if lets_go[l] > 0.0 or lets_go[LANES + l] > 0.0:
        leave_surface(w, b, l, 1.0 if lets_go[l] > 0.0 else 0.0)
    invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
    w.counts[EVALUATIONS * LANES + l] += 1
    if arrives > same_velocity and onward * w.v_now[p] > same_velocity:
        w.proposed[l] = starting_step(w, l)
        return 1
    set_gates(w, l, w.second, gate)
    return 0


def begin_slide(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """Follow the surface of gate g from here on."""
    w.slides[l] = 1
    w.n_sliding += 1
    w.representative[l] = g
    w.counts[SLIDES * LANES + l] += 1
    log_entry(w, b, l, 1.0, count_members(w, w.members, l))
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)


def cross(w: Workspace, l: i64) -> None:
    """To the other side, where the slope and the watched values have just been looked at."""
    for i in range(w.n_gates):
        w.gates[i * LANES + l] = w.gates_on[i * LANES + l]
    for j in range(w.dim):
        w.k[j * LANES + l] = w.spare[j * LANES + l]
    for i in range(w.n_events + w.n_gates):
        w.at_start[i * LANES + l] = w.spare_values[i * LANES + l]


def leave_surface(w: Workspace, b: Batch, l: i64, gate: f64) -> None:
    log_entry(w, b, l, -1.0, count_members(w, w.members, l))
    w.slides[l] = 0
    w.n_sliding -= 1
    for i in range(w.n_gates):
        w.crossed[i * LANES + l] = 0.0
    set_gates(w, l, w.members, gate)


def set_gates(w: Workspace, l: i64, surface: Doubles, gate: f64) -> None:
    """Switch the gates of a surface, and look at the state again."""
    for i in range(w.n_gates):
        if surface[i * LANES + l] > 0.0:
            w.gates[i * LANES + l] = gate
    refresh(w, l)
