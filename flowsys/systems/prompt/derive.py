"""The population system derived at run time: stated with M as a symbol, found by the engine at a small size.

From W = 0 the input × step and output × step entries stay 0, and 4 + K + K² classes move (fewer for K = 2, where the
conserved sums over two steps pair them up to sign). The enumeration has (M - 1)! cycles, so it is done at small M. The
two are compared at random points of the found classes through what both have: a, b, H, their rates, and what is
observed of them.
"""

from dataclasses import replace
from math import factorial, inf

from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.program.arrays import arguments
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.limits import population_program, wraps
from flowsys.systems.prompt.notation import LATEX
from flowsys.systems.prompt.observables import ENTRIES
from flowsys.systems.prompt.statement import population_statement

MOST_PATTERNS, FEW_PATTERNS = 6, 5


def small(setup: Setup, **changes: float) -> Setup:
    """All cycles of few patterns: the M asked for if it can be enumerated."""
    M = setup["M"] if setup["M"] <= MOST_PATTERNS else FEW_PATTERNS
    few = {"M": M, "K": setup["K"], "alpha": setup["alpha"], "d_X": M, "M_test": min(M, setup["M_test"])}
    return SYSTEM.setup(**(few | {"n_tasks": inf, "seed": setup["seed"]} | changes))


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    there = small(setup)
    M, K = there["M"], there["K"]
    concrete = SYSTEM.concrete(there, "L3", "population")
    size = f"M = {M}, K = {K}, all {factorial(M - 1)} cycles, from W = 0"
    if variant == "found":
        return replace(derivation(concrete), size=size)
    return derived_beside(concrete, population_statement(K), LATEX, size, lambda: apart(concrete))


def apart(concrete: Concrete) -> float:
    """The largest difference of stated and found in rates and observables."""
    M, K = concrete.values["M"], concrete.values["K"]
    text = population_program(K, M if wraps(M, K) else None)
    # entries are recovered from a, b, H only where the conserved sums vanish
    shared = [name for name in text.observables if name not in ENTRIES and name[:2] not in ("C_", "G_")]
    data = arguments(text, {"M": M, "alpha": concrete.values["alpha"]})
    return stated_against_found(concrete, text, data, shared)
