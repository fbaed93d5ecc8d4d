"""The slope at a state: the program's field, or Filippov's field in lanes that slide."""

from flowsys.kernels.native.constants import EVALUATIONS, LANES
from flowsys.kernels.native.intrinsics import invoke
from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Doubles, i64


def evaluate(w: Workspace, y: Doubles, f: Doubles) -> None:
    """The slope at y: the field, or Filippov's field in lanes that slide."""
    if w.n_sliding == 0:
        invoke(w.field, y, f, w.v_values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    else:
        sliding_field(w, y, f)


def evaluate_watched(w: Workspace, y: Doubles, f: Doubles, values: Doubles) -> None:
    """The slope and everything watched at y."""
    invoke(w.watched, y, f, values, w.constants, w.gates, w.scratch, w.layout, w.indices)
    if w.n_sliding > 0:
        sliding_field(w, y, f)
        last = w.n_events + w.n_gates
        for l in range(LANES):
            if w.slides[l] != 0:
                i = w.representative[l] * LANES + l
                values[last * LANES + l] = w.v_on[i]
                values[(last + 1) * LANES + l] = -w.v_off[i]


def sliding_field(w: Workspace, y: Doubles, f: Doubles) -> None:
    """The mixture of both gate values that keeps h at 0: the open gate's share is v_off / (v_off - v_on).

    A side that no longer points back has all of it: the flow is about to leave there.
    """
    for l in range(LANES):
        for g in range(w.n_gates):
            i = g * LANES + l
            is_member = w.slides[l] != 0 and w.members[i] > 0.0
            w.gates_on[i] = 1.0 if is_member else w.gates[i]
            w.gates_off[i] = 0.0 if is_member else w.gates[i]
    both_sides(w, y)
    for l in range(LANES):
        if w.slides[l] != 0:
            i = w.representative[l] * LANES + l
            share = w.v_off[i] / (w.v_off[i] - w.v_on[i])
            if w.v_off[i] <= 0.0:
                share = 0.0
            if w.v_on[i] >= 0.0:
                share = 1.0
            for j in range(w.dim):
                f[j * LANES + l] = share * w.f_on[j * LANES + l] + (1.0 - share) * w.f_off[j * LANES + l]
        else:
            for j in range(w.dim):
                f[j * LANES + l] = w.f_on[j * LANES + l]


def both_sides(w: Workspace, y: Doubles) -> None:
    """Fields and surface velocities under `gates_on` and `gates_off`."""
    invoke(w.field, y, w.f_on, w.v_values, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    invoke(w.velocity, y, w.f_on, w.v_on, w.constants, w.gates_on, w.scratch, w.layout, w.indices)
    invoke(w.field, y, w.f_off, w.v_values, w.constants, w.gates_off, w.scratch, w.layout, w.indices)
    invoke(w.velocity, y, w.f_off, w.v_off, w.constants, w.gates_off, w.scratch, w.layout, w.indices)


def refresh(w: Workspace, l: i64) -> None:
    """Slope and watched values of one lane at its present state; other lanes keep theirs."""
    evaluate_watched(w, w.y, w.spare, w.spare_values)
    for j in range(w.dim):
        w.k[j * LANES + l] = w.spare[j * LANES + l]
    for i in range(w.n_watched):
        w.at_start[i * LANES + l] = w.spare_values[i * LANES + l]
    w.counts[EVALUATIONS * LANES + l] += 1
