"""The switching surface that a flow comes nearest to without meeting it."""

from dataclasses import dataclass

import numpy as np

from flowsys.analysis.flow import Flow
from flowsys.program.arrays import switching_functions
from flowsys.system.problem import ProgramField

LOOKS = 1500
ON = 1e-10  # a switching function below this is on its surface
NEAR = 2.0  # times the least distance is near


@dataclass(frozen=True)
class Nearest:
    """The least value of a switching function off its surface: of which gate, since when, and its share of the rest."""

    distance: float
    gate: int
    t: float
    typical: float

    @property
    def sentence(self) -> str:
        return f"from t = {self.t:.3g} on it is {self.distance:.2g} away from the switching surface of gate {self.gate}"


def nearest_surface(flow: Flow, end: float, rtol: float) -> Nearest | None:
    """Of a derived program with kinks; times next to a gate's own switch do not count."""
    field = flow.problem.field
    if not isinstance(field, ProgramField) or not field.has_kinks:
        return None
    times = np.unique(
        np.concatenate([np.geomspace(1e-3 * min(1.0, end), end, LOOKS // 2), np.linspace(0, end, LOOKS // 2)])
    )
    run = flow.run([float(t) for t in times], rtol)
    switching = switching_functions(field.program, "exact", np)
    t = np.array([record.t for record in run.records])
    h = np.array([switching(r.y, flow.problem.stages[r.stage].arguments) for r in run.records])
    side = np.where(np.abs(h) <= ON, 0, np.sign(h))
    turning = np.zeros(side.shape, dtype=bool)
    changes = side[1:] != side[:-1]
    for shift in range(-2, 4):
        rows = np.clip(np.arange(len(changes)) + shift, 0, len(side) - 1)
        np.logical_or.at(turning, rows, changes)
    away = np.where(turning | (side == 0), np.inf, np.abs(h))
    if not np.isfinite(away).any():
        return None
    row, gate = np.unravel_index(int(away.argmin()), away.shape)
    near = np.flatnonzero(away[:, gate] <= NEAR * away[row, gate])
    return Nearest(float(away[row, gate]), int(gate), float(t[near[0]]), float(np.median(np.abs(h))))
