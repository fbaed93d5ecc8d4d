"""A compiled kernel: the machine code of one program, and of the driver that integrates it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from flowsys.kernels.batch import StageBatch
from flowsys.kernels.built_in import SMALL, BuiltIn, built_in_tables
from flowsys.kernels.host import Host, this_host
from flowsys.kernels.layout import Layout, Shape, nonzero_pattern
from flowsys.kernels.library import driver_library, program_library, tangent_library
from flowsys.kernels.machine_code import Library
from flowsys.program import Program
from flowsys.program.arrays import Kinks
from flowsys.system.problem import ProgramField


@dataclass(frozen=True, eq=False)
class Kernel:
    """Native functions of a program. `watched` names the observables that events may refer to.

    Where small tables were written out, `built_in` holds the entries that became constants of the code.
    """

    program: Program
    watched: tuple[str, ...]
    kinks: Kinks
    host: Host
    library: Library
    tangent: Library | None
    driver: Library
    shape: Shape
    built_in: BuiltIn | None = None

    @property
    def has_kinks(self) -> bool:
        return self.kinks == "frozen" and bool(self.program.kinks)

    def native_stages(self, stages: Sequence[StageBatch]) -> list[StageBatch]:
        """The stages as the machine code reads them."""
        return [self.built_in.native_stage(s) for s in stages] if self.built_in else list(stages)

    def layout(self, stages: Sequence[StageBatch]) -> Layout:
        """The layout that native stages share: equal numbers of rows, the union of the links' entries."""
        rows = {}
        for table, columns in self.shape.tables:
            shapes = {np.shape(stage.tables[table])[-2:] for stage in stages}
            if len(shapes) > 1 or next(iter(shapes))[0] != columns:
                raise ValueError(
                    f"tables[{table!r}] has shapes {sorted(shapes)} (columns, rows) in the stages, but needs "
                    f"{columns} columns and equally many rows in all."
                )
            rows[table] = next(iter(shapes))[1]
        patterns = {link: nonzero_pattern([s.links[link] for s in stages]) for link, _, _ in self.shape.links}
        return Layout(self.shape, rows, patterns)

    @cached_property
    def gate_places(self) -> np.ndarray | None:
        """Where the machine code has every gate of the stated program, -1 if it plays no part; None: in their order."""
        if self.built_in is None:
            return None
        places = {name: i for i, (name, _) in enumerate(self.shape.kinks)}
        return np.array([places.get(name, -1) for name in self.built_in.gate_names], dtype=int)

    def gates_as_stated(self, gates: np.ndarray) -> np.ndarray:
        """Gates (n, G) in the order of the stated program; a gate that plays no part is open."""
        if self.gate_places is None or not gates.size:
            return gates
        return np.where(self.gate_places >= 0, gates[:, self.gate_places], 1.0)


def kernel(
    program: Program,
    watched: Sequence[str] = (),
    kinks: Kinks = "frozen",
    stages: Sequence[StageBatch] = (),
    host: Host | None = None,
    most_written_out: int = SMALL,
) -> Kernel:
    """The kernel of a program, compiled now, earlier in this process, or in an earlier one.

    `kinks` is "frozen" (exact kinks, located), "smooth" (over the kink width) or "exact" (evaluated as they are).
    With `stages`, tables that are small (`most_written_out` operations in all) are written out and their common entries
    built in, which is faster; the kernel then serves only batches with the same entries.
    """
    if kinks not in ("frozen", "smooth", "exact"):
        raise ValueError(f"kinks = {kinks!r}, but a kernel reads them 'frozen', 'smooth' or 'exact'.")
    for name in watched:
        if name not in program.observables:
            raise ValueError(f"watched: {name!r} is not an observable of the program.")
    known = built_in_tables(program, stages, most_written_out) if stages and program.tables else None
    return _kernel(ProgramField(program, kinks), tuple(watched), host or this_host(), known)


@lru_cache(maxsize=64)
def _kernel(field: ProgramField, watched: tuple[str, ...], host: Host, known: BuiltIn | None) -> Kernel:
    program, kinks = field.program, field.kinks
    # all three are compiled, if need be, side by side: LLVM does not hold the interpreter's lock
    with ThreadPoolExecutor(2) as others:
        driver = others.submit(driver_library, host)
        tangent = others.submit(tangent_library, program, watched, kinks, host, known)
        library, shape, built_in = program_library(program, watched, kinks, host, known)
    return Kernel(program, watched, kinks, host, library, tangent.result(), driver.result(), shape, built_in)
