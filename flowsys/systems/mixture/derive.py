"""The mixture limit derived at run time: stated with K as a symbol, found by the engine at the size asked for."""

from functools import partial

from flowsys.ladder import Rung
from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.derivation import derivation
from flowsys.model.rungs import SEEDS, WIDTHS, rungs, surrogate_error, width_error
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
    # what is eliminated holds on the limit's manifold only: random points are compared with all 22 variables
    data = SYSTEM.problem(setup, "L3", "22", MODE).stages[0].arguments
    agreement = partial(stated_against_found, concrete, program("22"), data)
    return derived_beside(concrete, limit_statement(variant == "10"), LATEX, size, agreement)


def ladder(setup: Setup) -> list[Rung]:
    """The engine's rungs, at a time, the deviation at each run's own T_2 too, and the surrogate of stage 2."""
    return [
        *rungs(SYSTEM, setup),
        Rung("L2", "L3", f"rms over {SEEDS} seeds of the deviation, each run at its own T_2",
             partial(width_error, SYSTEM, setup, "T_2"), "width", WIDTHS, -0.5, 0.1),
        Rung("L3", "L4", "T_2 - T_1 of the sinh surrogate, relative",
             lambda _: surrogate_error(SYSTEM, setup, "T_2", "sinh", since=setup["T_1"], mode="three_stage")),
    ]  # fmt: skip
