"""The mixture limit derived at run time: stated with K as a symbol, found by the engine at the size asked for.

The two are compared at random points of the found classes through what both have: the same entries, their rates, and
every observable. The ladder is the engine's, with the surrogates' rung.
"""

from functools import partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.model import compared
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.rungs import SEEDS, WIDTHS, rungs, width_error
from flowsys.runs.solving import solve
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.observables import OBSERVE
from flowsys.systems.mixture.statement import limit_statement

MODE = "simultaneous"


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    concrete = SYSTEM.concrete(setup, "L3", MODE)
    if variant == "found":
        return derivation(concrete)
    statement = limit_statement(eliminate_self_scores=variant == "10")
    size = f"K = {setup['K']}, L = {setup['L']}, simultaneous training"
    agreement = partial(stated_against_found, concrete, setup)
    return compared.derived_beside(concrete, statement, LATEX, size, agreement)


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


def stated_against_found(concrete: Concrete, setup: Setup) -> float:
    """The largest difference in rates and observables at random points of the found classes."""
    problem = SYSTEM.problem(setup, "L3", "22", MODE)
    text, stated = problem.field.program, problem.stages[0].arguments
    entries = [name for name in OBSERVE if name.startswith(("w_", "S_", "KK_", "QQ_"))]
    shared = [name for name in ("loss", *OBSERVE) if name in text.observables]
    state = lambda values: sectors(text.state, values, setup["K"])
    return compared.stated_against_found(concrete, text, stated, shared, entries, state)


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
