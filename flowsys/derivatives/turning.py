"""The rates and switching functions of a flow where it turns: a state at a time, under frozen gates, compiled."""

import ast
from functools import cache, lru_cache

import numpy as np

from flowsys.kernels import FrozenSlope, kernel, stages_of
from flowsys.program import KINKED
from flowsys.program.parsing import called
from flowsys.system.problem import Problem, ProgramField


class Turning:
    """A problem's stages, each with its functions."""

    def __init__(self, problem: Problem):
        field = problem.field
        assert isinstance(field, ProgramField)
        stages = stages_of(problem)
        compiled = kernel(field.program, tuple(e.observable for e in problem.events), field.kinks, stages)
        self._in_stage = cache(lambda stage: FrozenSlope(compiled, stages[stage]))
        self._is_nested, self._n_gates = _is_nested(field), len(problem.stages[0].arguments.gates)

    def rate(self, stage: int, y: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """dy/dt."""
        return self._in_stage(stage)(y, gates)

    def switching(self, stage: int, y: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """The switching functions h."""
        return self._in_stage(stage).switching(y, gates)

    def velocity(self, stage: int, y: np.ndarray, rate: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """∇h·v, nothing else moving."""
        return self._in_stage(stage).velocity(y, rate, gates)

    def gates_at(self, stage: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gates as the state has them, and the switching functions; one behind others is known once these are."""
        gates = np.ones(self._n_gates)
        if not self._n_gates:
            return gates, gates
        for _ in range(self._n_gates + 1):
            h = self.switching(stage, y, gates)
            opened = (h > 0).astype(float)
            if not self._is_nested or np.array_equal(opened, gates):
                return opened, h
            gates = opened
        return gates, h


@lru_cache(maxsize=64)
def _is_nested(field: ProgramField) -> bool:
    """Whether switching functions read gates themselves."""
    program = field.program
    before = (line for block in program.needed_for(program.kinks) for line in block.lines)
    calls = (node for line in before for node in ast.walk(line.tree) if isinstance(node, ast.Call))
    return any(called(node) in KINKED for node in calls)
