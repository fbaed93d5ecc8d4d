"""Which method a lane uses: explicit steps until stability, not accuracy, limits them; implicit ones while they pay.

A stretch counts as stiff after `patience` steps with h|λ| beyond the stability of DOP853, never with many calm ones in
a row between them (E. Hairer & G. Wanner, Solving ODEs II, IV.2). Then work is weighed, in operations on vectors:
implicit steps must get further with it than the explicit ones did, and a lane goes back when explicit steps, as long as
stability lets them be, would be cheaper. Each return makes the lane more patient. Trajectories that travel together
share the work of their explicit steps; for one that travels alone (`alone`) implicit ones may pay without any
stiffness, which is tried once where the program is dear and its variables few. All numbers are the lane's own.
"""

from flowsys.kernels.native.constants import AUTO, LANES, REJECTED, STEPS
from flowsys.kernels.native.intrinsics import fmax
from flowsys.kernels.native.ledger import log_entry
from flowsys.kernels.native.stages import forget
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import f64, i64

# h|λ| on the boundary of stability, calm steps that end a stiff stretch, stiff ones that make it, and at most
STIFF_LIMIT, CALM, PATIENCE, MOST_PATIENCE = 6.1, 6, 10, 100_000
# implicit steps made before their progress is judged, and how often explicit ones must look cheaper
TRIAL, CONVINCED = 8, 5
# an explicit step of order 8 is at best this share as long as an implicit one of order 13, and costs 12 slopes
SHARE, SLOPES = 0.4, 12.0
TO_IMPLICIT, TO_EXPLICIT = -2.0, -3.0
# how many trajectories share an explicit step; the steps before and in the stretch that a trial is compared with; what
# an implicit step may cost in a trial, in explicit ones, at so many iterations
COMPANY, EARLY, STRETCH, WORTH, USUAL = 4.0, 8, 8, 2.0, 6
# a fixed cost of an implicit step and of an iteration, in operations
PER_STEP, PER_ITERATION = 3000.0, 200.0


def work_of_step(w: Workspace, iterations: i64) -> f64:
    """Operations of an implicit step: its iterations, Jacobian and factorisation."""
    n = 1.0 * w.dim
    iteration = w.field_work + PER_ITERATION + 40.0 * n + 6.0 * n * n
    columns = 1.0 * ((w.dim + 7) // 8)
    return PER_STEP + iterations * iteration + 2.5 * columns * w.field_work + 2.0 * n * n * n


def explicit_work(w: Workspace, b: Batch) -> f64:
    """Operations of an explicit step, shared or not."""
    work = SLOPES * (w.field_work + 15.0 * w.dim)
    return work if b.alone != 0 else work / COMPANY


def is_promising(w: Workspace, b: Batch) -> i64:
    """Whether implicit steps may pay without stiffness."""
    return 1 if b.alone != 0 and work_of_step(w, USUAL) < WORTH * explicit_work(w, b) else 0


def consider(w: Workspace, b: Batch, l: i64) -> None:
    """After an explicit step: is the flow stiff?"""
    counts = w.counts
    made = counts[STEPS * LANES + l]
    if made == EARLY:
        begin_stretch(w, l)
    is_tried = b.method == AUTO and made == EARLY + STRETCH and is_promising(w, b) != 0
    if w.stiffness[l] > STIFF_LIMIT:
        if w.stiff_steps[l] == 0 and made > EARLY + STRETCH:
            begin_stretch(w, l)
        w.stiff_steps[l] += 1
        w.calm_steps[l] = 0
    else:
        w.calm_steps[l] += 1
        if w.calm_steps[l] >= CALM:
            w.stiff_steps[l] = 0
    is_stiff = b.method == AUTO and w.stiff_steps[l] >= w.patience[l]
    if is_tried == 0 and is_stiff == 0:
        return
    steps = counts[STEPS * LANES + l] + counts[REJECTED * LANES + l] - w.stretch_steps[l]
    w.pace[l] = (w.t[l] - w.stretch_start[l]) / (fmax(1.0, 1.0 * steps) * explicit_work(w, b))
    w.is_implicit[l] = 1
    w.stretch_start[l] = w.t[l]
    w.stretch_steps[l] = counts[STEPS * LANES + l]
    w.spent[l] = 0.0
    w.calm_steps[l] = 0
    forget(w, l)
    log_entry(w, b, l, TO_IMPLICIT, is_stiff)


def begin_stretch(w: Workspace, l: i64) -> None:
    """From here on the pace of explicit steps is measured."""
    w.stretch_start[l] = w.t[l]
    w.stretch_steps[l] = w.counts[STEPS * LANES + l] + w.counts[REJECTED * LANES + l]


def reconsider(w: Workspace, b: Batch, l: i64) -> None:
    """After an implicit step: would explicit ones be cheaper?"""
    if b.method != AUTO:
        return
    reach = w.tried_step[l]
    needed = fmax(1.0 / SHARE, reach * w.tried_norm[l] / STIFF_LIMIT)
    if needed * explicit_work(w, b) < work_of_step(w, w.iterations[l]):
        w.calm_steps[l] += 1
    else:
        w.calm_steps[l] = 0
    made = w.counts[STEPS * LANES + l] - w.stretch_steps[l]
    is_slow = made == TRIAL and w.t[l] - w.stretch_start[l] < w.pace[l] * w.spent[l]
    if is_slow != 0 or w.calm_steps[l] >= CONVINCED:
        back_to_explicit(w, b, l)


def back_to_explicit(w: Workspace, b: Batch, l: i64) -> None:
    """Explicit steps from here on; the lane grows more patient."""
    w.is_implicit[l] = 0
    w.stiff_steps[l] = 0
    w.calm_steps[l] = 0
    if w.patience[l] < MOST_PATIENCE:
        w.patience[l] = 4 * w.patience[l]
    log_entry(w, b, l, TO_EXPLICIT, 0)
