"""Shares of open gates on the switching surfaces a state lies on, as in `flowsys.integrate.complementarity`.

The velocities of n surfaces are v = a + B λ. Vectors and matrices here belong to one lane and lie densely in memory,
rows of B one after the other. Every surface gives way by `YIELD` of its own width, which makes shares unique where
surfaces depend on each other.
"""

from flowsys.kernels.native.intrinsics import fabs, fmax
from flowsys.kernels.restricted import Doubles, f64, i64

YIELD = 1e-9
REFINEMENTS = 3
MAX_PIVOTS = 200
FOREVER = 1e300
# a surface rests on those slid on if neither it nor the opening of its gates moves it by more of its width
RESTS = 1e-6


def yielding(n: i64, B: Doubles, i: i64, j: i64) -> f64:
    """An entry of B with its surface's yield."""
    x = B[i * n + j]
    return x - YIELD * fabs(x) if i == j else x


def invert(n: i64, A: Doubles, X: Doubles) -> None:
    """X ← A⁻¹ by elimination with row exchanges; A is used up. A singular A leaves infinities."""
    for i in range(n):
        for j in range(n):
            X[i * n + j] = 1.0 if i == j else 0.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if fabs(A[i * n + k]) > fabs(A[pivot * n + k]):
                pivot = i
        if pivot != k:
            for j in range(n):
                kept = A[k * n + j]
                A[k * n + j] = A[pivot * n + j]
                A[pivot * n + j] = kept
                kept = X[k * n + j]
                X[k * n + j] = X[pivot * n + j]
                X[pivot * n + j] = kept
        scale = 1.0 / A[k * n + k]
        for j in range(n):
            A[k * n + j] *= scale
            X[k * n + j] *= scale
        for i in range(n):
            if i != k:
                factor = A[i * n + k]
                for j in range(n):
                    A[i * n + j] -= factor * A[k * n + j]
                    X[i * n + j] -= factor * X[k * n + j]


def slid_shares(n: i64, a: Doubles, B: Doubles, shares: Doubles, inverse: Doubles, work: Doubles) -> None:
    """Shares under which no surface moves, B λ = -a, and the inverse of B; `work` holds n² + n numbers."""
    for i in range(n):
        shares[i] = 0.5
        for j in range(n):
            work[i * n + j] = yielding(n, B, i, j)
    invert(n, work, inverse)
    v = work + n * n
    for _ in range(REFINEMENTS):
        for i in range(n):
            v[i] = a[i]
            for j in range(n):
                v[i] += B[i * n + j] * shares[j]
        for i in range(n):
            for j in range(n):
                shares[i] -= inverse[i * n + j] * v[j]


def admit(n: i64, a: Doubles, B: Doubles, shares: Doubles, held: Doubles, p: i64, work: Doubles) -> i64:
    """Find the place of surface p, met at its bound by a flow that slides where `held` is 1; 0 if there is none.

    Its share is driven from its bound towards the other, the others respond, some are let go or taken hold of on the
    way, until its velocity vanishes or the bound is reached. Surfaces with `held` -1 are not looked at yet. `work`
    holds 2n² + 3n numbers.
    """
    held[p] = 0.0
    v = work
    dv = work + n
    direction = work + 2 * n
    matrices = work + 3 * n
    way = 1.0 if shares[p] <= 0.5 else -1.0
    goal = 0.5 + 0.5 * way
    hold(n, a, B, shares, held, v, matrices)
    arrives = way * v[p]
    if arrives <= 0.0:
        # only grazed, or moved by nothing: gone through if the flow beyond goes on
        respond(n, B, held, p, way, direction, dv, matrices)
        beyond = way * (v[p] + fabs(goal - shares[p]) * dv[p])
        if beyond <= 0.0 and (arrives < 0.0 or beyond == 0.0):
            return 1
    for _ in range(MAX_PIVOTS):
        velocities(n, a, B, shares, v)
        respond(n, B, held, p, way, direction, dv, matrices)
        best = fabs(goal - shares[p])
        what = -1
        if arrives >= 0.0 and way * dv[p] < 0.0 and fmax(-v[p] / dv[p], 0.0) < best:
            best = fmax(-v[p] / dv[p], 0.0)
            what = p
        for j in range(n):
            length = path_length(v[j], dv[j], shares[j], direction[j], held[j])
            if j != p and length < best:
                best = length
                what = j
        for j in range(n):
            shares[j] += best * direction[j]
        if what == -1:
            shares[p] = goal
            return 1
        if what == p:
            held[p] = 1.0
            return 1
        if held[what] > 0.0:
            held[what] = 0.0
            shares[what] = 1.0 if shares[what] > 0.5 else 0.0
        else:
            held[what] = 1.0
    return 0


