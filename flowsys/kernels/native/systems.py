"""The Jacobian of a trajectory's field, and the linear systems made of it, factorised with row exchanges."""

from flowsys.kernels.native.constants import LANES
from flowsys.kernels.native.field import evaluate
from flowsys.kernels.native.intrinsics import eliminate, fabs, fill, fmax, invoke, sqrt
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Doubles, f64, i64

SYSTEMS, SYSTEM_GROUPS = 4, 1
# a relative change for difference quotients: the square root of the rounding error
CHANGE = 1.5e-8


def jacobian(w: Workspace, s: Workspace, unit: f64) -> f64:
    """∂f/∂y at `s.y`, the same in all lanes, by columns in the lanes; its Frobenius norm.

    Exact, by the program's tangent; by difference quotients on a sliding surface, where the field holds first
    derivatives already, and where the program is too large to have its tangent compiled (`unit` is the size of a state
    that counts).
    """
    n = w.dim
    first = 0
    while first < n:
        for p in range(n * LANES):
            s.spare[p] = 0.0
        if s.n_sliding == 0 and w.has_tangent != 0:
            for c in range(LANES):
                if first + c < n:
                    s.spare[(first + c) * LANES + c] = 1.0
            invoke(w.tangent, s.y, s.spare, s.f_on, s.constants, s.gates, s.scratch, s.layout, s.indices)
            take_columns(w, s.f_on, first)
        else:
            difference_quotients(w, s, first, unit)
        first += LANES
    total = 0.0
    for p in range(n * n):
        total += w.jacobian[p] * w.jacobian[p]
    return sqrt(total)


def take_columns(w: Workspace, columns: Doubles, first: i64) -> None:
    for c in range(LANES):
        if first + c < w.dim:
            for i in range(w.dim):
                w.jacobian[i * w.dim + first + c] = columns[i * LANES + c]


def difference_quotients(w: Workspace, s: Workspace, first: i64, unit: f64) -> None:
    """Columns from `first` on, one a lane."""
    n = w.dim
    evaluate(s, s.y, s.y_new)
    for p in range(n * LANES):
        s.y_stage[p] = s.y[p]
    for c in range(LANES):
        if first + c < n:
            p = (first + c) * LANES + c
            s.y_stage[p] += CHANGE * fmax(fabs(s.y[p]), unit)
    evaluate(s, s.y_stage, s.spare)
    for c in range(LANES):
        if first + c < n:
            p = (first + c) * LANES + c
            change = s.y_stage[p] - s.y[p]
            for i in range(n):
                w.jacobian[i * n + first + c] = (s.spare[i * LANES + c] - s.y_new[i * LANES + c]) / change


def factorise(w: Workspace) -> None:
    """λ/h - J of every system as L U, with row exchanges of its own."""
    n = w.dim
    fill(w)
    for p in range(SYSTEM_GROUPS * n * LANES):
        w.order[p] = p // LANES % n
    for k in range(n):
        for q in range(SYSTEMS):
            g = q // LANES
            exchange(w, w.matrix_re + g * n * n * LANES, w.matrix_im + g * n * n * LANES, g, q % LANES, k)
        w.pivot = k
        eliminate(w)


def exchange(w: Workspace, re: Doubles, im: Doubles, g: i64, lane: i64, k: i64) -> None:
    """Bring the largest entry of column k, in one lane, to its diagonal."""
    n = w.dim
    largest = -1.0
    which = k
    for i in range(k, n):
        p = (i * n + k) * LANES + lane
        size = re[p] * re[p] + im[p] * im[p]
        if size > largest:
            largest = size
            which = i
    if which == k:
        return
    for j in range(n):
        p = (k * n + j) * LANES + lane
        q = (which * n + j) * LANES + lane
        x = re[p]
        re[p] = re[q]
        re[q] = x
        y = im[p]
        im[p] = im[q]
        im[q] = y
    p = (g * n + k) * LANES + lane
    q = (g * n + which) * LANES + lane
    place = w.order[p]
    w.order[p] = w.order[q]
    w.order[q] = place


def norm_of_solution(w: Workspace) -> f64:
    """The solution of the first system in units of the scales, root of the mean square."""
    total = 0.0
    for j in range(w.dim):
        x = w.solution_re[j * LANES] / w.scales[j]
        total += x * x
    return sqrt(total / w.dim)
