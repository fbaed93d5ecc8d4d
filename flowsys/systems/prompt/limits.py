"""L3: the population flow on the symmetric subspace at any M, and its planar limit.

The start is W = 0, so a, b, H (or a, g) begin at 0. Programs for K = 2 … 8 are packaged with M as a symbol; where the
labels of small M wrap around, the program of that M is derived when it is first needed (seconds at K = 7, 8) and kept
on disk.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.prompt.stages import events_of, marks_of
from flowsys.systems.prompt.symmetric import least_unwrapped_M
from flowsys.systems.prompt.testing import tested_observables


def wraps(M: int, K: int) -> bool:
    """Whether marked labels meet around Z_M, so that M cannot be a symbol."""
    return least_unwrapped_M(K) > M


@lru_cache(maxsize=64)
def population_program(K: int, wrapped_M: int | None = None) -> Program:
    """The committed program of K steps for every M, or the program of one small M, derived here."""
    if wrapped_M is None:
        from flowsys.systems.prompt import reduced

        return Program.parse(getattr(reduced, f"POPULATION_{K}"))
    from flowsys.symbolic.kept import kept

    names = ("statement", "model", "symmetric", "lemmas", "orbits", "planar")
    sources = [Path(__file__).with_name(f"{name}.py") for name in names]
    return kept(f"the prompt system of K = {K}, M = {wrapped_M}", lambda: _derived(K, wrapped_M), sources)


def _derived(K: int, wrapped_M: int) -> Program:
    from flowsys.symbolic.assemble import assemble
    from flowsys.systems.prompt.statement import population_statement

    return assemble(population_statement(K, wrapped_M))


@lru_cache(maxsize=1)
def planar_program() -> Program:
    """The committed program of the planar limit."""
    from flowsys.systems.prompt import reduced

    return Program.parse(reduced.PLANAR)


def limit_problem(setup: Setup, mode: str) -> Problem:
    """The population flow, or its planar limit, from W = 0."""
    M, K = setup["M"], setup["K"]
    if mode == "planar":
        program, conserved = planar_program(), None
    else:
        program = population_program(K, M if wraps(M, K) else None)
        conserved = lambda states: states[:, 2:].reshape(-1, K, K).sum(axis=1)
    return Problem(
        field=ProgramField(program),
        initial=np.zeros(len(program.state)),
        stages=(Stage(mode, arguments(program, {"M": M, "K": K, "alpha": setup["alpha"]})),),
        events=events_of(setup),
        derived=tested_observables(setup) if mode == "population" else {},
        conserved=conserved,
        marks=marks_of(setup),
        t_max=setup["t_max"],
        default_at=("T_1", "T_2", "T_3"),
    )