def path_length(v: f64, dv: f64, share: f64, direction: f64, held: f64) -> f64:
    """How far the path goes until a slid surface's share reaches a bound, or another surface's velocity vanishes."""
    if held < 0.0:
        return FOREVER
    if held > 0.0:
        if direction == 0.0:
            return FOREVER
        bound = 1.0 if direction > 0.0 else 0.0
        return fmax((bound - share) / direction, 0.0)
    comes = dv > 0.0 if share <= 0.5 else dv < 0.0
    return fmax(-v / dv, 0.0) if comes != 0 else FOREVER


def velocities(n: i64, a: Doubles, B: Doubles, shares: Doubles, v: Doubles) -> None:
    for i in range(n):
        v[i] = a[i] + 0.5 * YIELD * fabs(B[i * n + i])
        for j in range(n):
            v[i] += yielding(n, B, i, j) * shares[j]


def rests(n: i64, a: Doubles, B: Doubles, shares: Doubles, held: Doubles, p: i64, work: Doubles) -> i64:
    """Whether the surfaces slid on keep surface p where it is, whatever its gates: it depends on them."""
    v = work
    dv = work + n
    hold(n, a, B, shares, held, v, work + 3 * n)
    respond(n, B, held, p, 1.0, work + 2 * n, dv, work + 3 * n)
    slowest = RESTS * fabs(B[p * n + p])
    return 1 if fabs(v[p]) <= slowest and fabs(dv[p]) <= slowest else 0


def invert_held(n: i64, B: Doubles, held: Doubles, matrices: Doubles) -> i64:
    """The inverse of B among the m surfaces slid on, at `matrices` + n²; m."""
    m = 0
    for i in range(n):
        if held[i] > 0.0:
            k = 0
            for j in range(n):
                if held[j] > 0.0:
                    matrices[m * n + k] = yielding(n, B, i, j)
                    k += 1
            m += 1
    # rows lie n apart so far, m apart from here on
    for i in range(m):
        for j in range(m):
            matrices[i * m + j] = matrices[i * n + j]
    invert(m, matrices, matrices + n * n)
    return m


def shift_held(n: i64, held: Doubles, residual: Doubles, m: i64, inverse: Doubles, x: Doubles) -> None:
    """x ← x - B⁻¹ residual on the surfaces slid on."""
    k = 0
    for i in range(n):
        if held[i] > 0.0:
            c = 0
            for j in range(n):
                if held[j] > 0.0:
                    x[i] -= inverse[k * m + c] * residual[j]
                    c += 1
            k += 1


def hold(n: i64, a: Doubles, B: Doubles, shares: Doubles, held: Doubles, v: Doubles, matrices: Doubles) -> None:
    """Shares of the surfaces slid on under which they do not move, the other shares as they are; all velocities."""
    m = invert_held(n, B, held, matrices)
    for _ in range(REFINEMENTS):
        velocities(n, a, B, shares, v)
        shift_held(n, held, v, m, matrices + n * n, shares)
    velocities(n, a, B, shares, v)


def respond(
    n: i64, B: Doubles, held: Doubles, p: i64, way: f64, direction: Doubles, dv: Doubles, matrices: Doubles
) -> None:
    """How shares and velocities change along the path: share p moves, the slid surfaces do not."""
    m = invert_held(n, B, held, matrices)
    for i in range(n):
        direction[i] = 0.0
    direction[p] = way
    for r in range(REFINEMENTS + 1):
        for i in range(n):
            dv[i] = 0.0
            for j in range(n):
                dv[i] += yielding(n, B, i, j) * direction[j]
        if r < REFINEMENTS:
            shift_held(n, held, dv, m, matrices + n * n, direction)
