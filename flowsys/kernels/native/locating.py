"""The first crossing inside a step, found by exact steps from the step's start to trial times.

A bracket [low, high] is narrowed in which nothing has fired at `low` and something has at `high`; the next trial is the
earliest root estimated for any value that fired.
"""

from flowsys.kernels.native.constants import CONFIRMING, EPSILON, FORCED, LANES, LOCATING, STEPPING, STEPS
from flowsys.kernels.native.intrinsics import fabs, fmax, fmin
from flowsys.kernels.native.kinks import meet_kink
from flowsys.kernels.native.ledger import record_event
from flowsys.kernels.native.looking import looks_first
from flowsys.kernels.native.slides import leave_surface
from flowsys.kernels.native.stages import settle
from flowsys.kernels.native.stepping import move
from flowsys.kernels.native.watching import cubic, has_fired, orient, oriented
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

NO_EVENT = -1


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
            return whole_step(w, l)
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


def keep_other(w: Workspace, values: Doubles, s: f64, l: i64) -> None:
    """The bracket's end that is being replaced serves as a third point of interpolation."""
    w.other[l] = s
    for i in range(w.n_watched):
        w.at_other[i * LANES + l] = values[i * LANES + l]


def next_trial(w: Workspace, l: i64, tolerance: f64) -> f64:
    """The earliest estimated root in the bracket, or its middle when estimates do not narrow it."""
    low = w.low[l]
    high = w.high[l]
    if high - low <= tolerance:
        return high
    if w.trials[l] > 6 and w.trials[l] % 2 == 0:
        return 0.5 * (low + high)
    best = high
    for i in range(w.n_watched):
        if has_fired(w, w.at_low, w.at_high, i, l) != 0:
            best = fmin(best, estimated_root(w, i * LANES + l, l))
    if best <= low:
        return low if was_up_already(w, l) != 0 else low + fmin(tolerance, 0.5 * (high - low))
    if best >= high:
        return high - fmin(tolerance, 0.5 * (high - low))
    return best


def was_up_already(w: Workspace, l: i64) -> i64:
    """Whether a kink that has fired was on the wrong side at the bracket's beginning already."""
    for i in range(w.n_events, w.n_watched):
        if oriented(w, w.at_low, i * LANES + l) >= 0.0 and oriented(w, w.at_high, i * LANES + l) > 0.0:
            return 1
    return 0


def estimated_root(w: Workspace, p: i64, l: i64) -> f64:
    low = w.low[l]
    high = w.high[l]
    a = oriented(w, w.at_low, p)
    d = oriented(w, w.at_high, p)
    if a >= 0.0:
        return low
    if w.trials[l] == 1 and high == w.full[l]:
        return high * root_of_cubic(a, oriented(w, w.at_third, p), oriented(w, w.at_two_thirds, p), d)
    secant = high - (high - low) * (d / (d - a))
    o = oriented(w, w.at_other, p)
    is_third_point = (o - a) * (o - d) != 0.0 and (w.other[l] - low) * (w.other[l] - high) != 0.0
    if is_third_point == 0:
        return secant
    # inverse quadratic interpolation through three points
    x = low * (d * o) / ((a - d) * (a - o))
    x += high * (a * o) / ((d - a) * (d - o))
    x += w.other[l] * (a * d) / ((o - a) * (o - d))
    return x if x > low and x < high else secant


def root_of_cubic(a: f64, u: f64, v: f64, d: f64) -> f64:
    """The first root, as a fraction of the step, of the cubic through four values; a < 0 < d."""
    low = 0.0
    high = 1.0
    for s in range(1, 8):
        if cubic(a, u, v, d, s / 8.0) > 0.0:
            high = s / 8.0
            break
        low = s / 8.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        if cubic(a, u, v, d, middle) > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def whole_step(w: Workspace, l: i64) -> i64:
    """A false alarm: make the step again and take it."""
    w.mode[l] = FORCED
    w.step[l] = w.full[l]
    w.clipped[l] = w.full_clipped[l]
    return 1


def arrived(w: Workspace, b: Batch, l: i64, s: f64) -> i64:
    """At the crossing: record all events that fall on it, then deal with a kink or the end of a slide."""
    w.clipped[l] = 1 if s == w.full[l] and w.full_clipped[l] != 0 else 0
    if looks_first(w, b, l, 1) != 0:
        return 1
    w.mode[l] = STEPPING
    which = first_crossed(w, l, s)
    for i in range(w.n_events):
        if i == which or has_fired(w, w.at_low, w.at_end, i, l) != 0:
            w.orientation[i * LANES + l] = 2.0 * w.orientation[i * LANES + l]
    move(w, l)
    w.counts[STEPS * LANES + l] += 1
    # the doubled orientations mark the events that fall on this moment
    for e in range(w.n_events):
        if fabs(w.orientation[e * LANES + l]) > 1.5:
            record_event(w, b, l, e)
    kink = crossed_kink(w, l, which)
    if kink >= w.n_events:
        # beyond a kink the last error predicts nothing
        w.last_error[l] = 0.0
    g = kink - w.n_events
    if kink >= w.n_events and w.members[g * LANES + l] != 0.0:
        leave_surface(w, b, l, g)
    elif kink >= w.n_events and meet_kink(w, b, l, g) == 0:
        return 0
    orient(w, b, l)
    return settle(w, b, l)


def first_crossed(w: Workspace, l: i64, s: f64) -> i64:
    """The watched value that crossed first (within the bracket's width), or is nearest to crossing."""
    which = -1
    best = 1e300
    for i in range(w.n_watched):
        p = i * LANES + l
        g = oriented(w, w.at_end, p)
        before = oriented(w, w.at_low, p)
        root = 1e300
        if has_fired(w, w.at_low, w.at_end, i, l) != 0:
            root = w.low[l]
            if before < 0.0:
                root = s - (s - w.low[l]) * (g / (g - before))
        elif before < g and g <= 0.0 and before < 0.0:
            root = s + (s - w.low[l]) * (-g / (g - before))
        if root < best:
            best = root
            which = i
    return which


def crossed_kink(w: Workspace, l: i64, which: i64) -> i64:
    """The kink (or end of a slide) to deal with here: the first crossed, or one that fired at the same moment."""
    if which >= w.n_events:
        return which
    for i in range(w.n_events, w.n_watched):
        if has_fired(w, w.at_low, w.at_start, i, l) != 0:
            return i
    return NO_EVENT
