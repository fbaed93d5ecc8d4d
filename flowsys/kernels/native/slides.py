"""Slides begun, joined and left: which surfaces a lane slides on.

At a further surface the shares of all surfaces the state lies on are solved for (`complementarity`): the flow goes
through, or slides on this one too, and some of the others may let go. Where gates multiply gates the field is not
affine in the shares; the flow then goes through if it moves off beyond as it arrives, and is left to others
(`CANNOT_SLIDE`) if not.
"""

from flowsys.kernels.native.complementarity import admit, slid_shares
from flowsys.kernels.native.constants import AFFINE, EVALUATIONS, LANES, SLIDES
from flowsys.kernels.native.field import corners, refresh
from flowsys.kernels.native.intrinsics import fabs, fmax, invoke
from flowsys.kernels.native.ledger import log_slide
from flowsys.kernels.native.stepping import starting_step
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import Doubles, f64, i64


def begin_slide(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """Follow the surface of gate g from here on."""
    take_hold(w, l, g)
    w.counts[SLIDES * LANES + l] += 1
    log_slide(w, b, l)
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)


def take_hold(w: Workspace, l: i64, g: i64) -> None:
    """The surface met is one more to slide on."""
    if w.slides[l] == 0:
        w.n_sliding += 1
    w.representative[w.slides[l] * LANES + l] = g
    w.slides[l] += 1
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
            w.members[i * LANES + l] = w.slides[l]


def let_go(w: Workspace, l: i64, s: i64, gate: f64) -> None:
    """Surface s is slid on no more; its gates stand as given."""
    for i in range(w.n_gates):
        p = i * LANES + l
        if w.members[p] == s + 1:
            w.members[p] = 0.0
            w.gates[p] = gate
        elif w.members[p] > s + 1:
            w.members[p] -= 1.0
    w.slides[l] -= 1
    for r in range(s, w.slides[l]):
        w.representative[r * LANES + l] = w.representative[(r + 1) * LANES + l]
    if w.slides[l] == 0:
        w.n_sliding -= 1


def leave_surface(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """The surface that gate g represents lets go, on the side its share has reached.

    Where opening the gate pushes up (B_ss > 0) it lets go on the side away from it.
    """
    refresh(w, l)
    s = 0
    for r in range(w.slides[l]):
        if w.representative[r * LANES + l] == g:
            s = r
    side = 1.0 if w.shares[s * LANES + l] > 0.5 else 0.0
    let_go(w, l, s, side if width_of(w, l, s) < 0.0 else 1.0 - side)
    log_slide(w, b, l)
    for i in range(w.n_gates):
        w.crossed[i * LANES + l] = 0.0
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)


def width_of(w: Workspace, l: i64, s: i64) -> f64:
    """B_ss: what opening a surface's gates does to its own velocity."""
    B = w.matrix + l * w.matrix_size + w.slides[l]
    return B[s * w.slides[l] + s]


def meet_another(w: Workspace, b: Batch, l: i64, g: i64, same_velocity: f64) -> i64:
    """While sliding, on the surface of gate g (`met`): go through or slide on it too; 0 if neither can be followed."""
    if w.slides[l] >= w.n_surfaces:
        return 0
    gate = w.gates[g * LANES + l]
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
            w.gates[i * LANES + l] = gate
    take_hold(w, l, g)
    corners(w, w.y)
    w.counts[EVALUATIONS * LANES + l] += w.slides[l] + 2
    n = w.slides[l]
    if is_affine(w, l) == 0:
        let_go(w, l, n - 1, gate)
        return goes_through(w, b, l, g, same_velocity)
    a = w.matrix + l * w.matrix_size
    shares = w.work
    held = w.work + n
    if find_places(n, a, gate, shares, held, w.work + 2 * n) == 0:
        let_go(w, l, n - 1, gate)
        return 0
    is_changed = held[n - 1] > 0.0
    if is_changed != 0:
        w.counts[SLIDES * LANES + l] += 1
    for r in range(n):
        s = n - 1 - r
        if held[s] == 0.0:
            let_go(w, l, s, shares[s])
            if s < n - 1:
                is_changed = 1
    if is_changed != 0:
        log_slide(w, b, l)
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)
    return 1


