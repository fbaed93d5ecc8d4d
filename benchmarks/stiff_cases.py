"""The problems of benchmarks/stiff.py, and their solutions to about 1e-12."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from flowsys import load as find
from flowsys.kernels import Batch, Kernel, StageBatch, integrate, kernel, stages_of
from flowsys.kernels.built_in import built_in_tables
from flowsys.program import Program
from flowsys.system.problem import Problem


@dataclass(frozen=True)
class Case:
    """A problem from its start to `end`, on a field without kinks."""

    name: str
    end: float
    make: Callable[[], Problem]
    kink_width: float = 0.0
    is_stiff: bool = True

    @cached_property
    def problem(self) -> Problem:
        return self.make()

    @cached_property
    def stages(self) -> list[StageBatch]:
        return stages_of(self.problem)

    @cached_property
    def kernel(self) -> Kernel:
        return kernel(self.problem.field.program, (), "smooth" if self.kink_width else "exact", self.stages)

    @cached_property
    def scalar(self) -> tuple[Program, np.ndarray]:
        """The program with its tables written out, and its parameters: what other engines are fed with."""
        program, [stage] = self.problem.field.program, self.stages
        if not program.tables:
            return program, np.asarray(stage.parameters, dtype=float)
        known = built_in_tables(program, [stage])
        special = known.written_out(program)
        placed = known.with_places(special.entries, special.gate_names)
        return special.program, np.asarray(placed.native_stage(stage).parameters, dtype=float)

    def atol(self, rtol: float) -> float:
        return 1e-4 * rtol * self.problem.scale

    def batch(self, rtol: float, method: str, n: int = 1) -> Batch:
        return Batch(
            np.tile(self.problem.initial, (n, 1)), self.stages, times=[self.end], t_max=self.end, rtol=rtol,
            atol=self.atol(rtol), kink_width=self.kink_width, method=method, alone=n == 1,
        )  # fmt: skip

    @cached_property
    def reference(self) -> np.ndarray:
        return integrate(self.kernel, self.batch(1e-12, "implicit")).time_states[0, 0]

    def error(self, y: np.ndarray) -> float:
        """The largest error, relative to the size of the state."""
        return float(np.abs(y - self.reference).max() / max(1.0, np.abs(self.reference).max()))


def _problem(system: str, mode: str | None, end: float, **parameters) -> Problem:
    found = find(system)
    mode = found.mode(mode)
    return found.build(found.setup(mode, t_max=end, **parameters), "L3", found.variant("L3", None), mode)


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    lego = lambda end, **parameters: lambda: _problem("lego", "stage_2", end, **parameters)
    mixture = lambda end: lambda: _problem("mixture", "simultaneous", end)
    return (
        Case("lego C5, C_B = 2, to 1e10", 1e10, lego(1e10, group="C5", C_B=2.0)),
        Case("lego C5, C_B = 3, to 1e13", 1e13, lego(1e13, group="C5", C_B=3.0)),
        Case("lego S4, to 1e10", 1e10, lego(1e10, group="S4")),
        Case("mixture smoothed over 1e-4, to 1e13", 1e13, mixture(1e13), 1e-4),
        Case("mixture smoothed over 1e-4, to 1e6", 1e6, mixture(1e6), 1e-4, is_stiff=False),
        Case("cooccurrence, to 1e8", 1e8, lambda: _problem("cooccurrence", None, 1e8), is_stiff=False),
        Case("prompt, to 1e11", 1e11, lambda: _problem("prompt", None, 1e11), is_stiff=False),
    )
