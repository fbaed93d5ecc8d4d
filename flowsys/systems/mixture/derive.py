"""The mixture limit derived at run time: stated with K as a symbol, found by the engine at the size asked for."""

from functools import partial

from flowsys.ladder import Rung
from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.rungs import SEEDS, WIDTHS, rungs, width_error
from flowsys.runs.solving import solve
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import program
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.statement import limit_statement

MODE = "simultaneous"


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    concrete = SYSTEM.concrete(setup, "L3", MODE)
    if variant == "found":
        return derivation(concrete)
    size = f"K = {setup['K']}, L = {setup['L']}, simultaneous training"
    return derived_beside(concrete, limit_statement(variant == "10"), LATEX, size, partial(agreement, concrete, setup))


def agreement(concrete: Concrete, setup: Setup) -> float:
    """How far the program of 22 variables is from the found one; what is eliminated holds on the limit's manifold."""
    data = SYSTEM.problem(setup, "L3", "22", MODE).stages[0].arguments
    return stated_against_found(concrete, program("22"), data)


def ladder(setup: Setup) -> list[Rung]:
    """The engine's rungs, at a time, the deviation at each run's own T_2 too, and the surrogate of stage 2."""
    return [
        *rungs(SYSTEM, setup),
        Rung("L2", "L3", f"rms over {SEEDS} seeds of the deviation, each run at its own T_2",
             partial(width_error, SYSTEM, setup, "T_2"), "width", WIDTHS, -0.5, 0.1),
        Rung("L3", "L4", "T_2 of the sinh surrogate, relative", partial(surrogate_error, setup)),
    ]  # fmt: skip


def surrogate_error(setup: Setup, _) -> float:
    """Relative error of T_2 - T_1 by the sinh surrogate."""
    exact, rough = (
        solve(SYSTEM, setup, level=level, variant=variant, mode="three_stage", at=["T_2"], observe=[]).t[0]
        for level, variant in (("L3", "22"), ("L4", "sinh"))
    )
    return abs(rough - exact) / (exact - setup["T_1"])
