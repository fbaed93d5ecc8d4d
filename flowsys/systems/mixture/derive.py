"""The mixture limit derived at run time: stated with K as a symbol, found by the engine at the size asked for.

The two are compared at random points of the found classes through what both have: the same entries, their rates, and
every observable. The ladder is the engine's, with the surrogates' rung.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.limit import arguments_of, found_limit
from flowsys.model.rungs import SEEDS, WIDTHS, rungs, width_error
from flowsys.program.arrays import observed, vector_field
from flowsys.runs.solving import solve
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.observables import OBSERVE
from flowsys.systems.mixture.statement import limit_statement

MODE = "simultaneous"


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    concrete = SYSTEM.concrete(setup, "L3", MODE)
    found = derivation(concrete)
    if variant == "found":
        return found
    begun = time.perf_counter()
    statement = limit_statement(eliminate_self_scores=variant == "10")
    program = assemble(statement)
    return replace(
        found,
        program=program,
        equations=flow_equations(statement, LATEX),
        loss=loss_equations(statement, LATEX),
        size=f"K = {setup['K']}, L = {setup['L']}, simultaneous training",
        agreement=stated_against_found(concrete, setup),
        seconds=time.perf_counter() - begun,
        statement=statement,
    )


def sectors(program_state: tuple[str, ...], entries: dict[str, float], K: int) -> np.ndarray:
    """The stated program's coordinates from entries: M_mean = same + (K-1) diff, M_difference = same - diff."""
    state = np.zeros(len(program_state))
    for row, name in enumerate(program_state):
        stem, _, part = name.rpartition("_")
        if part in ("mean", "difference"):
            share = K - 1 if part == "mean" else -1
            state[row] = entries[f"{stem}_same"] + share * entries[f"{stem}_diff"]
        else:
            state[row] = entries[name]
    return state


def stated_against_found(concrete: Concrete, setup: Setup, seed: int = 0) -> float:
    """The largest difference in rates and observables at random points of the found classes."""
    K, found = setup["K"], found_limit(concrete)
    problem = SYSTEM.problem(setup, "L3", "22", MODE)
    text, stated = problem.field.program, problem.stages[0].arguments
    own = arguments_of(found, concrete, 0)
    entries = [name for name in OBSERVE if name.startswith(("w_", "S_", "KK_", "QQ_"))]
    shared = tuple(name for name in ("loss", *OBSERVE) if name in text.observables)
    rate_of, rate_stated = vector_field(found.program, "exact", np), vector_field(text, "exact", np)
    see, entries_of = observed(found.program, shared, "exact", np), observed(found.program, tuple(entries), "exact", np)
    see_stated = observed(text, shared, "exact", np)
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        z = 0.7 * rng.standard_normal(len(found.program.state))
        named = lambda z: sectors(text.state, dict(zip(entries, np.asarray(entries_of(z, own)))), K)
        y = named(z)  # entries are linear in the classes: rates map as states do
        apart = [rate_stated(y, stated) - named(rate_of(z, own)), see_stated(y, stated) - np.asarray(see(z, own))]
        worst = float(np.maximum(worst, max(np.abs(difference).max() for difference in apart)))  # NaN stays
    return worst


def ladder(setup: Setup) -> list[Rung]:
    """The engine's rungs, at a time, the deviation at each run's own T_2 too, and the surrogate of stage 2."""
    return [
        *rungs(SYSTEM, setup),
        Rung(
            "L2",
            "L3",
            f"rms over {SEEDS} seeds of the deviation, each run at its own T_2",
            partial(width_error, SYSTEM, setup, "T_2"),
            "width",
            WIDTHS,
            -0.5,
            0.1,
        ),
        Rung("L3", "L4", "T_2 of the sinh surrogate, relative", partial(surrogate_error, setup)),
    ]


def surrogate_error(setup: Setup, _) -> float:
    """Relative error of T_2 - T_1 by the sinh surrogate."""
    exact, rough = (
        solve(SYSTEM, setup, level=level, variant=variant, mode="three_stage", at=["T_2"], observe=[]).t[0]
        for level, variant in (("L3", "22"), ("L4", "sinh"))
    )
    return abs(rough - exact) / (exact - setup["T_1"])
