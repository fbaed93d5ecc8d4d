"""The slope at a state: the program's field, or Filippov's field in lanes that slide.

A lane slides on `slides` surfaces, numbered from 1 in `members`; each has a gate that represents it. Its field is
affine in the shares λ of their open gates, f_0 + Σ λ_s (f_s - f_0), as are the velocities of the surfaces, a + B λ:
`corners` finds all of it from the field under closed gates and with one surface's gates open at a time. The flow slides
where B λ = -a.

Any stepper can use this, explicit or implicit: `evaluate` gives the slope, smooth also where a share leaves [0, 1]
inside a step; `evaluate_watched` at the end of a step, then `pull_back`, which moves `y_new` onto the surfaces. The
Jacobian that Newton's iteration needs is, up to the surfaces' curvature, (1 - C B⁻¹ ∇h) ∂f/∂y with the gates at their
shares (`gates`, after `refresh`), where column s of C is f_s - f_0 (`columns`), B⁻¹ stands in `inverse`, and the
velocity function multiplies by ∇h.
"""

from flowsys.kernels.native.complementarity import slid_shares
from flowsys.kernels.native.constants import EVALUATIONS, LANES, OFF_SURFACE, SAME_SURFACE
from flowsys.kernels.native.intrinsics import fabs, fmax, invoke
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Doubles, i64


def evaluate(w: Workspace, y: Doubles, f: Doubles) -> None:
    """The slope at y: the field, or Filippov's field in lanes that slide."""
    if w.n_sliding == 0:
        invoke(w.field, y, f, w.v_values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    else:
        sliding_field(w, y, f)
        for l in range(LANES):
            if w.slides[l] == 0:
                for j in range(w.dim):
                    f[j * LANES + l] = w.columns[j * LANES + l]


def evaluate_watched(w: Workspace, y: Doubles, f: Doubles, values: Doubles) -> None:
    """The slope and everything watched at y.

    In place of the switching function that represents a surface slid along stands what turns positive where the surface
    lets go: λ (λ - 1), times B_ss², which also is finite where opening the gate has no effect. In place of those of
    other gates that lie on surfaces stands what turns positive where they come off them.
    """
    invoke(w.watched, y, f, values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    if w.n_sliding > 0:
        sliding_field(w, y, f)
        for l in range(LANES):
            n = w.slides[l]
            B = w.matrix + l * w.matrix_size + n
            for s in range(n):
                i = (w.n_observed + w.representative[s * LANES + l]) * LANES + l
                w.off_surface[s * LANES + l] = values[i]
            if n > 0:
                for g in range(w.n_gates):
                    if w.members[g * LANES + l] != 0.0:
                        i = (w.n_observed + g) * LANES + l
                        values[i] = fabs(values[i]) - OFF_SURFACE
            for s in range(n):
                i = (w.n_observed + w.representative[s * LANES + l]) * LANES + l
                width = B[s * n + s]
                open_part = width * w.shares[s * LANES + l]
                values[i] = open_part * (open_part - width)


def sliding_field(w: Workspace, y: Doubles, f: Doubles) -> None:
    """Filippov's field into the lanes that slide; their shares at y stay in `shares`."""
    corners(w, y, -1, 0)
    shares = w.work
    work = w.work + w.n_surfaces
    for l in range(LANES):
        n = w.slides[l]
        if n > 0:
            a = w.matrix + l * w.matrix_size
            slid_shares(n, a, a + n, shares, w.inverse + l * w.n_surfaces * w.n_surfaces, work)
            for s in range(n):
                w.shares[s * LANES + l] = shares[s]
            for j in range(w.dim):
                i = j * LANES + l
                closed = w.columns[i]
                f[i] = closed
                for s in range(n):
                    f[i] += shares[s] * (w.columns[(s + 1) * w.dim * LANES + i] - closed)


def corners(w: Workspace, y: Doubles, compared: i64, gate: i64) -> None:
    """Fields with all gates of the slid surfaces closed, and one surface's open at a time; a and B of every lane.

    In the lane `compared`, if any, gates that do not move with this one in all these fields leave the surface `met`.
    """
    most = 0
    for l in range(LANES):
        if w.slides[l] > most:
            most = w.slides[l]
    for c in range(most + 1):
        for g in range(w.n_gates * LANES):
            w.gates_on[g] = w.gates[g]
            if w.members[g] > 0.0:
                w.gates_on[g] = 1.0 if w.members[g] == c else 0.0
        column = w.columns + c * w.dim * LANES
        invoke(w.field, y, column, w.v_values, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
        invoke(w.velocity, y, column, w.v_on, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
        if compared >= 0 and c <= w.slides[compared]:
            largest = 0.0
            for i in range(w.n_gates):
                largest = fmax(largest, fabs(w.v_on[i * LANES + compared]))
            for i in range(w.n_gates):
                apart = fabs(w.v_on[i * LANES + compared] - w.v_on[gate * LANES + compared])
                if apart > SAME_SURFACE * (1.0 + largest):
                    w.met[i * LANES + compared] = 0.0
        for l in range(LANES):
            n = w.slides[l]
            a = w.matrix + l * w.matrix_size
            B = a + n
            if c <= n:
                for s in range(n):
                    v = w.v_on[w.representative[s * LANES + l] * LANES + l]
                    if c == 0:
                        a[s] = v
                    else:
                        B[s * n + c - 1] = v - a[s]


def pull_back(w: Workspace) -> None:
    """Move the new states onto the surfaces slid along, right after they were looked at."""
    for l in range(LANES):
        n = w.slides[l]
        if n > 0:
            inverse = w.inverse + l * w.n_surfaces * w.n_surfaces
            largest = 0.0
            for s in range(n):
                w.work[s] = 0.0
                for r in range(n):
                    w.work[s] += inverse[s * n + r] * w.off_surface[r * LANES + l]
                largest += fabs(w.work[s])
            # further than a step is no drift: opening the gates has no effect there
            if largest < w.step[l]:
                for j in range(w.dim):
                    i = j * LANES + l
                    for s in range(n):
                        change = w.columns[(s + 1) * w.dim * LANES + i] - w.columns[i]
                        w.y_new[i] -= w.work[s] * change


def refresh(w: Workspace, l: i64) -> None:
    """Slope and watched values of one lane at its present state; other lanes keep theirs."""
    evaluate_watched(w, w.y, w.spare, w.spare_values)
    for j in range(w.dim):
        w.k[j * LANES + l] = w.spare[j * LANES + l]
    for i in range(w.n_watched):
        w.at_start[i * LANES + l] = w.spare_values[i * LANES + l]
    for g in range(w.n_gates):
        i = g * LANES + l
        if w.members[i] > 0.0:
            s = w.members[i] - 1.0
            w.gates[i] = w.shares[s * LANES + l]
    w.counts[EVALUATIONS * LANES + l] += 1
