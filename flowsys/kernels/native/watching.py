"""What is watched along a step: events, kinks and the ends of slides, oriented to be positive once they happened.

Between step ends the values are first judged by the cubic through four of them (the states of two inner stages serve
as approximations), and where that comes near zero, by the method's dense output. This is a search, not a proof: of
excursions lasting 1/25 of a step, 1 in 2,000 was overlooked at rtol = 1e-6, none of 20,000 at 1e-8.
"""

from flowsys.kernels.native.constants import EVALUATIONS, LANES, THIRD, TWO_THIRDS
from flowsys.kernels.native.field import evaluate_watched
from flowsys.kernels.native.implicit import inside
from flowsys.kernels.native.intrinsics import dense_output, fabs, fmax, fmin, interpolate, sqrt
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

# suspicion: the highest value seen inside a step comes within this share of the values' range below zero
MARGIN = 0.1
N_INSIDE = 8


def oriented(w: Workspace, values: Doubles, i: i64) -> f64:
    """A watched value, positive once it has happened; 0 where it is not watched."""
    return w.orientation[i] * (values[i] - w.threshold[i])


def orient(w: Workspace, b: Batch, l: i64) -> None:
    """Which way every value counts that decides where a step ends: gates as they stand, and what ends the stage."""
    for i in range(w.n_observed):
        w.orientation[i * LANES + l] = 0.0
    terminal = b.ends_on[w.stage[l]]
    if terminal >= 0 and b.reached[w.trajectory[l] * b.n_events + terminal] == 0:
        watch(w, b, l, terminal)
    for g in range(w.n_gates):
        i = (w.n_observed + g) * LANES + l
        is_open = w.gates[g * LANES + l] > 0.0
        w.orientation[i] = -1.0 if is_open else 1.0
        if w.members[g * LANES + l] != 0.0:
            # where a surface slid along lets go, or a gate comes off one
            w.orientation[i] = 1.0
        w.threshold[i] = 0.0


def orient_to(w: Workspace, b: Batch, l: i64, e: i64) -> None:
    """Only event e counts."""
    for i in range(w.n_watched):
        w.orientation[i * LANES + l] = 0.0
    watch(w, b, l, e)


def watch(w: Workspace, b: Batch, l: i64, e: i64) -> None:
    """Event e counts."""
    i = b.watches[e] * LANES + l
    w.orientation[i] = b.directions[e]
    w.threshold[i] = b.thresholds[w.trajectory[l] * b.n_events + e]


def has_fired(w: Workspace, before: Doubles, after: Doubles, i: i64, l: i64) -> i64:
    """Events must have been negative before, and reach zero; kinks count wherever they end up on the wrong side."""
    p = i * LANES + l
    if i >= w.n_observed:
        return 1 if oriented(w, after, p) > 0.0 else 0
    return 1 if oriented(w, before, p) < 0.0 and oriented(w, after, p) >= 0.0 else 0


def any_fired(w: Workspace, before: Doubles, after: Doubles, l: i64) -> i64:
    for i in range(w.n_watched):
        if has_fired(w, before, after, i, l) != 0:
            return 1
    return 0


def may_hide_a_crossing(w: Workspace, l: i64) -> i64:
    """Whether some value may have crossed and come back inside the step just made."""
    for i in range(w.n_watched):
        if hides_a_crossing(w, i * LANES + l) != 0:
            return 1
    return 0


def hides_a_crossing(w: Workspace, p: i64) -> i64:
    """Whether a value, negative at both ends, comes close to zero inside the step just made."""
    a = oriented(w, w.at_start, p)
    d = oriented(w, w.at_end, p)
    if a < 0.0 and d <= 0.0:
        u = oriented(w, w.at_third, p)
        v = oriented(w, w.at_two_thirds, p)
        top = fmax(u, v)
        low = fmin(fmin(a, d), fmin(u, v))
        # a cubic exceeds its values by less than their range
        if 2.0 * fmax(top, fmax(a, d)) > low:
            top = fmax(top, highest_of_cubic(a, u, v, d))
            if top > fmax(a, d) and top > MARGIN * (low - top):
                return 1
    return 0


