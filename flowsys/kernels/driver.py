"""The event-driven driver, compiled: every lane walks its own trajectory, all lanes step together.

One round of the loop tries one step in every lane (`attempt`), then each lane decides for itself what the result
means. A lane steps, or is locating a crossing inside an accepted step by exact steps from that step's start; stages,
kinks and sliding are dealt with where they occur. A lane whose trajectory ends takes the next one of the batch. No
decision looks at another lane, so results do not depend on which trajectories travel together.

Written in the compiled subset of `flowsys.kernels.restricted`; the rules are those of `flowsys.integrate.driver`.
"""

# ruff: noqa: F821
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

EMPTY, STEPPING, CONFIRMING, LOCATING, FORCED = 0, 1, 2, 3, 4
COMPLETED, NOT_REACHED, STEP_BUDGET, STEP_TOO_SMALL, NOT_FINITE, STIFF, SECOND_SURFACE = 0, 1, 2, 3, 4, 5, 6
STEPS, REJECTED, EVALUATIONS, KINKS, SLIDES, TRIALS, N_COUNTS = 0, 1, 2, 3, 4, 5, 6
NO_EVENT = -1
EPSILON = 2.220446049250313e-16
# gates whose switching functions agree this closely (in value and velocity) share one surface
SAME_SURFACE = 1e-9
ON_SURFACE = 1e-14
# a step may shrink or grow by these factors (HNW II.4), and lands on its target if it nearly reaches it
SMALLEST, LARGEST, SAFETY, NEARLY = 0.333, 6.0, 0.9, 1.01
STIFF_LIMIT = 6.1
# suspicion: the highest value seen inside a step comes within this share of the values' range below zero
MARGIN = 0.1
N_INSIDE = 8


# -- the field ------------------------------------------------------------------------------------------------------


