"""The population system derived at run time, and its ladder.

Stated with M as a symbol, it is found by the engine at few patterns, as there are (M - 1)! cycles. From W = 0 the
input × step and output × step entries stay 0, and 4 + K + K² classes move (fewer for K = 2, where the conserved sums
over two steps pair them up to sign). Both are compared at random points of the found classes through what both have:
a, b, H, their rates, and what is observed of them.

What stands for width here is the size ξ of the random start (L2 → L3) and the length l_tr of the prompts (L0). SGD
(Algorithm 1) differs from the flow by its step, by its short prompts and by its random batches; set against descent on
the exact population with the same step, short prompts shift the mean over seeds like 1/l_tr. With endless prompts
batches move a, b, H only through the spread they cause over patterns, which falls like batch_size^-1/2.
"""

from dataclasses import replace
from functools import partial
from math import factorial, inf
from typing import Any

import numpy as np

from flowsys.ladder import Rung
from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.derivation import derivation
from flowsys.model.rungs import limit_error, rungs, surrogate_error
from flowsys.program.arrays import arguments
from flowsys.runs.training import train
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.limits import population_program
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
    text = population_program(K, M)
    # entries are recovered from a, b, H only where the conserved sums vanish
    shared = [name for name in text.observables if name not in ENTRIES and name[:2] not in ("C_", "G_")]
    data = arguments(text, {"M": M, "alpha": there["alpha"]})
    agreement = partial(stated_against_found, concrete, text, data, shared)
    return derived_beside(concrete, population_statement(K), LATEX, size, agreement)


# -- the ladder -------------------------------------------------------------------------------------------------------

END, RATE, N_SEEDS = 200.0, 2.0, 8
STARTS, LENGTHS = (1e-1, 3e-2, 1e-2, 3e-3), (20, 40, 80, 160)


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure, symmetric subspace (with a random start, then exact from W = 0), prompts, surrogate."""
    from_random = lambda xi: limit_error(SYSTEM, small(setup, xi=xi), END, 1, rtol=1e-10)
    batches = tuple(n * setup["K"] * setup["M"] for n in (1, 4, 16))
    entries = f"every frame entry of W at t = {END:g}, M = {small(setup)['M']}, rtol 1e-10, from "
    of_seeds = f"at t = {END:g}, mean of {N_SEEDS} seeds, "
    return [
        *rungs(SYSTEM, small(setup, xi=setup["xi"])),
        Rung("L2", "L3", f"{entries}a random start of size xi", from_random, "xi", STARTS, 1.0, 0.15),
        Rung("L2", "L3 at xi = 0", f"{entries}W = 0", lambda _: from_random(0.0), tolerance=1e-9),
        Rung("L0", "L0 at l_tr = inf", f"a of SGD {of_seeds}prompts of l_tr examples",
             partial(prompt_error, setup), "l_tr", LENGTHS, -1.0, 0.1),
        Rung("L0", "symmetric W", f"spread of A_ii over patterns {of_seeds}l_tr = inf",
             partial(spread, setup), "batch_size", batches, -0.5, 0.1),
        Rung("L3", "L4", "T_2 of the surrogate, relative", lambda _: surrogate_error(SYSTEM, setup, "T_2")),
    ]  # fmt: skip


def descended(setup: Setup, observable: str, variant: str, seeds: int | None = None, **parameters: Any) -> np.ndarray:
    """An observable at t = END of descent from W = 0, for every seed; on M-dimensional patterns, which is cheapest."""
    few = {name: setup[name] for name in ("M", "K", "alpha")} | {"xi": 0.0, "d_X": setup["M"], "learning_rate": RATE}
    there = SYSTEM.setup(**few, **parameters, seed=(seeds or 1) * setup["seed"])
    run = train(SYSTEM, there, variant=variant, steps=round(END / RATE), records=1, observe=[observable], seeds=seeds)
    return np.asarray(run[observable][-1])


def prompt_error(setup: Setup, l_tr: float) -> float:
    """|mean over seeds of a(SGD) - a(descent on the exact population)|: the bias of finite prompts."""
    of_batches = descended(setup, "a", "sgd", N_SEEDS, l_tr=l_tr, batch_size=setup["batch_size"])
    return abs(float((of_batches - descended(setup, "a", "symmetric")).mean()))


def spread(setup: Setup, batch_size: float) -> float:
    """Standard deviation of A_ii over patterns, at endless prompts: what random batches do to W."""
    return float(descended(setup, "sd_A_s", "sgd", N_SEEDS, l_tr=inf, batch_size=int(batch_size)).mean())
