"""L3 and L4: the population flow on the symmetric subspace, its planar limit, the paper's bound; descent on them.

The start is W = 0, so every variable begins at 0. Programs for K = 2 … 5 are packaged with M as a symbol; for more
steps, and where the labels of small M wrap around, the program is derived when it is first needed and kept on disk.
"""

from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from flowsys.model.stated import program_problem, stated_training
from flowsys.program import Program, committed
from flowsys.runs.training import Training
from flowsys.system import Setup
from flowsys.system.problem import Problem
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.examples import Law
from flowsys.systems.prompt.symmetric import least_unwrapped_M
from flowsys.systems.prompt.testing import TESTED, value

packaged = partial(committed, "flowsys.systems.prompt")
PACKAGED = (2, 3, 4, 5)
"""The numbers of steps whose programs are packaged."""


@lru_cache(maxsize=64)
def _derived(K: int, wrapped_M: int | None) -> Program:
    from flowsys.symbolic.assemble import assemble
    from flowsys.symbolic.kept import kept
    from flowsys.systems.prompt.statement import population_statement

    stated_by = ("statement", "observables", "model", "symmetric")
    name = f"the prompt system of K = {K}" + (f", M = {wrapped_M}" if wrapped_M else "")
    sources = [Path(__file__).with_name(f"{source}.py") for source in stated_by]
    return kept(name, lambda: assemble(population_statement(K, wrapped_M)), sources)


def population_program(K: int, M: int) -> Program:
    """The program of K steps for every M, or of one small M around which labels wrap."""
    wraps = least_unwrapped_M(K) > M
    return _derived(K, M) if wraps else packaged(f"POPULATION_{K}") if K in PACKAGED else _derived(K, None)


def _problem(setup: Setup, mode: str, program: Program, **more) -> Problem:
    return program_problem(SYSTEM.declaration, setup, mode, program, np.zeros(len(program.state)), setup, **more)


def limit_problem(law: Law | None, setup: Setup, mode: str) -> Problem:
    """The population flow, or its planar limit; test prompts by the parameters, or by a law."""
    if mode == "planar":
        return _problem(setup, mode, packaged("PLANAR"))
    tested = {name: lambda y, name=name: value(name, setup, y, law) for name in TESTED}
    return _problem(setup, mode, population_program(setup["K"], setup["M"]),
                    derived=tested | {"sd_A_s": lambda y: 0.0},
                    conserved=lambda states: states[:, 2:].reshape(-1, *[setup["K"]] * 2).sum(axis=1))  # fmt: skip


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """L4: the paper's bound."""
    return _problem(setup, mode, packaged("SURROGATE"))


def symmetric_training(setup: Setup, mode: str, seeds: int | None) -> Training:
    """Descent on a, b, H of the exact population, at any M: what full batches of all tasks do from W = 0."""
    return stated_training(limit_problem(None, setup, mode), seeds, SYSTEM.steps)
