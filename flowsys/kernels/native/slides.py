"""Slides begun, joined and left: which surfaces a lane slides on.

At a further surface the shares of all surfaces the state lies on are solved for (`complementarity`): the flow goes
through, or slides on this one too, and some of the others may let go. Where gates multiply gates the field is not
affine in the shares; the flow then goes through if it moves off beyond as it arrives, and is left to others
(`CANNOT_SLIDE`) if not.

A surface that depends on those slid on is kept where it is by them, whatever its gates: it rests, at a bound of its
share (`members` is -1), and is looked at again when what the flow slides on changes.
"""

from flowsys.kernels.native.complementarity import admit, rests
from flowsys.kernels.native.constants import AFFINE, ALONE, EVALUATIONS, LANES, SLIDES, TOUCHES
from flowsys.kernels.native.field import corners, refresh
from flowsys.kernels.native.intrinsics import fabs, fmax, invoke
from flowsys.kernels.native.ledger import log_slide
from flowsys.kernels.native.stepping import starting_step
from flowsys.kernels.records import Batch, Workspace
from flowsys.kernels.restricted import f64, i64


def begin_slide(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """Follow the surface of gate g from here on."""
    take_hold(w, l, g)
    w.counts[SLIDES * LANES + l] += 1
    log_slide(w, b, l)
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)


def take_hold(w: Workspace, l: i64, g: i64) -> None:
    """The surface met is one more to slide on; a gate that rested on it too."""
    if w.slides[l] == 0:
        w.n_sliding += 1
    w.representative[w.slides[l] * LANES + l] = g
    w.slides[l] += 1
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
            w.members[i * LANES + l] = w.slides[l]


def let_go(w: Workspace, l: i64, s: i64, gate: f64, stays: i64) -> None:
    """Surface s is slid on no more; its gates stand as given, and rest where the other surfaces keep it."""
    for i in range(w.n_gates):
        p = i * LANES + l
        if w.members[p] == s + 1:
            w.members[p] = -1.0 if stays != 0 and w.slides[l] > 1 else 0.0
            w.gates[p] = gate
        elif w.members[p] > s + 1:
            w.members[p] -= 1.0
    w.slides[l] -= 1
    for r in range(s, w.slides[l]):
        w.representative[r * LANES + l] = w.representative[(r + 1) * LANES + l]
    if w.slides[l] == 0:
        w.n_sliding -= 1


def leave_surface(w: Workspace, b: Batch, l: i64, g: i64) -> None:
    """Gate g comes off its surface; or the surface that it represents lets go, on the side its share has reached.

    Where opening the gate pushes up (B_ss > 0) the surface lets go on the side away from it.
    """
    refresh(w, l)
    found = -1
    for r in range(w.slides[l]):
        if w.representative[r * LANES + l] == g:
            found = r
    if found < 0:
        come_off(w, l, g)
    else:
        n = w.slides[l]
        shares = w.work
        held = w.work + n
        for r in range(n):
            shares[r] = w.shares[r * LANES + l]
            held[r] = 0.0 if r == found else 1.0
        side = 1.0 if shares[found] > 0.5 else 0.0
        side = side if width_of(w, l, found) < 0.0 else 1.0 - side
        shares[found] = side
        a = w.matrix + l * w.matrix_size
        stays = rests(n, a, a + n, shares, held, found, w.work + 2 * n)
        wake(w, l)
        let_go(w, l, found, side, stays)
        log_slide(w, b, l)
    for i in range(w.n_gates):
        w.crossed[i * LANES + l] = 0.0
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)


def come_off(w: Workspace, l: i64, g: i64) -> None:
    """A gate that was said to lie on a surface does not: it is on the side its switching function tells."""
    w.members[g * LANES + l] = 0.0
    refresh(w, l)
    w.gates[g * LANES + l] = 1.0 if w.at_start[(w.n_observed + g) * LANES + l] > 0.0 else 0.0


