"""A compiled kernel: the machine code of one program, and of the driver that integrates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np

from flowsys.kernels.batch import StageBatch
from flowsys.kernels.cache import cached
from flowsys.kernels.emit import module_text, requests_of, slots_of
from flowsys.kernels.host import Host, this_host
from flowsys.kernels.layout import Layout, nonzero_pattern
from flowsys.kernels.machine_code import Library, compiled, loaded
from flowsys.kernels.specialise import Specialised, written_out
from flowsys.program import Program

# programs beyond this many operations are compiled with less effort, to stay within seconds
_LARGE = 20_000
# tables are written out if that leaves at most this many operations
_SMALL = 2_500
_DRIVER_FUNCTIONS = ("attempt", "stiffness", "dense_output", "interpolate")


@dataclass(frozen=True, eq=False)
class Kernel:
    """Native functions of a program. `watched` names the observables that events may refer to.

    Where small tables were written out, `built_in` says how, and `known` holds the entries that became constants.
    """

    program: Program
    watched: tuple[str, ...]
    kinks: str
    host: Host
    library: Library
    driver: Library
    built_in: Specialised | None = None
    known: tuple[tuple[str, str, bytes], ...] = ()

    @property
    def native(self) -> Program:
        """The program the machine code was made from."""
        return self.built_in.program if self.built_in else self.program

    @property
    def has_kinks(self) -> bool:
        return self.kinks == "frozen" and bool(self.program.kinks)

    @cached_property
    def slots(self) -> int:
        return slots_of(self.native, requests_of(self.native, self.watched, self.kinks))

    def native_stages(self, stages: Sequence[StageBatch]) -> list[StageBatch]:
        """The stages as the machine code reads them: entries that are not built in as further parameters."""
        if self.built_in is None:
            return list(stages)
        found = []
        for stage in stages:
            for table, column, content in self.known:
                values = _column(self.program, stage, table, column) if column else stage.links[table]
                if np.asarray(values, dtype=float).tobytes() != content:
                    raise ValueError(
                        f"{column or table} differs from the values this kernel was built with; build another kernel."
                    )
            parameters = np.asarray(stage.parameters, dtype=float)
            cells = [np.asarray(stage.tables[t], dtype=float)[..., c, r] for t, c, r in self.built_in.entries]
            shape = np.broadcast_shapes(parameters.shape[:-1], *(np.shape(x) for x in cells))
            columns = [np.broadcast_to(x, shape)[..., None] for x in cells]
            joined = np.concatenate([np.broadcast_to(parameters, (*shape, parameters.shape[-1])), *columns], axis=-1)
            found.append(StageBatch(joined, {}, {}, stage.until, stage.ends_on))
        return found

    def layout(self, stages: Sequence[StageBatch]) -> Layout:
        """The layout that native stages share: equal numbers of rows, the union of the links' entries."""
        program, rows = self.native, {}
        for table, columns in program.tables.items():
            shapes = {np.shape(stage.tables[table])[-2:] for stage in stages}
            if len(shapes) > 1 or next(iter(shapes))[0] != len(columns):
                raise ValueError(
                    f"tables[{table!r}] has shapes {sorted(shapes)} (columns, rows) in the stages, but needs "
                    f"{len(columns)} columns and equally many rows in all."
                )
            rows[table] = next(iter(shapes))[1]
        patterns = {link.name: nonzero_pattern([s.links[link.name] for s in stages]) for link in program.links}
        return Layout(program, rows, patterns, self.slots)

    def gates_as_stated(self, gates: np.ndarray) -> np.ndarray:
        """Gates (n, G) in the order of the stated program; a gate that plays no part is open."""
        if self.built_in is None or not gates.size:
            return gates
        places = {name: i for i, name in enumerate(self.native.kinks)}
        ordered = np.ones((len(gates), len(self.built_in.gate_names)))
        for i, name in enumerate(self.built_in.gate_names):
            if name in places:
                ordered[:, i] = gates[:, places[name]]
        return ordered