def cubic(a: f64, u: f64, v: f64, d: f64, x: f64) -> f64:
    """The cubic with values a, u, v, d at 0, THIRD, TWO_THIRDS, 1 (Newton's form)."""
    first = (u - a) / THIRD
    second = ((v - u) / (TWO_THIRDS - THIRD) - first) / TWO_THIRDS
    last = ((d - v) / (1.0 - TWO_THIRDS) - (v - u) / (TWO_THIRDS - THIRD)) / (1.0 - THIRD)
    third = last - second
    return a + x * (first + (x - THIRD) * (second + (x - TWO_THIRDS) * third))


def highest_of_cubic(a: f64, u: f64, v: f64, d: f64) -> f64:
    """The cubic's highest value inside the step where its slope vanishes; the larger end's if there is none."""
    first = (u - a) / THIRD
    second = ((v - u) / (TWO_THIRDS - THIRD) - first) / TWO_THIRDS
    last = ((d - v) / (1.0 - TWO_THIRDS) - (v - u) / (TWO_THIRDS - THIRD)) / (1.0 - THIRD)
    third = last - second
    # the slope is c0 + c1 x + c2 x²
    c2 = 3.0 * third
    c1 = 2.0 * (second - third * (THIRD + TWO_THIRDS))
    c0 = first - THIRD * second + third * THIRD * TWO_THIRDS
    top = fmax(a, d)
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if discriminant >= 0.0:
        # written so that no digits cancel
        q = -0.5 * (c1 + (sqrt(discriminant) if c1 >= 0.0 else -sqrt(discriminant)))
        if q != 0.0:
            x = c0 / q
            if x > 0.0 and x < 1.0:
                top = fmax(top, cubic(a, u, v, d, x))
        if c2 != 0.0:
            x = q / c2
            if x > 0.0 and x < 1.0:
                top = fmax(top, cubic(a, u, v, d, x))
    return top


def first_suspect(w: Workspace, l: i64) -> f64:
    """The first of a few fractions of the step where, on the dense output, something has fired; 0 if none.

    Where a value has a highest point between them, the vertex of its parabola is looked at too.
    """
    dense_output(w)
    w.counts[EVALUATIONS * LANES + l] += 3
    n = w.n_watched
    for i in range(n):
        w.at_high[i * LANES + l] = w.at_start[i * LANES + l]
        w.at_other[i * LANES + l] = w.at_start[i * LANES + l]
    for s in range(1, N_INSIDE + 1):
        x = s / (1.0 * N_INSIDE)
        look_inside(w, l, x, w.at_inside)
        if s < N_INSIDE and fires_inside(w, l, w.at_inside) != 0:
            return x
        if s > 1:
            vertex = highest_vertex(w, l, x)
            if vertex > 0.0:
                look_inside(w, l, vertex, w.spare_values)
                if fires_inside(w, l, w.spare_values) != 0:
                    return vertex
        for i in range(n):
            p = i * LANES + l
            w.at_other[p] = w.at_high[p]
            w.at_high[p] = w.at_inside[p]
    return 0.0


def look_inside(w: Workspace, l: i64, x: f64, values: Doubles) -> None:
    """What is watched at a fraction x of the step, on the dense output."""
    w.fraction[l] = x
    interpolate(w)
    if w.is_implicit[l] != 0:
        inside(w, l, x, w.y_stage, l)
    evaluate_watched(w, w.y_stage, w.f_on, values)
    w.counts[EVALUATIONS * LANES + l] += 1


def fires_inside(w: Workspace, l: i64, values: Doubles) -> i64:
    for i in range(w.n_watched):
        p = i * LANES + l
        if oriented(w, w.at_start, p) < 0.0 and oriented(w, values, p) > 0.0:
            return 1
    return 0


def highest_vertex(w: Workspace, l: i64, x: f64) -> f64:
    """The vertex, near zero, of the parabola through a value's last three looks (the last at x); 0 if there is none."""
    best = -1e300
    found = 0.0
    for i in range(w.n_watched):
        p = i * LANES + l
        a = oriented(w, w.at_other, p)
        m = oriented(w, w.at_high, p)
        d = oriented(w, w.at_inside, p)
        highest = fmax(m, fmax(a, d))
        if highest < 0.0 and 2.0 * m - a - d > 0.0 and fabs(d - a) <= 2.0 * (2.0 * m - a - d):
            shift = 0.5 * (d - a) / (2.0 * m - a - d)
            top = m + 0.25 * (d - a) * shift
            if top > MARGIN * (fmin(m, fmin(a, d)) - highest) and top > best:
                best = top
                found = x + (shift - 1.0) / (1.0 * N_INSIDE)
    return found
