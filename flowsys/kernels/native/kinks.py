"""Kinks: which gates share a surface, and which side the flow goes on to; where both sides point back, it slides.

A flow that slides may meet further surfaces (`flowsys.kernels.native.slides`).
"""

from flowsys.kernels.native.constants import (
    ALONE,
    CANNOT_SLIDE,
    EPSILON,
    EVALUATIONS,
    HURRY,
    KINKS,
    LANES,
    MAX_HURRIED,
    MAX_RETURNS,
    NEVER,
    ON_SURFACE,
    SAME_SURFACE,
    STEP_BUDGET,
)
from flowsys.kernels.native.field import refresh
from flowsys.kernels.native.intrinsics import fabs, fmax, invoke
from flowsys.kernels.native.ledger import count_members, finish, log_entry
from flowsys.kernels.native.slides import begin_slide, meet_together, set_gates, touches_another
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import f64, i64


def gates_from_state(w: Workspace, b: Batch, l: i64) -> None:
    """Open where the switching function is positive; on a surface, the side the flow points to."""
    for g in range(w.n_gates):
        w.gates[g * LANES + l] = 1.0
        w.members[g * LANES + l] = 0.0
        w.crossed[g * LANES + l] = 0.0
    w.hurried[l] = 0
    w.crossed_time[l] = NEVER
    if w.n_gates > 0:
        # a gate that stands behind others is known once these are right
        changes = 1.0
        while changes > 0.0:
            changes = 0.0
            refresh(w, l)
            for g in range(w.n_gates):
                h = w.at_start[(w.n_observed + g) * LANES + l]
                gate = 1.0 if h > 0.0 else 0.0
                changes += fabs(gate - w.gates[g * LANES + l])
                w.gates[g * LANES + l] = gate
                # not yet dealt with
                w.crossed[g * LANES + l] = 1.0 if fabs(h) <= ON_SURFACE else 0.0
        for g in range(w.n_gates):
            if w.crossed[g * LANES + l] > 0.0:
                refresh(w, l)
                same_velocity = find_surface(w, l, g)
                met = ALONE
                if w.slides[l] > 0 or touches_another(w, l, g) != 0:
                    met = meet_together(w, b, l, g, same_velocity)
                if met == ALONE:
                    choose_side(w, b, l, g)
                for i in range(w.n_gates):
                    if met == 1 or w.met[i * LANES + l] > 0.0:
                        w.crossed[i * LANES + l] = 0.0


def find_surface(w: Workspace, l: i64, g: i64) -> f64:
    """All gates that share the surface of gate g (`met`): same value, and same velocity up to the number returned."""
    invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
    w.counts[EVALUATIONS * LANES + l] += 1
    h = w.at_start + w.n_observed * LANES
    v = w.v_now
    largest_h = 0.0
    largest_v = 0.0
    for i in range(w.n_gates):
        if w.members[i * LANES + l] == 0.0:
            largest_h = fmax(largest_h, fabs(h[i * LANES + l]))
        largest_v = fmax(largest_v, fabs(v[i * LANES + l]))
    p = g * LANES + l
    same_velocity = SAME_SURFACE * (1.0 + largest_v)
    for i in range(w.n_gates):
        q = i * LANES + l
        same = fabs(h[q] - h[p]) <= SAME_SURFACE * (1.0 + largest_h) and w.members[q] == 0.0
        w.met[q] = 1.0 if same != 0 and fabs(v[q] - v[p]) <= same_velocity else 0.0
    return same_velocity


def meet_kink(w: Workspace, b: Batch, l: i64, g: i64) -> i64:
    """A switching function reached zero; 0 if the trajectory ends here."""
    w.counts[KINKS * LANES + l] += 1
    if w.counts[KINKS * LANES + l] > b.max_kinks:
        return finish(w, b, l, STEP_BUDGET)
    same_velocity = find_surface(w, l, g)
    log_entry(w, b, l, 0.0, count_members(w, w.met, l))
    w.hurried[l] = w.hurried[l] + 1 if w.t[l] - w.crossed_time[l] <= HURRY * fabs(w.t[l]) else 0
    if w.hurried[l] > MAX_HURRIED:
        return finish(w, b, l, CANNOT_SLIDE)
    w.returns[l] = w.returns[l] + 1 if is_back_at_once(w, l, g) != 0 else 0
    met = ALONE
    if w.slides[l] > 0 or touches_another(w, l, g) != 0:
        met = meet_together(w, b, l, g, same_velocity)
    if met == 0:
        return finish(w, b, l, CANNOT_SLIDE)
    if met != ALONE:
        w.returns[l] = 0
    elif w.returns[l] > MAX_RETURNS:
        w.returns[l] = 0
        begin_slide(w, b, l, g)
    else:
        choose_side(w, b, l, g)
    w.crossed_time[l] = w.t[l]
    for i in range(w.n_gates):
        w.crossed[i * LANES + l] = w.met[i * LANES + l]
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
        if w.met[p] > 0.0 and w.gates[p] != gate:
            is_mixed = 1
    if is_mixed != 0:
        set_gates(w, l, gate)
        invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
    for i in range(w.n_gates * LANES):
        w.gates_on[i] = w.gates[i]
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
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


def cross(w: Workspace, l: i64) -> None:
    """To the other side, where the slope and the watched values have just been looked at."""
    for i in range(w.n_gates):
        w.gates[i * LANES + l] = w.gates_on[i * LANES + l]
    for j in range(w.dim):
        w.k[j * LANES + l] = w.spare[j * LANES + l]
    for i in range(w.n_watched):
        w.at_start[i * LANES + l] = w.spare_values[i * LANES + l]
