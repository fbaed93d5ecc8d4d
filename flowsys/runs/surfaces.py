"""The switching surface that a flow comes nearest to without meeting it; and, while it slides, what that may mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flowsys.integrate.record import Record
from flowsys.kernels import cannot_compile, run_problem
from flowsys.program.arrays import switching_functions
from flowsys.runs.flow import Flow
from flowsys.system.problem import Problem, ProgramField

LOOKS = 1500
LOOKS_OF_SLIDE, LOOKS_OF_SLIDES = 24, 240  # at a stretch of a slide; at all of them where there are many
ON = 1e-10  # a switching function below this is on its surface
NEAR = 2.0  # times the least distance is near
LARGE_WIDTH = 1e4  # of a model that one would compare with the limit


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
    records = flow.run([float(t) for t in times], rtol).records
    h = _switching(flow.problem, records)
    side = np.where(np.abs(h) <= ON, 0, np.sign(h))
    turning = np.zeros(side.shape, dtype=bool)
    changes = side[1:] != side[:-1]
    for shift in range(-2, 4):
        rows = np.clip(np.arange(len(changes)) + shift, 0, len(side) - 1)
        np.logical_or.at(turning, rows, changes)
    return _least(records, h, turning | (side == 0))


def beside_a_slide(problem: Problem, end: float, rtol: float) -> Nearest | None:
    """The nearest surface while the flow slides on another; None if it does not slide."""
    run = run_problem(problem, [end], (), rtol)
    slid = run.statistics.slid
    turns = [t for t in sorted({problem.start, *run.statistics.turns, end}) if t <= end]
    pieces = [(a, b) for a, b in pairwise(turns) if any(s.begin <= a and b <= s.end for s in slid)]
    looks = min(LOOKS_OF_SLIDE, max(LOOKS_OF_SLIDES // max(len(pieces), 1), 4))
    # what is beside a slide is so from its start
    early = (np.arange(1, looks + 1) / (looks + 1)) ** 2
    records = run_problem(problem, [float(a + x * (b - a)) for a, b in pieces for x in early], (), rtol).records
    h = _switching(problem, records)
    return _least(records, h, np.abs(h) <= ON) if records else None


def suspicion(problem: Problem, end: float, rtol: float) -> str:
    """A remark where a limit slides so near another surface that large widths start off farther than that."""
    near = None if cannot_compile() else beside_a_slide(problem, end, rtol)
    if near is None or near.distance > problem.scale / np.sqrt(LARGE_WIDTH):
        return ""
    return (
        f"the limit may be fragile: it slides on a switching surface, and {near.sentence}, while a finite width starts "
        f"about {problem.scale:.2g}/√width away from the limit's start (flowsys analyse --robust tells)"
    )


def _switching(problem: Problem, records: Sequence[Record]) -> np.ndarray:
    assert isinstance(problem.field, ProgramField)
    switching = switching_functions(problem.field.program, "exact", np)
    return np.array([switching(r.y, problem.stages[r.stage].arguments) for r in records])


def _least(records: Sequence[Record], h: np.ndarray, left_out: np.ndarray) -> Nearest | None:
    away = np.where(left_out, np.inf, np.abs(h))
    if not np.isfinite(away).any():
        return None
    row, gate = np.unravel_index(int(away.argmin()), away.shape)
    near = np.flatnonzero(away[:, gate] <= NEAR * away[row, gate])
    return Nearest(float(away[row, gate]), int(gate), float(records[near[0]].t), float(np.median(np.abs(h))))
