"""Where a program's data lies in the memory of a kernel: runtime sizes, compile-time places.

Per lane, `constants` holds the parameters, the tables (row by row), the links' coefficients and the kink width. The
numbers of rows are runtime values: the integer vector `layout` holds what a kernel needs to find its way, at places
known when the kernel is generated:

    per table   rows, first constant, first scratch slot
    per kink    first gate
    per link    first coefficient; in `indices`: starts and (child, coefficient) pairs by parent, and the reverse
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flowsys.kernels.functions import UNARY
from flowsys.program import Line, Program

_PER_TABLE, _PER_LINK, _PER_CALL = 3, 5, 20


@dataclass(frozen=True)
class Places:
    """Compile-time positions in `layout`."""

    program: Program

    @cached_property
    def tables(self) -> dict[str, int]:
        return {table: _PER_TABLE * i for i, table in enumerate(self.program.tables)}

    @cached_property
    def kinks(self) -> dict[str, int]:
        first = _PER_TABLE * len(self.program.tables)
        return {kink: first + i for i, kink in enumerate(self.program.kinks)}

    @cached_property
    def links(self) -> dict[str, int]:
        first = _PER_TABLE * len(self.program.tables) + len(self.program.kinks)
        return {link.name: first + _PER_LINK * i for i, link in enumerate(self.program.links)}

    @property
    def kink_width(self) -> int:
        """The kink width follows the parameters in `constants`."""
        return len(self.program.parameters)


@dataclass(frozen=True)
class Shape:
    """What a kernel reads, by name: (table, columns), (kink, its table or ""), (link, child, parent).

    `work` is the number of instructions of a slope, roughly: (table or "", instructions a row).
    """

    n_parameters: int
    tables: tuple[tuple[str, int], ...]
    kinks: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str, str], ...]
    slots: int
    work: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, program: Program, slots: int) -> "Shape":
        work: dict[str, int] = {}
        for block in program.needed_for(program.derivatives):
            work[block.over] = work.get(block.over, 0) + sum(_work_of(line) for line in block.lines)
        return cls(
            n_parameters=len(program.parameters),
            tables=tuple((table, len(columns)) for table, columns in program.tables.items()),
            kinks=tuple((kink, program.table_of.get(kink, "")) for kink in program.kinks),
            links=tuple((link.name, link.child, link.parent) for link in program.links),
            slots=slots,
            work=tuple(work.items()),
        )


def _work_of(line: Line) -> int:
    """Instructions of a line: an elementary function takes about twenty."""
    calls = sum(line.expression.count(f"{name}(") for name in UNARY)
    return line.operations + _PER_CALL * calls


@dataclass(frozen=True)
class Layout:
    """The runtime layout of a kernel on tables of given sizes, with the union of the links' non-zero entries."""

    shape: Shape
    rows: Mapping[str, int]
    patterns: Mapping[str, np.ndarray]

    @cached_property
    def gate_rows(self) -> list[int]:
        return [self.rows.get(table, 1) for _, table in self.shape.kinks]

    @property
    def n_gates(self) -> int:
        return sum(self.gate_rows)

    @property
    def work(self) -> float:
        """Instructions of a slope, roughly."""
        in_links = sum(4 * len(pattern) for pattern in self.patterns.values())
        return float(in_links + sum(self.rows.get(table, 1) * work for table, work in self.shape.work))

    @property
    def n_scratch(self) -> int:
        return self.shape.slots * sum(self.rows.values())

    @property
    def n_constants(self) -> int:
        cells = sum(self.rows[table] * columns for table, columns in self.shape.tables)
        return self.shape.n_parameters + 1 + cells + sum(len(p) for p in self.patterns.values())

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """`layout` and `indices`."""
        layout: list[int] = []
        constant, scratch = self.shape.n_parameters + 1, 0
        for table, columns in self.shape.tables:
            layout += [self.rows[table], constant, scratch]
            constant += self.rows[table] * columns
            scratch += self.rows[table] * self.shape.slots
        gate = 0
        for count in self.gate_rows:
            layout.append(gate)
            gate += count
        indices: list[int] = []
        for link, child, parent in self.shape.links:
            pattern = self.patterns[link]
            here = [constant]
            for by, other, count in ((0, 1, self.rows[parent]), (1, 0, self.rows[child])):
                order = np.lexsort((pattern[:, other], pattern[:, by]))
                starts = np.searchsorted(pattern[order, by], np.arange(count + 1))
                here += [len(indices), len(indices) + count + 1]
                indices += [*starts.tolist(), *np.column_stack([pattern[order, other], order]).ravel().tolist()]
            layout += here
            constant += len(pattern)
        as_integers = lambda values: np.array([*values, 0], dtype=np.int64)
        return as_integers(layout), as_integers(indices)

    def constants(self, tables: Mapping[str, np.ndarray], links: Mapping[str, np.ndarray]) -> np.ndarray:
        """Tables (columns × rows) and link matrices as the flat vector behind parameters and kink width.

        Any of them may have a leading axis of trajectories; the result then has it too.
        """
        parts = []
        for table, columns in self.shape.tables:
            cells = np.asarray(tables[table], dtype=float)
            parts.append(np.swapaxes(cells, -1, -2).reshape(*cells.shape[:-2], self.rows[table] * columns))
        for link, _, _ in self.shape.links:
            matrix, pattern = np.asarray(links[link], dtype=float), self.patterns[link]
            parts.append(matrix[..., pattern[:, 0], pattern[:, 1]])
        if not parts:
            return np.zeros(0)
        leading = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*leading, part.shape[-1])) for part in parts], axis=-1)


def nonzero_pattern(matrices: list[np.ndarray]) -> np.ndarray:
    """(parent row, child row) of every entry that is not zero in some of the matrices, by parent."""
    some = np.zeros(matrices[0].shape[-2:], dtype=bool)
    for matrix in matrices:
        some |= (np.asarray(matrix) != 0).reshape(-1, *some.shape).any(axis=0)
    return np.argwhere(some)