def find_places(n: i64, a: Doubles, gate: f64, shares: Doubles, held: Doubles, work: Doubles) -> i64:
    """Shares of the n - 1 surfaces slid on so far, then of all n with the last one, which comes with its gate."""
    B = a + n
    m = n - 1
    closed = work
    among = work + m
    for i in range(m):
        closed[i] = a[i] + B[i * n + m] * gate
        for j in range(m):
            among[i * m + j] = B[i * n + j]
    slid_shares(m, closed, among, shares, among + m * m, among + 2 * m * m)
    for i in range(m):
        held[i] = 1.0
    held[m] = 0.0
    shares[m] = gate
    return admit(n, a, B, shares, held, work)


def is_affine(w: Workspace, l: i64) -> i64:
    """Whether opening all surfaces at once does what opening them one by one promises."""
    for g in range(w.n_gates * LANES):
        w.gates_on[g] = 1.0 if w.members[g] > 0.0 else w.gates[g]
    invoke(w.field, w.y, w.spare, w.v_values, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    invoke(w.velocity, w.y, w.spare, w.v_on, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    n = w.slides[l]
    size = 0.0
    parts = 0.0
    worst = 0.0
    for j in range(w.dim):
        p = j * LANES + l
        rest = w.spare[p] - w.columns[p]
        for s in range(n):
            change = w.columns[(s + 1) * w.dim * LANES + p] - w.columns[p]
            rest -= change
            parts += fabs(change)
        size = fmax(size, fabs(w.columns[p]))
        worst = fmax(worst, fabs(rest))
    if worst > AFFINE * (size + parts):
        return 0
    a = w.matrix + l * w.matrix_size
    B = a + n
    size = 0.0
    parts = 0.0
    worst = 0.0
    for i in range(n):
        rest = w.v_on[w.representative[i * LANES + l] * LANES + l] - a[i]
        for j in range(n):
            rest -= B[i * n + j]
            parts += fabs(B[i * n + j])
        size = fmax(size, fabs(a[i]))
        worst = fmax(worst, fabs(rest))
    return 1 if worst <= AFFINE * (size + parts) else 0


def goes_through(w: Workspace, b: Batch, l: i64, g: i64, same_velocity: f64) -> i64:
    """Take a flow that slides on one surface through that of gate g (`met`); 0 if it does not go through.

    It does if it moves off that surface beyond as it arrives at it here. Beyond, the first surface still holds it,
    with another share of its sides, or lets it go at once. Motion within `same_velocity` is none: the two surfaces are
    then one, as far as the flow can tell.
    """
    p = g * LANES + l
    gate = w.gates[p]
    onward = -1.0 if gate > 0.0 else 1.0
    arrives = onward * w.v_now[p]
    set_gates(w, l, 1.0 - gate)
    if w.slides[l] == 1:
        if w.shares[l] <= 0.0 or w.shares[l] >= 1.0 or width_of(w, l, 0) >= 0.0:
            leave_surface(w, b, l, w.representative[l])
        invoke(w.velocity, w.y, w.k, w.v_now, w.constants, w.gates, w.scratch, w.layout, w.indices)
        w.counts[EVALUATIONS * LANES + l] += 1
        if arrives > same_velocity and onward * w.v_now[p] > same_velocity:
            w.proposed[l] = starting_step(w, l)
            return 1
    set_gates(w, l, gate)
    return 0


def set_gates(w: Workspace, l: i64, gate: f64) -> None:
    """Switch the gates of the surface met, and look at the state again."""
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
            w.gates[i * LANES + l] = gate
    refresh(w, l)
