"""Refining a diagram: more points along its boundary, the old ones kept.

A cell of the grid (neighbouring points along every axis) lies on the boundary if two neighbours in it end in different
ways, one with a value and one without, or if their values differ by more than those of 90 % of all neighbours. Lines
half-way (geometrically on a logarithmic axis, at integers for integers, never between items of a list) are inserted
wherever an axis crosses such a cell. On the finer grid

    points of the old grid          keep their values and outcomes; they are never computed again
    new points on boundary cells    are computed
    other new points                have the outcome "not computed, neighbours agree", and pictures show their
                                    nearest neighbour there

so a file stays one grid, and the number of computed points grows with the length of the boundary. A refined file can be
refined again. The whole diagram is held in memory here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.axes import Axis
from flowsys.sweeps.diagram import CODES, PhaseDiagram
from flowsys.sweeps.sweep import Sweep, make_sweep
from flowsys.system import System

_SHARE = 0.9  # of the neighbours' differences count as small
_SKIPPED = CODES["not computed, neighbours agree"]


@dataclass(frozen=True)
class Refinement:
    """The finer grid: its axes, where the old points lie in it, and which points (flat) are to be computed."""

    axes: tuple[Axis, ...]
    old: tuple[np.ndarray, ...]
    computed: np.ndarray

    def merged(self, diagram: PhaseDiagram, values: np.ndarray, outcomes: np.ndarray, origin: Mapping[str, Any]):
        """The finer diagram: old points as they were, computed ones filled in (quantities × points, outcomes)."""
        shape = tuple(len(axis) for axis in self.axes)
        place = np.ix_(*self.old)
        ends = np.full(shape, _SKIPPED, dtype=np.uint8)
        ends[place] = diagram.outcomes
        ends.ravel()[self.computed] = outcomes
        quantities = {}
        for (name, old), new in zip(diagram.quantities.items(), values):
            grid = np.full(shape, np.nan)
            grid[place] = old
            grid.ravel()[self.computed] = new
            quantities[name] = grid
        return PhaseDiagram(self.axes, quantities, ends, origin)


def filled(values: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and outcomes with the points not computed showing their nearest computed neighbour."""
    skipped = np.equal(outcomes, _SKIPPED)
    if not skipped.any():
        return values, outcomes
    from scipy.ndimage import distance_transform_edt

    nearest = tuple(distance_transform_edt(skipped, return_distances=False, return_indices=True))
    return values[nearest], outcomes[nearest]


def refinement(diagram: PhaseDiagram, integers: frozenset[str] = frozenset()) -> Refinement:
    """Where a diagram needs more points. `integers` are the axes that take integers only."""
    cells = boundary_cells(diagram)
    axes, positions, old = [], [], []
    for number, axis in enumerate(diagram.axes):
        others = tuple(i for i in range(cells.ndim) if i != number)
        crossed = np.asarray(cells.any(axis=others))
        finer, where = _finer(axis, crossed, axis.name in integers)
        axes.append(finer)
        positions.append(where)
        old.append(np.flatnonzero(where == np.round(where)))
    if all(len(finer) == len(axis) for finer, axis in zip(axes, diagram.axes)):
        raise InputError("there is nothing to refine: no neighbours differ, or nothing lies between those that do.")
    on_cell = _points_of(cells, positions)
    on_cell[np.ix_(*old)] &= diagram.outcomes == _SKIPPED
    return Refinement(tuple(axes), tuple(old), np.flatnonzero(on_cell))


def refined_sweep(diagram: PhaseDiagram, system: System) -> tuple[Sweep, Refinement]:
    """The sweep that computes the new points of a diagram from a file, as its own points were computed."""
    origin = diagram.origin
    if origin.get("code") != system.digest:
        raise InputError(
            f"the diagram cannot be refined: its points were computed by another text of {system.name} or of flowsys; "
            "sweep it again."
        )
    found = refinement(diagram, frozenset(p.name for p in system.parameters if p.integer))
    settings = ("rtol", "atol", "max_steps", "solver", "kink_width")
    sweep = make_sweep(
        system,
        found.axes,
        list(diagram.quantities),
        origin["level"],
        origin["variant"],
        origin["mode"],
        origin["fixed"],
        seeds=origin.get("seeds", 1),
        fresh_seeds=origin.get("fresh_seeds", False),
        **{name: origin[name] for name in settings},
    )
    return replace(sweep, selected=tuple(found.computed.tolist()), base=origin["digest"]), found


def boundary_cells(diagram: PhaseDiagram) -> np.ndarray:
    """Which cells lie on the boundary: one entry per interval of every axis (1 for an axis with a single value)."""
    shape = diagram.shape
    cells = np.zeros([max(n - 1, 1) for n in shape], dtype=bool)
    fields = [filled(values, diagram.outcomes)[0] for values in diagram.quantities.values()]
    ends = filled(diagram.outcomes, diagram.outcomes)[1]
    for values in fields:
        jumps = [np.abs(np.diff(values, axis=i)) for i in range(len(shape))]
        known = np.concatenate([j[np.isfinite(j)] for j in jumps]) if jumps else np.zeros(0)
        large = np.quantile(known, _SHARE) if known.size else np.inf
        for number, jump in enumerate(jumps):
            with np.errstate(invalid="ignore"):
                differs = (np.diff(ends.astype(int), axis=number) != 0) | ((jump > large) & (jump > 0))
            _mark(cells, differs, number)
    return cells


def _mark(cells: np.ndarray, edges: np.ndarray, number: int) -> None:
    """Mark every cell that has one of the edges (along axis `number`) as a side."""
    for others in product((0, 1), repeat=cells.ndim - 1):
        shift = [*others[:number], 0, *others[number:]]
        if all(s == 0 or edges.shape[i] > 1 for i, s in enumerate(shift)):
            part = edges[tuple(slice(s, s + n) for s, n in zip(shift, cells.shape))]
            if part.size:
                cells |= part


def _finer(axis: Axis, crossed: np.ndarray, integer: bool) -> tuple[Axis, np.ndarray]:
    """The axis with lines inserted where it is crossed, and where its points lie on the old one (0, ½, 1 …)."""
    values, positions = [axis.values[0]], [0.0]
    for i, (low, high) in enumerate(zip(axis.values, axis.values[1:])):
        middle = _middle(low, high, axis.spacing, integer) if crossed[i] else None
        if middle is not None:
            values.append(middle)
            positions.append(i + 0.5)
        values.append(high)
        positions.append(i + 1.0)
    return Axis(axis.name, tuple(values), axis.spacing), np.array(positions)


def _middle(low: Any, high: Any, spacing: str, integer: bool) -> Any:
    if spacing == "list" or isinstance(low, str):
        return None
    middle = float(np.sqrt(low * high)) if spacing == "log" else (low + high) / 2
    if integer:
        middle = round(middle)
    return middle if min(low, high) < middle < max(low, high) else None


def _points_of(cells: np.ndarray, positions: list[np.ndarray]) -> np.ndarray:
    """Which points of the finer grid lie on marked cells (sides included)."""
    found = np.zeros([len(p) for p in positions], dtype=bool)
    for sides in product((np.floor, np.ceil), repeat=len(positions)):
        cell = []
        for number, (side, position) in enumerate(zip(sides, positions)):
            index = side(position) - (1 if side is np.ceil else 0)
            index = np.where(position == np.round(position), index, np.floor(position))
            cell.append(np.clip(index, 0, cells.shape[number] - 1).astype(int))
        found |= cells[np.ix_(*cell)]
    return found