def wake(w: Workspace, l: i64) -> None:
    """What the flow slides on changes: nothing rests any more."""
    for i in range(w.n_gates):
        if w.members[i * LANES + l] < 0.0:
            w.members[i * LANES + l] = 0.0


def width_of(w: Workspace, l: i64, s: i64) -> f64:
    """B_ss: what opening a surface's gates does to its own velocity."""
    B = w.matrix + l * w.matrix_size + w.slides[l]
    return B[s * w.slides[l] + s]


def meet_together(w: Workspace, b: Batch, l: i64, g: i64, same_velocity: f64) -> i64:
    """On the surface of gate g (`met`), and perhaps others: go through or slide; 0 if neither can be followed.

    ALONE if gates multiply gates and the flow does not slide yet: the surface is then met as if there were no others.
    """
    before = w.slides[l]
    n = touch(w, l, g)
    if n == 0:
        return 0
    w.counts[EVALUATIONS * LANES + l] += 2 * n + 2
    a = w.matrix + l * w.matrix_size
    shares = w.work
    held = w.work + n
    work = w.work + 2 * n
    if n > 1 and is_affine(w, l) == 0:
        give_back(w, l, before)
        if before == 0:
            return ALONE
        return goes_through(w, b, l, g, same_velocity) if before == 1 else 0
    for s in range(n):
        shares[s] = 0.5 if s < before else w.gates[w.representative[s * LANES + l] * LANES + l]
        held[s] = 1.0 if s < before else -1.0
    for s in range(before, n):
        if admit(n, a, a + n, shares, held, s, work) == 0:
            give_back(w, l, before)
            return 0
    is_changed = 0
    for s in range(n):
        if (held[s] > 0.0) != (s < before):
            is_changed = 1
        if held[s] > 0.0 and s >= before:
            w.counts[SLIDES * LANES + l] += 1
    if is_changed != 0:
        wake(w, l)
    for r in range(n):
        s = n - 1 - r
        if held[s] <= 0.0:
            let_go(w, l, s, shares[s], rests(n, a, a + n, shares, held, s, work))
    if is_changed != 0:
        log_slide(w, b, l)
    if w.members[g * LANES + l] < 0.0:
        w.hurried[l] -= 1
    refresh(w, l)
    w.proposed[l] = starting_step(w, l)
    return 1


def touch(w: Workspace, l: i64, g: i64) -> i64:
    """Take hold of the surface of gate g and of all others the state lies on, for a look; how many there are then."""
    corners(w, w.y, l, g)
    gate = w.gates[g * LANES + l]
    for i in range(w.n_gates):
        if w.met[i * LANES + l] > 0.0:
            w.gates[i * LANES + l] = gate
    if w.slides[l] >= w.n_surfaces:
        return 0
    take_hold(w, l, g)
    h = w.at_start + w.n_observed * LANES
    for i in range(w.n_gates):
        p = i * LANES + l
        if w.members[p] == 0.0 and fabs(h[p]) <= TOUCHES and w.slides[l] < w.n_surfaces:
            for q in range(w.n_gates):
                w.met[q * LANES + l] = 1.0 if q == i else 0.0
            take_hold(w, l, i)
    corners(w, w.y, -1, 0)
    for i in range(w.n_gates):
        w.met[i * LANES + l] = 1.0 if w.members[i * LANES + l] == w.members[g * LANES + l] else 0.0
    return w.slides[l]


def touches_another(w: Workspace, l: i64, g: i64) -> i64:
    """Whether the state lies on another surface than that of gate g (`met`)."""
    h = w.at_start + w.n_observed * LANES
    for i in range(w.n_gates):
        p = i * LANES + l
        if i != g and w.met[p] == 0.0 and fabs(h[p]) <= TOUCHES:
            return 1
    return 0


def give_back(w: Workspace, l: i64, before: i64) -> None:
    """Surfaces taken hold of for a look are none to slide on; their gates stand as they stood."""
    while w.slides[l] > before:
        s = w.slides[l] - 1
        let_go(w, l, s, w.gates[w.representative[s * LANES + l] * LANES + l], 0)


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
