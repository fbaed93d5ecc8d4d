"""One step of Radau IIA of order 13 for the trajectory of one lane, its seven stages side by side in all lanes.

The collocation equations z = h A f(y + z) are solved by simplified Newton iterations, started on the polynomial of the
step before, with one Jacobian taken in the middle of the step. Where Jacobians fall like 1/(t - t_0), as they do late
in training, the step is made in the variable log(t - t_0): there the Newton matrix hardly changes and the solution is
nearly straight. t - t_0 (`age`) is read off the Jacobians of the last two steps; 0 stands for plain time.

The error estimate is of order 7, that of the step 13: on smooth stretches the error stays far below the tolerance, so
the estimate is held to no less than 1e-11. It is not loosened further, because programs may be smooth piece by piece
only (powers of a ReLU), and across the pieces the estimate is all there is.
"""

from flowsys.kernels.native.constants import EPSILON, EVALUATIONS, KINKS, LANES, THIRD, TWO_THIRDS
from flowsys.kernels.native.drowning import AUDIBLE, HARDLY_ANY, LEAST_TOLERANCE, rounding_errors
from flowsys.kernels.native.field import evaluate, evaluate_watched
from flowsys.kernels.native.hidden import hides_nothing
from flowsys.kernels.native.intrinsics import (
    barycentric_weight,
    correct,
    eigenvalue_im,
    eigenvalue_re,
    estimate_weight,
    exponential,
    fabs,
    fmax,
    fmin,
    gather,
    logarithm,
    node,
    residual,
    sqrt,
    substitute,
    transform,
)
from flowsys.kernels.native.systems import factorise, jacobian, norm_of_solution
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

STAGES, SYSTEMS, MIDDLE = 7, 4, 3
STAGE_GROUPS = 1
MOST_ITERATIONS = 10
# the Newton error left over, in units of the tolerance, and at most, because the next predictor multiplies it
LEFT_OVER, MOST_LEFT_OVER = 0.02, 2e-10
# the contraction aimed at, the slowest that is waited for, and what is not waited for at all
CONTRACTION, SLOWEST, HOPELESS = 0.25, 0.8, 2.0
# a predictor reaches at most so many steps ahead; plain time serves steps shorter than this share of the age
FARTHEST, STRETCHED_FROM = 20.0, 1e-3
FASTEST_GROWTH = 4.0
# errors that stand for Newton iterations that did not converge, and for values that are not finite
NOT_CONVERGED, NO_VALUE = 256.0, 1e20


