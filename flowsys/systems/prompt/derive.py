"""The population system derived at run time: stated with M as a symbol, found by the engine at a small size.

From W = 0 the input × step and output × step entries stay 0, and 4 + K + K² classes move (fewer for K = 2, where the
conserved sums over two steps pair them up to sign). The enumeration has (M - 1)! cycles, so it is done at small M. The
two are compared at random points of the found classes through what both have: a, b, H, their rates, and what is
observed of them.
"""

import time
from dataclasses import replace
from math import factorial

import numpy as np

from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.limit import arguments_of, found_limit
from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.limits import population_program, wraps
from flowsys.systems.prompt.notation import LATEX
from flowsys.systems.prompt.statement import population_statement

MOST_PATTERNS, FEW_PATTERNS = 6, 5


def small(setup: Setup, **changes: float) -> Setup:
    """All cycles of few patterns: the M asked for if it can be enumerated."""
    M = setup["M"] if setup["M"] <= MOST_PATTERNS else FEW_PATTERNS
    few = {"M": M, "K": setup["K"], "alpha": setup["alpha"], "d_X": M, "M_test": min(M, setup["M_test"])}
    return SYSTEM.setup(**(few | {"n_tasks": float("inf"), "seed": setup["seed"]} | changes))


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone."""
    there = small(setup)
    M, K = there["M"], there["K"]
    concrete = SYSTEM.concrete(there, "L3", "population")
    size = f"M = {M}, K = {K}, all {factorial(M - 1)} cycles, from W = 0"
    found = replace(derivation(concrete), size=size)
    if variant == "found":
        return found
    begun = time.perf_counter()
    statement = population_statement(K)
    return replace(
        found,
        program=assemble(statement),
        equations=flow_equations(statement, LATEX),
        loss=loss_equations(statement, LATEX),
        agreement=stated_against_found(concrete),
        seconds=time.perf_counter() - begun,
        statement=statement,
    )


def stated_against_found(concrete: Concrete, seed: int = 0) -> float:
    """The largest difference in rates and observables at random points of the found classes."""
    M, K = concrete.values["M"], concrete.values["K"]
    found, own = found_limit(concrete), arguments_of(found_limit(concrete), concrete, 0)
    text = population_program(K, M if wraps(M, K) else None)
    data = arguments(text, {"M": M, "alpha": concrete.values["alpha"]})
    # entries are recovered from a, b, H only where the conserved sums vanish
    of_entries = {"A_s", "A_d", "B_s", "B_d"}
    shared = tuple(name for name in text.observables if name not in of_entries and name[:2] not in ("C_", "G_"))
    rate_of, rate_stated = vector_field(found.program, "exact", np), vector_field(text, "exact", np)
    state_of = observed(found.program, text.state, "exact", np)
    see, see_stated = (observed(program, shared, "exact", np) for program in (found.program, text))
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        z = 0.7 * rng.standard_normal(len(found.program.state))
        named = lambda z: np.asarray(state_of(z, own))  # linear in the classes: rates map as states do
        y = named(z)
        apart = [rate_stated(y, data) - named(rate_of(z, own)), see_stated(y, data) - np.asarray(see(z, own))]
        worst = float(np.maximum(worst, max(np.abs(difference).max() for difference in apart)))  # NaN stays
    return worst
