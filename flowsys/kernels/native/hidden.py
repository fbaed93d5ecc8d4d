"""Errors that the Newton matrix hides: of stages where the field is no longer as stiff as in the middle of the step.

A correction is x = (1 - h a J)⁻¹ d, with the defect d and the Jacobian J of the middle. Past the place where stiffness
ends (a neuron saturates) the Jacobian J_i is small, the error is d, and the correction only the part 1/(1 + h a |J|) of
it: so small from the first, down to the last digit, that neither its size nor its pace tells. What tells is a look
along the correction, x_i: the next defect is h a (J_i - J) x_i, and the error it stands for

    h a |(J_i - J) x_i| / (1 + h a |J_i x_i| / |x_i|).

J_i x_i is exact, by the program's tangent, of all stages at once. Where there is none (on a sliding surface, in
programs too large to have it compiled) nobody looks: in difference quotients the state's last digit drowns what is
looked for. Nor in steps that hardly move the time: a flow that rests on the edge of a stiff region has stages on either
side of it, however short the step.
"""

from flowsys.kernels.native.constants import EVALUATIONS, LANES
from flowsys.kernels.native.drowning import HARDLY_ANY
from flowsys.kernels.native.intrinsics import eigenvalue_re, invoke, sqrt
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import f64, i64

STAGES = 7
STAGE_GROUPS = 1


def hides_nothing(w: Workspace, s: Workspace, l: i64, length: f64, enough: f64) -> i64:
    """Whether the error that is left, in units of the scales, is small `enough`."""
    reach = length / eigenvalue_re(0)
    if w.step[l] < HARDLY_ANY * w.t[l] or s.n_sliding > 0 or w.has_tangent == 0:
        return 1
    if reach * expected_changes(w) <= enough:
        return 1
    for g in range(STAGE_GROUPS):
        first = g * w.dim * LANES
        invoke(
            w.tangent, w.states + first, w.changes + first, w.found + first,
            s.constants, s.gates, s.scratch, s.layout, s.indices,
        )  # fmt: skip
    w.counts[EVALUATIONS * LANES + l] += STAGES
    return 1 if hidden_error(w, reach) <= enough else 0


def hidden_error(w: Workspace, reach: f64) -> f64:
    """The norm of what the last corrections leave where they miss more than they correct."""
    total = 0.0
    for i in range(STAGES):
        missed = 0.0
        felt = 0.0
        for j in range(w.dim):
            p = (i // LANES * w.dim + j) * LANES + i % LANES
            found = w.omega[i] * w.found[p] / w.scales[j]
            differs = found - w.expected[p] / w.scales[j]
            missed += differs * differs
            felt += found * found
        error = 0.0
        if w.sums[i] > 0.0:
            error = reach * sqrt(missed) / (1.0 + reach * sqrt(felt / w.sums[i]))
        if error * error > w.sums[i]:
            total += error * error
    return sqrt(total / (STAGES * w.dim))


def expected_changes(w: Workspace) -> f64:
    """J x of all stages, and its norm."""
    total = 0.0
    for i in range(STAGES):
        first = i // LANES * w.dim * LANES + i % LANES
        for j in range(w.dim):
            change = 0.0
            for k in range(w.dim):
                change += w.jacobian[j * w.dim + k] * w.changes[first + k * LANES]
            w.expected[first + j * LANES] = change
            total += change / w.scales[j] * (change / w.scales[j])
    return sqrt(total / (STAGES * w.dim))
