"""Steps that rounding errors keep short: they get on only as slowly as the errors allow, so they are given up.

It happens late, where slopes are differences of large numbers: the error estimate then tells the rounding of the state,
not the method's error. Implicit steps are asked at every refusal. Explicit ones get on, by ever more of them, so they
are asked now and then, and given up only if at this pace the budget neither doubles the time nor reaches its end.
"""

from flowsys.kernels.native.constants import EPSILON, EVALUATIONS, LANES
from flowsys.kernels.native.field import evaluate
from flowsys.kernels.native.intrinsics import fabs, fmax, fmin, sqrt, substitute
from flowsys.kernels.native.systems import norm_of_solution
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import f64, i64

STAGES = 7
# steps that are refused though they are shorter than this share of the time, and rounding errors that are to blame for
# it if they are larger than this share of the tolerance, which counts as no less than the next
HARDLY_ANY, AUDIBLE, LEAST_TOLERANCE = 1e-3, 0.1, 1e-11
# states that differ in their last digits; explicit steps between two looks at them
N_SAMPLES, NOW_AND_THEN = 4, 1000


def drowns(w: Workspace, b: Batch, l: i64, left: i64) -> i64:
    """Whether the explicit step just tried, with so many left of the budget, drowns in rounding errors."""
    ahead = fmin(fabs(w.t[l]), b.t_max[w.trajectory[l]] - w.t[l])
    if w.step[l] > HARDLY_ANY * fabs(w.t[l]) or left * w.step[l] > ahead:
        return 0
    return 1 if explicit_rounding_errors(w, l) > AUDIBLE else 0


def explicit_rounding_errors(w: Workspace, l: i64) -> f64:
    """What rounding the state does to a step of lane l, in units of the tolerance: the change of the slope, times h."""
    tolerance = fmax(w.rtol[l], LEAST_TOLERANCE)
    total = 0.0
    for sample in range(1, N_SAMPLES + 1):
        for p in range(w.dim * LANES):
            w.y_stage[p] = w.y[p]
        for j in range(w.dim):
            w.y_stage[j * LANES + l] += last_digits(j, sample) * fabs(w.y[j * LANES + l])
        evaluate(w, w.y_stage, w.spare)
        w.counts[EVALUATIONS * LANES + l] += 1
        for j in range(w.dim):
            p = j * LANES + l
            scale = tolerance * (w.atol[l] / w.rtol[l] + fabs(w.y[p]))
            change = w.step[l] * (w.spare[p] - w.k[p]) / scale
            total += change * change
    return sqrt(total / (N_SAMPLES * w.dim))


def last_digits(j: i64, sample: i64) -> f64:
    """A relative change of variable j, of either sign."""
    return (sample if (j + sample) % 3 == 0 else -sample) * EPSILON


def rounding_errors(w: Workspace, s: Workspace, l: i64) -> f64:
    """What rounding does to a step, in units of the scales.

    The slopes at the state and at a few that differ from it in their last digits should differ as the Jacobian tells.
    The Jacobian's own last digits count by the last correction: where 1/h is lost beside them, so is all that is slow.
    """
    n = w.dim
    last = (STAGES - 1) // LANES * n * LANES + (STAGES - 1) % LANES
    for i in range(n):
        w.combined[i] = 0.0
    for sample in range(1, N_SAMPLES + 1):
        for j in range(n):
            for c in range(LANES):
                s.y_stage[j * LANES + c] = w.base[j * LANES]
            s.y_stage[j * LANES + 1] += last_digits(j, sample) * fabs(w.base[j * LANES])
        evaluate(s, s.y_stage, s.spare)
        w.counts[EVALUATIONS * LANES + l] += 2
        for i in range(n):
            noise = s.spare[i * LANES + 1] - s.spare[i * LANES]
            for j in range(n):
                noise -= w.jacobian[i * n + j] * (s.y_stage[j * LANES + 1] - s.y_stage[j * LANES])
                noise += last_digits(i + j, sample) * w.jacobian[i * n + j] * w.changes[last + j * LANES]
            w.right_re[i * LANES] = noise
            w.right_im[i * LANES] = 0.0
        substitute(w)
        for i in range(n):
            w.combined[i] += fabs(w.solution_re[i * LANES]) / N_SAMPLES
    for i in range(n):
        w.solution_re[i * LANES] = w.combined[i]
    return norm_of_solution(w)
