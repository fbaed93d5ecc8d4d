"""Step sizes, and moving a lane to the end of the step just made."""

from flowsys.kernels.native.constants import EVALUATIONS, LANES
from flowsys.kernels.native.field import evaluate
from flowsys.kernels.native.intrinsics import fabs, fmax, fmin, sqrt
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import f64, i64

# a step lands on its target if it nearly reaches it
NEARLY = 1.01


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
