"""The bracket [low, high] around the first crossing inside a step, and where in it to try next.

Nothing has fired at `low`, something has at `high`; the end of the bracket that was replaced last serves as a third
point of interpolation.
"""

from flowsys.kernels.native.constants import LANES
from flowsys.kernels.native.intrinsics import fmin
from flowsys.kernels.native.watching import cubic, has_fired, oriented
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Doubles, f64, i64


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
    for i in range(w.n_observed, w.n_watched):
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
