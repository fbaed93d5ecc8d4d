"""Shares of open gates on the switching surfaces a state lies on: a linear complementarity problem in a box.

Where the field is affine in the gates λ ∈ [0, 1]ⁿ of n surfaces h = 0, so are the velocities, dh/dt = v = a + B λ.
Sought are shares with

    λ_i = 0 and v_i ≤ 0,    λ_i = 1 and v_i ≥ 0,    or 0 < λ_i < 1 and v_i = 0 (the flow slides along surface i).

For a gradient flow B = -G diag(φ), with G the Gram matrix of the ∇h_i and φ_i = ∂loss/∂relu_i. Where φ > 0 the problem
is convex in φλ: there is a solution, its velocity is the only one, and smoothed flows converge to it. A surface with
φ_i < 0 is only crossed, or repels.

The problem is solved along a path (principal pivoting): all surfaces but one satisfy the conditions; the share of the
last one is driven from its bound towards the other, the others respond, some are let go or taken hold of on the way,
until its velocity vanishes or the other bound is reached. Where surfaces depend on each other (symmetric states, more
of them than dimensions) the shares are not unique: every surface gives way by `YIELD` of its own width, which chooses
the shares nearest to 1/2 and changes no velocity by more.
"""

import numpy as np

YIELD = 1e-9
# a surface rests on those slid on if neither it nor the opening of its gates moves it by more of its width
RESTS = 1e-6
# of shares, after which only what the surfaces' dependence leaves open is the yield's choice
REFINEMENTS = 3
_MAX_PIVOTS = 200


def slid_shares(a: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Shares under which no surface moves: B λ = -a, nearest to 1/2 where they are not unique."""
    inverse = np.linalg.inv(B - YIELD * np.diag(np.abs(np.diagonal(B))))
    shares = np.full(len(a), 0.5)
    for _ in range(REFINEMENTS):
        shares = shares - inverse @ (a + B @ shares)
    return shares


def admit(a: np.ndarray, B: np.ndarray, shares: np.ndarray, held: np.ndarray, p: int):
    """Shares and slid surfaces once surface p, met at its bound by a flow that slides on `held`, has found its place.

    None if the path finds no solution, which needs a surface that repels.
    """
    width = np.abs(np.diagonal(B))
    a, B = a + 0.5 * YIELD * width, B - YIELD * np.diag(width)
    shares, held = np.array(shares, dtype=float), np.array(held, dtype=bool)
    way = 1.0 if shares[p] <= 0.5 else -1.0
    goal = 0.5 + 0.5 * way
    S = np.flatnonzero(held)
    shares[S] -= np.linalg.solve(B[np.ix_(S, S)], (a + B @ shares)[S])
    arrives = way * (a + B @ shares)[p]
    beyond = arrives + abs(goal - shares[p]) * way * (B @ _response(B, held, p, way))[p]
    if (arrives < 0 and beyond <= 0) or arrives == beyond == 0:
        # only grazed, or moved by nothing, and the flow beyond does not go on
        return shares, held
    for _ in range(_MAX_PIVOTS):
        v = a + B @ shares
        v[held] = 0.0
        direction = _response(B, held, p, way)
        dv = B @ direction
        best, what = abs(goal - shares[p]), -1
        if arrives >= 0 and way * dv[p] < 0 and max(-v[p] / dv[p], 0.0) < best:
            best, what = max(-v[p] / dv[p], 0.0), p
        for j in range(len(a)):
            if j == p:
                continue
            length = np.inf
            if held[j] and direction[j] != 0:
                length = max(((1.0 if direction[j] > 0 else 0.0) - shares[j]) / direction[j], 0.0)
            elif not held[j] and (dv[j] > 0 if shares[j] <= 0.5 else dv[j] < 0):
                length = max(-v[j] / dv[j], 0.0)
            if length < best:
                best, what = length, j
        shares += best * direction
        if what == -1:
            shares[p] = goal
            return shares, held
        if what == p:
            held[p] = True
            return shares, held
        held[what] = not held[what]
        if not held[what]:
            shares[what] = round(shares[what])
    return None


def placed(a: np.ndarray, B: np.ndarray, gates: np.ndarray, n_held: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Shares and slid surfaces once all surfaces but the first `n_held`, slid on so far, have found their places."""
    shares, held = np.where(np.arange(len(a)) < n_held, 0.5, gates), np.arange(len(a)) < n_held
    for p in range(n_held, len(a)):
        now, later = slice(0, p + 1), slice(p + 1, None)
        found = admit(a[now] + B[now, later] @ shares[later], B[now, now], shares[now], held[now], p)
        if found is None:
            return None
        shares[now], held[now] = found
    return shares, held


def rests(a: np.ndarray, B: np.ndarray, shares: np.ndarray, held: np.ndarray, p: int) -> bool:
    """Whether the surfaces slid on keep surface p where it is, whatever its gates: it depends on them."""
    width, S = np.abs(np.diagonal(B)), np.flatnonzero(held)
    a, B, shares = a + 0.5 * YIELD * width, B - YIELD * np.diag(width), np.array(shares)
    shares[S] -= np.linalg.solve(B[np.ix_(S, S)], (a + B @ shares)[S])
    opening = B @ _response(B, held, p, 1.0)
    return bool(max(abs((a + B @ shares)[p]), abs(opening[p])) <= RESTS * width[p])


def _response(B: np.ndarray, held: np.ndarray, p: int, way: float) -> np.ndarray:
    """How the shares change along the path: that of p moves, the slid surfaces do not."""
    direction = np.zeros(len(B))
    direction[p] = way
    S = np.flatnonzero(held)
    direction[S] = np.linalg.solve(B[np.ix_(S, S)], -B[S, p] * way)
    return direction