@lru_cache(maxsize=8)
def _driver(host: Host) -> Library:
    """The driver does not depend on the program: one per host."""

    def compile_it() -> bytes:
        from flowsys.kernels import native
        from flowsys.kernels.restricted import Compiler
        from flowsys.kernels.stepper import WATCHED_FRACTIONS, stepper_text

        constants = {"LANES": host.lanes, "THIRD": WATCHED_FRACTIONS[0], "TWO_THIRDS": WATCHED_FRACTIONS[1]}
        external = dict.fromkeys(_DRIVER_FUNCTIONS, (("record Workspace",), "void"))
        modules = [import_module(f"{native.__name__}.{name}") for name in native.MODULES]
        text, declared = Compiler(modules, constants, external, host.fused).text({"run", "observe"})
        steps, needed = stepper_text(host.lanes, host.fused)
        return compiled("\n".join([*sorted(declared | needed), text, steps]), host, level=1)

    return loaded(cached("driver", host, compile_it), host)


@lru_cache(maxsize=64)
def _library(text: str, watched: tuple[str, ...], kinks: str, host: Host) -> Library:
    def compile_it() -> bytes:
        program = Program.parse(text)
        level = 2 if program.operations < _LARGE else 1
        return compiled(module_text(program, watched, kinks, host.lanes, host.fused), host, level)

    return loaded(cached("\n".join([text, *watched, kinks]), host, compile_it), host)


def kernel(
    program: Program,
    watched: Sequence[str] = (),
    kinks: str = "frozen",
    stages: Sequence[StageBatch] = (),
    host: Host | None = None,
) -> Kernel:
    """The kernel of a program, compiled now, earlier in this process, or in an earlier one.

    `kinks` is "frozen" (exact kinks, located), "smooth" (over the kink width) or "exact" (evaluated as they are).
    With `stages`, tables that are small are written out and their common entries built in, which is faster; the
    kernel then serves only batches with the same entries.
    """
    if kinks not in ("frozen", "smooth", "exact"):
        raise ValueError(f"kinks = {kinks!r}, but a kernel reads them 'frozen', 'smooth' or 'exact'.")
    for name in watched:
        if name not in program.observables:
            raise ValueError(f"watched: {name!r} is not an observable of the program.")
    host = host or this_host()
    built_in, known = _built_in(program, stages) if stages and program.tables else (None, ())
    text = str(built_in.program if built_in else program)
    library = _library(text, tuple(watched), kinks, host)
    return Kernel(program, tuple(watched), kinks, host, library, _driver(host), built_in, known)


def _column(program: Program, stage: StageBatch, table: str, column: str) -> np.ndarray:
    return np.asarray(stage.tables[table], dtype=float)[..., program.tables[table].index(column), :]


def _built_in(program: Program, stages: Sequence[StageBatch]) -> tuple[Specialised | None, tuple]:
    """The written-out program if its tables are small, with the columns and links all stages and lanes share."""
    rows = {table: np.shape(stages[0].tables[table])[-1] for table in program.tables}
    if any(np.shape(s.tables[t])[-1] != rows[t] for s in stages for t in rows):
        return None, ()
    size = sum(rows.get(block.over, 1) * line.operations for block in program.blocks for line in block.lines)
    links = {link.name: [np.asarray(s.links[link.name], dtype=float) for s in stages] for link in program.links}
    if size > _SMALL or not all(_all_same(matrices) for matrices in links.values()):
        return None, ()
    known = []
    for table, columns in program.tables.items():
        for column in columns:
            values = [_column(program, s, table, column) for s in stages]
            if _all_same(values):
                known.append((table, column, values[0].tobytes()))
    known += [(name, "", matrices[0].tobytes()) for name, matrices in links.items()]
    return _written_out(str(program), tuple(rows.items()), tuple(known)), tuple(known)


def _all_same(arrays: list[np.ndarray]) -> bool:
    first = arrays[0]
    return first.ndim <= 2 and all(a.shape == first.shape and np.array_equal(a, first) for a in arrays)


@lru_cache(maxsize=64)
def _written_out(text: str, rows: tuple, known: tuple) -> Specialised:
    program, counts = Program.parse(text), dict(rows)
    columns: dict[str, dict[str, np.ndarray]] = {table: {} for table in program.tables}
    matrices = {}
    for table, column, content in known:
        if column:
            columns[table][column] = np.frombuffer(content)
        else:
            link = next(link for link in program.links if link.name == table)
            matrices[table] = np.frombuffer(content).reshape(counts[link.parent], counts[link.child])
    return written_out(program, counts, columns, matrices)