def evaluate(w: Workspace, y: Doubles, f: Doubles) -> None:
    """The slope at y: the field, or Filippov's field in lanes that slide."""
    if w.n_sliding == 0:
        invoke(w.field, y, f, w.v_values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    else:
        sliding_field(w, y, f)


def evaluate_watched(w: Workspace, y: Doubles, f: Doubles, values: Doubles) -> None:
    """The slope and everything watched at y."""
    invoke(w.watched, y, f, values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    if w.n_sliding > 0:
        sliding_field(w, y, f)
        last = w.n_events + w.n_gates
        for l in range(LANES):
            if w.slides[l] != 0:
                i = w.representative[l] * LANES + l
                values[last * LANES + l] = w.v_on[i]
                values[(last + 1) * LANES + l] = -w.v_off[i]


def sliding_field(w: Workspace, y: Doubles, f: Doubles) -> None:
    """The mixture of both gate values that keeps h at 0: the open gate's share is v_off / (v_off - v_on)."""
    for l in range(LANES):
        for g in range(w.n_gates):
            i = g * LANES + l
            is_member = w.slides[l] != 0 and w.members[i] > 0.0
            w.gates_on[i] = 1.0 if is_member else w.gates[i]
            w.gates_off[i] = 0.0 if is_member else w.gates[i]
    both_sides(w, y)
    for l in range(LANES):
        if w.slides[l] != 0:
            i = w.representative[l] * LANES + l
            share = w.v_off[i] / (w.v_off[i] - w.v_on[i])
            share = fmin(fmax(share, 0.0), 1.0)
            for j in range(w.dim):
                f[j * LANES + l] = share * w.f_on[j * LANES + l] + (1.0 - share) * w.f_off[j * LANES + l]
        else:
            for j in range(w.dim):
                f[j * LANES + l] = w.f_on[j * LANES + l]


def both_sides(w: Workspace, y: Doubles) -> None:
    """Fields and surface velocities under `gates_on` and `gates_off`."""
    invoke(w.field, y, w.f_on, w.v_values, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    invoke(w.velocity, y, w.f_on, w.v_on, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    invoke(w.field, y, w.f_off, w.v_values, w.constants, w.gates_off, w.scratch, w.layout, w.indices)
    invoke(w.velocity, y, w.f_off, w.v_off, w.constants, w.gates_off, w.scratch, w.layout, w.indices)


def refresh(w: Workspace, l: i64) -> None:
    """Slope and watched values of one lane at its present state; other lanes keep theirs."""
    evaluate_watched(w, w.y, w.spare, w.spare_values)
    for j in range(w.dim):
        w.k[j * LANES + l] = w.spare[j * LANES + l]
    for i in range(w.n_watched):
        w.at_start[i * LANES + l] = w.spare_values[i * LANES + l]
    w.counts[EVALUATIONS * LANES + l] += 1


# -- what is watched ------------------------------------------------------------------------------------------------


def oriented(w: Workspace, values: Doubles, i: i64) -> f64:
    """A watched value, positive once it has happened; 0 where it is not watched."""
    return w.orientation[i] * (values[i] - w.threshold[i])


def orient(w: Workspace, b: Batch, l: i64) -> None:
    """Which way every watched value counts for a lane, as its gates and pending events stand."""
    n = w.trajectory[l]
    terminal = b.ends_on[w.stage[l]]
    for e in range(w.n_events):
        i = e * LANES + l
        is_on = b.reached[n * w.n_events + e] == 0 and (b.requested[e] != 0 or e == terminal)
        w.orientation[i] = b.directions[e] if is_on else 0.0
        w.threshold[i] = b.thresholds[n * w.n_events + e]
    for g in range(w.n_gates):
        i = (w.n_events + g) * LANES + l
        is_open = w.gates[g * LANES + l] > 0.0
        w.orientation[i] = -1.0 if is_open else 1.0
        if w.slides[l] != 0 and w.members[g * LANES + l] > 0.0:
            w.orientation[i] = 0.0
        w.threshold[i] = 0.0
    for s in range(2):
        i = (w.n_events + w.n_gates + s) * LANES + l
        w.orientation[i] = 1.0 if w.slides[l] != 0 else 0.0
        w.threshold[i] = 0.0


def has_fired(w: Workspace, before: Doubles, after: Doubles, i: i64, l: i64) -> i64:
    """Events must have been negative before; kinks count wherever they end up on the wrong side."""
    if oriented(w, after, i * LANES + l) > 0.0:
        if i >= w.n_events or oriented(w, before, i * LANES + l) < 0.0:
            return 1
    return 0


def any_fired(w: Workspace, before: Doubles, after: Doubles, l: i64) -> i64:
    for i in range(w.n_watched):
        if has_fired(w, before, after, i, l) != 0:
            return 1
    return 0


def may_hide_a_crossing(w: Workspace, l: i64) -> i64:
    """Whether some value, negative at both ends, comes close to zero inside the step just made."""
    for i in range(w.n_watched):
        p = i * LANES + l
        a = oriented(w, w.at_start, p)
        d = oriented(w, w.at_end, p)
        if a < 0.0 and d <= 0.0:
            u = oriented(w, w.at_third, p)
            v = oriented(w, w.at_two_thirds, p)
            top = fmax(u, v)
            low = fmin(fmin(a, d), fmin(u, v))
            if fmax(top, fmax(a, d)) > 2.0 * low:
                # the cubic through the four values
                for s in range(1, 14):
                    top = fmax(top, cubic(a, u, v, d, s / 14.0))
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


def first_suspect(w: Workspace, l: i64) -> f64:
    """The first of a few fractions of the step where, on the dense output, something has fired; 0 if none."""
    dense_output(w)
    w.counts[EVALUATIONS * LANES + l] += 3
    for s in range(1, N_INSIDE):
        w.fraction[l] = s / (1.0 * N_INSIDE)
        interpolate(w)
        invoke(w.watched, w.y_stage, w.f_on, w.at_inside, w.constants, w.gates, w.scratch, w.layout, w.indices)
        w.counts[EVALUATIONS * LANES + l] += 1
        for i in range(w.n_events + w.n_gates):
            if oriented(w, w.at_start, i * LANES + l) < 0.0 and oriented(w, w.at_inside, i * LANES + l) > 0.0:
                return w.fraction[l]
    return 0.0


# -- rounds ---------------------------------------------------------------------------------------------------------


def run(w: Workspace, b: Batch) -> None:
    """Work until the batch is used up."""
    active = 0
    for l in range(LANES):
        w.mode[l] = EMPTY
        active += take(w, b, l)
    while active > 0 and b.stop[0] == 0:
        attempt(w)
        good = 0
        for l in range(LANES):
            if w.mode[l] != EMPTY and w.error[l] <= 1.0:
                good = 1
        if good != 0:
            evaluate_watched(w, w.y_new, w.k + 12 * w.dim * LANES, w.at_end)
            stiffness(w)
        for l in range(LANES):
            if w.mode[l] != EMPTY:
                w.counts[EVALUATIONS * LANES + l] += 12
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
        w.stiff_steps[l] = 0
        for c in range(N_COUNTS):
            w.counts[c * LANES + l] = 0
        for j in range(w.dim):
            w.y[j * LANES + l] = b.initial[n * w.dim + j]
        w.pending[l] = 0
        for e in range(w.n_events):
            w.pending[l] += b.requested[e]
        enter_stage(w, b, l, 0)
        if settle(w, b, l) != 0:
            return 1
    return 0


def after_attempt(w: Workspace, b: Batch, l: i64) -> i64:
    """What a tried step means for its lane; 0 if the trajectory is over."""
    counts = w.counts
    if counts[STEPS * LANES + l] + counts[REJECTED * LANES + l] + counts[TRIALS * LANES + l] >= b.max_steps:
        return finish(w, b, l, STEP_BUDGET)
    if w.mode[l] == STEPPING:
        if w.error[l] <= 1.0:
            return accepted(w, b, l)
        return rejected(w, b, l)
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
    h = w.step[l] * factor
    if h <= EPSILON * fabs(w.t[l]) or h < 1e-300:
        return finish(w, b, l, STEP_TOO_SMALL if error < 1e30 else NOT_FINITE)
    w.proposed[l] = h
    w.step[l] = h
    w.clipped[l] = 0
    return 1


def accepted(w: Workspace, b: Batch, l: i64) -> i64:
    """A step within tolerance: go on, unless something may have happened inside it."""
    grown = LARGEST
    if w.error[l] > 1e-12:
        grown = fmin(LARGEST, fmax(SMALLEST, SAFETY / eighth_root(w.error[l])))
    if w.was_rejected[l] != 0:
        grown = fmin(grown, 1.0)
    w.was_rejected[l] = 0
    natural = w.step[l] * grown
    # a step cut short to land on its target says nothing about the next one's size
    w.proposed[l] = fmax(natural, w.proposed[l]) if w.clipped[l] != 0 else natural
    fired = any_fired(w, w.at_start, w.at_end, l)
    suspect = 0.0
    if may_hide_a_crossing(w, l) != 0:
        suspect = first_suspect(w, l)
    if fired == 0 and suspect == 0.0:
        return advance(w, b, l)
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


def advance(w: Workspace, b: Batch, l: i64) -> i64:
    """Move to the end of the step just made."""
    move(w, l)
    w.counts[STEPS * LANES + l] += 1
    if w.stiffness[l] > STIFF_LIMIT:
        w.stiff_steps[l] += 1
        if w.stiff_steps[l] >= b.stiff_after:
            return finish(w, b, l, STIFF)
    if w.clipped[l] != 0:
        return settle(w, b, l)
    set_step(w, l)
    return 1


def move(w: Workspace, l: i64) -> None:
    new = w.k + 12 * w.dim * LANES
    w.t[l] = w.target[l] if w.clipped[l] != 0 else w.t[l] + w.step[l]
    for j in range(w.dim):
        w.y[j * LANES + l] = w.y_new[j * LANES + l]
        w.k[j * LANES + l] = new[j * LANES + l]
    for i in range(w.n_watched):
        w.at_start[i * LANES + l] = w.at_end[i * LANES + l]


def set_step(w: Workspace, l: i64) -> None:
    """The next step: as proposed, or exactly to the target if that is near."""
    rest = w.target[l] - w.t[l]
    is_near = NEARLY * w.proposed[l] >= rest
    w.clipped[l] = 1 if is_near else 0
    w.step[l] = rest if is_near else w.proposed[l]


def eighth_root(x: f64) -> f64:
    return sqrt(sqrt(sqrt(x)))


# -- locating crossings ---------------------------------------------------------------------------------------------


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
        elif before < g and g <= 0.0 and w.mode[l] == LOCATING and w.trials[l] > 1:
            if -g * (s - w.low[l]) <= tolerance * (g - before):
                near = 1
    if w.mode[l] == CONFIRMING:
        if fires == 0:
            return whole_step(w, l)
        w.mode[l] = LOCATING
        w.trials[l] = 1
    if fires > 0 and (earliest >= s - tolerance or s - w.low[l] <= tolerance):
        return arrived(w, b, l, s)
    if fires == 0 and near != 0:
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
        return low if oriented_start_is_up(w, l) != 0 else low + fmin(tolerance, 0.5 * (high - low))
    if best >= high:
        return high - fmin(tolerance, 0.5 * (high - low))
    return best


def oriented_start_is_up(w: Workspace, l: i64) -> i64:
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
    if o == a or o == d or w.other[l] == low or w.other[l] == high:
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
    w.mode[l] = STEPPING
    w.clipped[l] = 1 if s == w.full[l] and w.full_clipped[l] != 0 else 0
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
    if kink >= w.n_events + w.n_gates:
        leave_surface(w, b, l, 1.0 if kink == w.n_events + w.n_gates else 0.0)
        w.proposed[l] = starting_step(w, l)
    elif kink >= w.n_events:
        if meet_kink(w, b, l, kink - w.n_events) == 0:
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


def record_event(w: Workspace, b: Batch, l: i64, e: i64) -> None:
    n = w.trajectory[l]
    place = n * w.n_events + e
    if b.reached[place] == 0:
        b.reached[place] = 1
        b.event_times[place] = w.t[l]
        b.event_stages[place] = w.stage[l]
        for j in range(w.dim):
            b.event_states[place * w.dim + j] = w.y[j * LANES + l]
        w.pending[l] -= b.requested[e]


# -- stages ---------------------------------------------------------------------------------------------------------


def settle(w: Workspace, b: Batch, l: i64) -> i64:
    """At a state worth looking at: record times, change stages, set the next target; 0 if the trajectory is over."""
    n = w.trajectory[l]
    while True:
        while w.next_time[l] < b.n_times and b.times[n * b.times_stride + w.next_time[l]] <= w.t[l]:
            place = n * b.n_times + w.next_time[l]
            b.time_stages[place] = w.stage[l]
            for j in range(w.dim):
                b.time_states[place * w.dim + j] = w.y[j * LANES + l]
            w.next_time[l] += 1
        if w.next_time[l] >= b.n_times and w.pending[l] == 0:
            return finish(w, b, l, COMPLETED)
        for j in range(w.dim):
            if not (fabs(w.k[j * LANES + l]) < 1e300):
                return finish(w, b, l, NOT_FINITE)
        end = fmin(b.until[w.stage[l] * b.n + n], b.t_max[n])
        terminal = b.ends_on[w.stage[l]]
        is_over = w.t[l] >= end
        if terminal >= 0 and b.reached[n * w.n_events + terminal] != 0:
            is_over = 1
        if is_over == 0:
            w.target[l] = end
            if w.next_time[l] < b.n_times:
                w.target[l] = fmin(end, b.times[n * b.times_stride + w.next_time[l]])
            set_step(w, l)
            w.mode[l] = STEPPING
            return 1
        if w.t[l] >= b.t_max[n] or w.stage[l] + 1 >= b.n_stages:
            return finish(w, b, l, NOT_REACHED)
        enter_stage(w, b, l, w.stage[l] + 1)
    return 0


def enter_stage(w: Workspace, b: Batch, l: i64, stage: i64) -> None:
    """A stage's data, the gates as they stand, events that hold from the start, and a first step size."""
    n = w.trajectory[l]
    if stage > 0 and w.slides[l] != 0:
        log_entry(w, b, l, -1.0, count_members(w, l))
    if w.slides[l] != 0:
        w.slides[l] = 0
        w.n_sliding -= 1
    w.stage[l] = stage
    w.was_rejected[l] = 0
    parameters = b.parameters + stage * b.n_parameters * (b.n if b.parameters_stride != 0 else 1)
    for p in range(b.n_parameters):
        w.constants[p * LANES + l] = parameters[n * b.parameters_stride + p]
    w.constants[b.n_parameters * LANES + l] = b.kink_width[n]
    data = b.data + stage * b.data_size * (b.n if b.data_stride != 0 else 1)
    for i in range(b.data_size):
        w.constants[(b.n_parameters + 1 + i) * LANES + l] = data[n * b.data_stride + i]
    gates_from_state(w, b, l)
    refresh(w, l)
    terminal = b.ends_on[stage]
    for e in range(w.n_events):
        value = b.directions[e] * (w.at_start[e * LANES + l] - b.thresholds[n * w.n_events + e])
        if value > 0.0 and b.reached[n * w.n_events + e] == 0:
            if e == terminal or w.t[l] == b.start[n]:
                record_event(w, b, l, e)
    orient(w, b, l)
    w.proposed[l] = starting_step(w, l)


def starting_step(w: Workspace, l: i64) -> f64:
    """A first step from the sizes of y, f and the change of f along f (HNW II.4)."""
    d0 = 0.0
    d1 = 0.0
    for j in range(w.dim):
        p = j * LANES + l
        scale = w.atol[l] + w.rtol[l] * fabs(w.y[p])
        d0 += (w.y[p] / scale) * (w.y[p] / scale)
        d1 += (w.k[p] / scale) * (w.k[p] / scale)
    h0 = 1e-6
    if d0 > 1e-10 and d1 > 1e-10:
        h0 = 0.01 * sqrt(d0 / d1)
    for p in range(w.dim * LANES):
        w.y_stage[p] = w.y[p]
    for j in range(w.dim):
        w.y_stage[j * LANES + l] = w.y[j * LANES + l] + h0 * w.k[j * LANES + l]
    slope = w.spare
    evaluate(w, w.y_stage, slope)
    w.counts[EVALUATIONS * LANES + l] += 1
    d2 = 0.0
    for j in range(w.dim):
        p = j * LANES + l
        scale = w.atol[l] + w.rtol[l] * fabs(w.y[p])
        change = (slope[p] - w.k[p]) / scale
        d2 += change * change
    n = 1.0 * w.dim
    steepest = fmax(sqrt(d1 / n), sqrt(d2 / n) / h0)
    h1 = fmax(1e-6, 0.001 * h0)
    if steepest > 1e-15:
        h1 = eighth_root(0.01 / steepest)
    h = fmin(100.0 * h0, h1)
    return h if h > 0.0 and h < 1e300 else 1e-6


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
    if w.slides[l] != 0:
        log_entry(w, b, l, -1.0, count_members(w, l))
        w.slides[l] = 0
        w.n_sliding -= 1
    w.mode[l] = EMPTY
    w.step[l] = 0.0
    return 0


def log_entry(w: Workspace, b: Batch, l: i64, kind: f64, members: i64) -> None:
    """Note a switch (0), the start (1) or the end (-1) of a slide, its time and how many gates share it."""
    n = w.trajectory[l]
    if b.log_counts[n] < b.log_size:
        place = 3 * (n * b.log_size + b.log_counts[n])
        b.log[place] = kind
        b.log[place + 1] = w.t[l]
        b.log[place + 2] = members
        b.log_counts[n] += 1


def count_members(w: Workspace, l: i64) -> i64:
    found = 0
    for g in range(w.n_gates):
        if w.members[g * LANES + l] > 0.0:
            found += 1
    return found


# -- kinks ----------------------------------------------------------------------------------------------------------


def gates_from_state(w: Workspace, b: Batch, l: i64) -> None:
    """Open where the switching function is positive; on a surface, the side the flow points to."""
    for g in range(w.n_gates):
        w.gates[g * LANES + l] = 1.0
        w.members[g * LANES + l] = 0.0
    if w.n_gates > 0:
        refresh(w, l)
        for g in range(w.n_gates):
            h = w.at_start[(w.n_events + g) * LANES + l]
            w.gates[g * LANES + l] = 1.0 if h > 0.0 else 0.0
        for g in range(w.n_gates):
            h = w.at_start[(w.n_events + g) * LANES + l]
            if fabs(h) <= ON_SURFACE and w.members[g * LANES + l] == 0.0 and w.slides[l] == 0:
                refresh(w, l)
                find_surface(w, l, g)
                choose_side(w, b, l, g)


def find_surface(w: Workspace, l: i64, g: i64) -> None:
    """All gates that share the surface of gate g: same value, same velocity."""
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
    for i in range(w.n_gates):
        q = i * LANES + l
        same = fabs(h[q] - h[p]) <= SAME_SURFACE * (1.0 + largest_h)
        w.members[q] = 1.0 if same != 0 and fabs(v[q] - v[p]) <= SAME_SURFACE * (1.0 + largest_v) else 0.0


def meet_kink(w: Workspace, b: Batch, l: i64, g: i64) -> i64:
    """A switching function reached zero; 0 if the trajectory ends here."""
    w.counts[KINKS * LANES + l] += 1
    if w.slides[l] != 0:
        return finish(w, b, l, SECOND_SURFACE)
    if w.counts[KINKS * LANES + l] > b.max_kinks:
        return finish(w, b, l, STEP_BUDGET)
    find_surface(w, l, g)
    log_entry(w, b, l, 0.0, count_members(w, l))
    choose_side(w, b, l, g)
    return 1


def choose_side(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """On a surface: go on to the side the flow points to, or slide where both sides point back."""
    for i in range(w.n_gates * LANES):
        w.gates_on[i] = w.gates[i]
        w.gates_off[i] = w.gates[i]
    for i in range(w.n_gates):
        p = i * LANES + l
        if w.members[p] > 0.0:
            w.gates_on[p] = 1.0
            w.gates_off[p] = 0.0
    both_sides(w, w.y)
    w.counts[EVALUATIONS * LANES + l] += 4
    v_on = w.v_on[g * LANES + l]
    v_off = w.v_off[g * LANES + l]
    if v_on < 0.0 and v_off > 0.0:
        w.slides[l] = 1
        w.n_sliding += 1
        w.representative[l] = g
        w.counts[SLIDES * LANES + l] += 1
        log_entry(w, b, l, 1.0, count_members(w, l))
        refresh(w, l)
        w.proposed[l] = starting_step(w, l)
        return
    came_from_open = w.gates[g * LANES + l] > 0.0
    is_open = v_on > 0.0 and (v_off > 0.0 or came_from_open == 0)
    if v_on <= 0.0 and v_off >= 0.0:
        is_open = not came_from_open
    set_gates(w, l, 1.0 if is_open else 0.0)


def leave_surface(w: Workspace, b: Batch, l: i64, gate: f64) -> None:
    log_entry(w, b, l, -1.0, count_members(w, l))
    w.slides[l] = 0
    w.n_sliding -= 1
    set_gates(w, l, gate)


def set_gates(w: Workspace, l: i64, gate: f64) -> None:
    """Switch the gates of the surface at hand, and look at the state again."""
    for i in range(w.n_gates):
        if w.members[i * LANES + l] > 0.0:
            w.gates[i * LANES + l] = gate
    refresh(w, l)
