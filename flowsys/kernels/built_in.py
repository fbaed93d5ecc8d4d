"""Which tables of a batch a kernel builds in: small ones, with the entries that all stages and trajectories share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flowsys.kernels.batch import StageBatch
from flowsys.kernels.specialise import Specialised, written_out
from flowsys.program import Program

# tables are written out if all their rows together hold at most this many operations (about half are left of them)
SMALL = 4_500


@dataclass(frozen=True)
class BuiltIn:
    """Columns and links by content: (table, place of the column, its bytes), (link, shape, bytes).

    `entries` are the cells (table, column, row) that are not built in and follow the parameters; `gate_names` the gates
    in the order of the stated program.
    """

    rows: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int, bytes], ...]
    links: tuple[tuple[str, tuple[int, int], bytes], ...]
    entries: tuple[tuple[str, int, int], ...] = ()
    gate_names: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """For the key of a cache."""
        return repr((self.rows, self.columns, self.links))

    def written_out(self, program: Program) -> Specialised:
        """The program with these tables written out."""
        known: dict[str, dict[str, np.ndarray]] = {table: {} for table in program.tables}
        for table, place, content in self.columns:
            known[table][program.tables[table][place]] = np.frombuffer(content)
        links = {name: np.frombuffer(content).reshape(shape) for name, shape, content in self.links}
        return written_out(program, dict(self.rows), known, links)

    def with_places(self, entries: Sequence[Sequence], gate_names: Sequence[str]) -> "BuiltIn":
        return replace(self, entries=tuple((t, c, r) for t, c, r in entries), gate_names=tuple(gate_names))

    def native_stage(self, stage: StageBatch) -> StageBatch:
        """A stage as the machine code reads it: entries that are not built in as further parameters."""
        for table, place, content in self.columns:
            if _bytes(np.asarray(stage.tables[table], dtype=float)[..., place, :]) != content:
                raise ValueError(_other_values(f"tables[{table!r}]"))
        for name, _, content in self.links:
            if _bytes(stage.links[name]) != content:
                raise ValueError(_other_values(f"links[{name!r}]"))
        parameters = np.asarray(stage.parameters, dtype=float)
        cells = [np.asarray(stage.tables[t], dtype=float)[..., c, r] for t, c, r in self.entries]
        shape = np.broadcast_shapes(parameters.shape[:-1], *(np.shape(x) for x in cells))
        columns = [np.broadcast_to(x, shape)[..., None] for x in cells]
        joined = np.concatenate([np.broadcast_to(parameters, (*shape, parameters.shape[-1])), *columns], axis=-1)
        return StageBatch(joined, {}, {}, stage.until, stage.ends_on)


def _bytes(values) -> bytes:
    return np.ascontiguousarray(np.asarray(values, dtype=float)).tobytes()


def _other_values(what: str) -> str:
    return f"{what} differs from the values this kernel was built with; build another kernel for it."


def built_in_tables(program: Program, stages: Sequence[StageBatch], most: int = SMALL) -> BuiltIn | None:
    """What to build in for these stages; None if the tables are too large or differ too much."""
    rows = {table: np.shape(stages[0].tables[table])[-1] for table in program.tables}
    if any(np.shape(s.tables[t])[-1] != rows[t] for s in stages for t in rows):
        return None
    # counted first by lines, because counting operations reads every expression
    lines = sum(rows.get(block.over, 1) * len(block.lines) for block in program.blocks)
    if lines > most:
        return None
    if sum(rows.get(table, 1) * operations for table, operations in program.operations_over.items()) > most:
        return None
    links, columns = [], []
    for link in program.links:
        whole = {id(s.links[link.name]): s.links[link.name] for s in stages}  # most stages share it
        matrices = [np.asarray(matrix, dtype=float) for matrix in whole.values()]
        if matrices[0].ndim != 2 or not _all_same(matrices):
            return None
        links.append((link.name, matrices[0].shape, _bytes(matrices[0])))
    for table, names in program.tables.items():
        whole = {id(s.tables[table]): s.tables[table] for s in stages}
        arrays = [np.asarray(rows, dtype=float) for rows in whole.values()]
        for place in range(len(names)):
            values = [rows[..., place, :] for rows in arrays]
            if values[0].ndim == 1 and _all_same(values):
                columns.append((table, place, _bytes(values[0])))
    return BuiltIn(tuple(rows.items()), tuple(columns), tuple(links))


def _all_same(arrays: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, arrays[0]) for a in arrays[1:])