def implicit_step(w: Workspace, s: Workspace, l: i64) -> None:
    """`y_new` and `error` of lane l after a step of its size; `s` has all lanes for this one trajectory."""
    occupy(w, s, l)
    remember(w, l)
    h = w.step[l]
    w.has_tried[l] = 1
    w.tried_step[l] = h
    w.tried_start[l] = w.t[l]
    w.tried_end[l] = w.target[l] if w.clipped[l] != 0 else w.t[l] + h
    w.tried_kinks[l] = w.counts[KINKS * LANES + l]
    w.tried_age[l] = w.age[l]
    w.tried_stretch[l] = 0.0
    length = h
    if w.age[l] > 0.0 and h > STRETCHED_FROM * w.age[l]:
        w.tried_stretch[l] = logarithm(1.0 + h / w.age[l])
        length = w.age[l] * w.tried_stretch[l]
    for i in range(STAGES):
        w.omega[i] = 1.0
        if w.tried_stretch[l] > 0.0:
            w.omega[i] = exponential(node(i) * w.tried_stretch[l])
    tolerance = fmax(w.rtol[l], LEAST_TOLERANCE)
    for j in range(w.dim):
        w.scales[j] = tolerance * (w.atol[l] / w.rtol[l] + fabs(w.y[j * LANES + l]))
    is_predicted = predict(w, l)
    linearise(w, s, l, is_predicted, length)
    w.limit[l] = h
    w.error[l] = iterate(w, s, l, length, tolerance)
    if w.error[l] < 1.0:
        w.error[l] = estimated_error(w, s, l, length)
        last = w.increments + ((STAGES - 1) // LANES * w.dim * LANES + (STAGES - 1) % LANES)
        for j in range(w.dim):
            w.y_new[j * LANES + l] = w.y[j * LANES + l] + last[j * LANES]
        keep(w.increments, w.tried + l * STAGE_GROUPS * w.dim * LANES, STAGE_GROUPS * w.dim * LANES)
        if w.error[l] <= 1.0 and w.n_observed + w.n_gates > 0:
            look_at_thirds(w, s, l)
    w.is_drowned[l] = 0
    if w.error[l] > 1.0 and h < HARDLY_ANY * w.t[l] and rounding_errors(w, s, l) > AUDIBLE:
        w.is_drowned[l] = 1


def occupy(w: Workspace, s: Workspace, l: i64) -> None:
    """The data, gates and state of lane l in all lanes of `s` and of `base`."""
    if s.trajectory[0] != w.trajectory[l] or s.stage[0] != w.stage[l]:
        s.trajectory[0] = w.trajectory[l]
        s.stage[0] = w.stage[l]
        spread(w.constants, s.constants, w.n_constants, l)
    spread(w.gates, s.gates, w.n_gates, l)
    spread(w.members, s.members, w.n_gates, l)
    for c in range(LANES):
        s.slides[c] = w.slides[l]
        for r in range(w.slides[l]):
            s.representative[r * LANES + c] = w.representative[r * LANES + l]
    s.n_sliding = LANES if w.slides[l] > 0 else 0
    spread(w.y, w.base, w.dim, l)


def spread(values: Doubles, everywhere: Doubles, n: i64, l: i64) -> None:
    """Lane l in all lanes."""
    for i in range(n):
        x = values[i * LANES + l]
        for c in range(LANES):
            everywhere[i * LANES + c] = x


def keep(values: Doubles, copy: Doubles, n: i64) -> None:
    for i in range(n):
        copy[i] = values[i]


def remember(w: Workspace, l: i64) -> None:
    """What the step tried last tells, once its trajectory has moved: a polynomial to go on with, and the age."""
    if w.has_tried[l] == 0 or w.t[l] == w.tried_start[l]:
        return
    w.has_tried[l] = 0
    w.has_history[l] = 0
    if w.t[l] != w.tried_end[l] or w.counts[KINKS * LANES + l] != w.tried_kinks[l]:
        w.norm[l] = 0.0
        w.age[l] = 0.0
        return
    w.has_history[l] = 1
    w.history_step[l] = w.tried_step[l]
    w.history_age[l] = w.tried_age[l]
    w.history_stretch[l] = w.tried_stretch[l]
    size = STAGE_GROUPS * w.dim * LANES
    keep(w.tried + l * size, w.history + l * size, size)
    w.age[l] = 0.0
    between = w.tried_middle[l] - w.middle[l]
    if w.norm[l] > w.tried_norm[l] and between > 0.0:
        w.age[l] = between / (1.0 - w.tried_norm[l] / w.norm[l]) + (w.t[l] - w.tried_middle[l])
    w.norm[l] = w.tried_norm[l]
    w.middle[l] = w.tried_middle[l]


def elapsed(w: Workspace, l: i64, i: i64) -> f64:
    """Time from the beginning of the step to its stage i."""
    if w.tried_stretch[l] > 0.0:
        return w.tried_age[l] * (w.omega[i] - 1.0)
    return node(i) * w.tried_step[l]


def predict(w: Workspace, l: i64) -> i64:
    """Stages to start from: on the polynomial of the last step (1), or all at its end (0)."""
    before = w.history_step[l]
    if w.has_history[l] == 0 or w.tried_step[l] > FARTHEST * before:
        for p in range(STAGE_GROUPS * w.dim * LANES):
            w.increments[p] = 0.0
            w.states[p] = w.base[p % (w.dim * LANES)]
    else:
        for i in range(STAGES):
            t = before + elapsed(w, l, i)
            x = t / before
            if w.history_stretch[l] > 0.0:
                x = logarithm(1.0 + t / w.history_age[l]) / w.history_stretch[l]
            lagrange(w.weights + i, x, STAGE_GROUPS * LANES)
            w.weights[(STAGES - 1) * STAGE_GROUPS * LANES + i] -= 1.0
        w.history_here = w.history + l * STAGE_GROUPS * w.dim * LANES
        gather(w)
    transform(w)
    return 1 if w.has_history[l] != 0 and w.tried_step[l] <= FARTHEST * before else 0


def lagrange(weights: Doubles, x: f64, stride: i64) -> None:
    """Weights at x of the values at the seven nodes; the value at 0 is 0."""
    product = x
    for k in range(STAGES):
        weights[k * stride] = product * barycentric_weight(k + 1)
        product *= x - node(k)
    product = 1.0
    for k in range(STAGES):
        i = STAGES - 1 - k
        weights[i * stride] *= product
        product *= x - node(i)


def linearise(w: Workspace, s: Workspace, l: i64, is_predicted: i64, length: f64) -> None:
    """The Jacobian in the middle of the predicted step, and the systems' matrices factorised."""
    place = MIDDLE // LANES * w.dim * LANES + MIDDLE % LANES
    for j in range(w.dim):
        x = w.states[j * LANES + place]
        for c in range(LANES):
            s.y[j * LANES + c] = x
    w.tried_norm[l] = jacobian(w, s, w.atol[l] / w.rtol[l])
    w.counts[EVALUATIONS * LANES + l] += w.dim
    weight = 1.0
    w.tried_middle[l] = w.t[l]
    if is_predicted != 0:
        weight = w.omega[MIDDLE]
        w.tried_middle[l] += elapsed(w, l, MIDDLE)
    for p in range(w.dim * w.dim):
        w.jacobian[p] *= weight
    for q in range(SYSTEMS):
        w.multiplier_re[q] = eigenvalue_re(q) / length
        w.multiplier_im[q] = eigenvalue_im(q) / length
    factorise(w)


def iterate(w: Workspace, s: Workspace, l: i64, length: f64, tolerance: f64) -> f64:
    """Newton iterations: 0, or an error that stands for their failure. Also how long a step they would bear."""
    left_over = fmax(fmin(LEFT_OVER * w.rtol[l], MOST_LEFT_OVER), 100.0 * EPSILON) / tolerance
    contraction = 0.0
    last = 0.0
    last_contraction = 0.0
    for n in range(MOST_ITERATIONS):
        for g in range(STAGE_GROUPS):
            evaluate(s, w.states + g * w.dim * LANES, w.slopes + g * w.dim * LANES)
        w.counts[EVALUATIONS * LANES + l] += STAGES
        w.iterations[l] = n + 1
        residual(w)
        substitute(w)
        correct(w)
        size = 0.0
        for i in range(STAGES):
            size += w.sums[i]
        size = sqrt(size / (STAGES * w.dim))
        if not (size < 1e100):
            return NO_VALUE
        if n == 0:
            if size <= 0.1 * left_over and hides_nothing(w, s, l, length, left_over) != 0:
                w.limit[l] = FASTEST_GROWTH * w.tried_step[l]
                return 0.0
        else:
            now = size / last
            contraction = now if n == 1 else sqrt(now * last_contraction)
            last_contraction = now
            # the first correction may be small by luck, so the second tells little
            if now > HOPELESS or (n > 1 and contraction >= SLOWEST):
                return NOT_CONVERGED
            contraction = fmin(contraction, SLOWEST)
            remaining = size * contraction / (1.0 - contraction)
            if remaining <= left_over and hides_nothing(w, s, l, length, left_over) != 0:
                w.limit[l] = w.tried_step[l] * fmin(FASTEST_GROWTH, fmax(0.5, CONTRACTION / fmax(contraction, 1e-3)))
                return 0.0
            for _ in range(n + 1, MOST_ITERATIONS):
                remaining *= contraction
            if remaining > left_over and n > 1:
                return NOT_CONVERGED
        last = size
    return NOT_CONVERGED


def estimated_error(w: Workspace, s: Workspace, l: i64, length: f64) -> f64:
    """The norm of (λ_0/h - J)⁻¹ (f_0 + Σ e_i z_i / h); smoothed again where that alone would refuse a first step."""
    for j in range(w.dim):
        total = 0.0
        for i in range(STAGES):
            total += estimate_weight(i) * w.increments[(i // LANES * w.dim + j) * LANES + i % LANES]
        w.combined[j] = total / length
        w.right_re[j * LANES] = w.k[j * LANES + l] + w.combined[j]
        w.right_im[j * LANES] = 0.0
    substitute(w)
    error = norm_of_solution(w)
    if error >= 1.0 and w.has_history[l] == 0:
        for j in range(w.dim):
            for c in range(LANES):
                s.y_stage[j * LANES + c] = w.base[j * LANES + c] + w.solution_re[j * LANES]
        evaluate(s, s.y_stage, s.spare)
        w.counts[EVALUATIONS * LANES + l] += 1
        for j in range(w.dim):
            w.right_re[j * LANES] = s.spare[j * LANES] + w.combined[j]
        substitute(w)
        error = norm_of_solution(w)
    return error if error < NO_VALUE else NO_VALUE


def look_at_thirds(w: Workspace, s: Workspace, l: i64) -> None:
    """What is watched at two inner points of the step, on its polynomial."""
    spread(w.y, s.y_stage, w.dim, l)
    inside(w, l, THIRD, s.y_stage, 0)
    inside(w, l, TWO_THIRDS, s.y_stage, 1)
    evaluate_watched(s, s.y_stage, s.spare, s.spare_values)
    w.counts[EVALUATIONS * LANES + l] += 2
    for i in range(w.n_watched):
        w.at_third[i * LANES + l] = s.spare_values[i * LANES]
        w.at_two_thirds[i * LANES + l] = s.spare_values[i * LANES + 1]


def inside(w: Workspace, l: i64, fraction: f64, states: Doubles, lane: i64) -> None:
    """The state at a fraction of the step tried last, written into a lane."""
    x = fraction
    if w.tried_stretch[l] > 0.0:
        x = logarithm(1.0 + fraction * w.tried_step[l] / w.tried_age[l]) / w.tried_stretch[l]
    lagrange(w.inner, x, 1)
    increments = w.tried + l * STAGE_GROUPS * w.dim * LANES
    for j in range(w.dim):
        total = 0.0
        for i in range(STAGES):
            total += w.inner[i] * increments[(i // LANES * w.dim + j) * LANES + i % LANES]
        states[j * LANES + lane] = w.y[j * LANES + l] + total
