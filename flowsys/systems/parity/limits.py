"""Infinite width, frozen gates (L3), and the surrogate in which only the target's score moves (L4).

Position i ≥ n+3, and the only position of k = 1, have a program in (g, u, v, w); positions n+1 and n+2 of k ≥ 2 are
read off the block of 16. All start at 0. Before any margin reaches 1 the linear and the hinge loss agree; beyond that
the hinge of a position's own margin s·g is exact for k = 1, and leaves out the common mode for i ≥ n+3 (the variants
`collapsed` and `balanced` have it).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.finite import flow_problem
from flowsys.model.limit import limit_problem as found_problem
from flowsys.model.stated import stated_problem
from flowsys.program import committed
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField
from flowsys.systems.parity import FORMS, SYSTEM


def smallest_scale(setup: Setup) -> Any:
    """Signals are of size 1/√m, scores of ordinary tokens of size 1/n."""
    return np.minimum(min(1.0, 1.0 / setup["n"]), 1 / np.sqrt(setup["m"]))


def is_in_block(setup: Setup, mode: str) -> bool:
    """Whether what is observed belongs to the coupled positions n+1, n+2."""
    if mode == "block":
        if setup["k"] == 1:
            raise InputError("k = 1 is not allowed in mode = block: the block holds positions n+1 and n+2.")
        return True
    return setup["k"] >= 2 and setup["i"] <= setup["n"] + 2


def limit_problem(setup: Setup, mode: str) -> Problem:
    """The limit's flow from 0, by the program that holds position i."""
    if mode == "no_chain":
        raise InputError("mode = no_chain has no stated limit: use the variants collapsed, balanced or found.")
    if not is_in_block(setup, mode):
        name = "PROGRAM_POSITION_HINGE" if setup["loss"] == "hinge" else "PROGRAM_POSITION"
        n_sure = min(setup["k"], 2)
        return _problem(name, setup, mode, lambda y: invariants(y.T[1:], setup["i"] - 1 - n_sure, n_sure))
    if setup["loss"] == "hinge":
        raise InputError(
            "loss = hinge is not allowed for positions n+1, n+2 in the variant limit: use linear, or --variant "
            "collapsed, which follows every sequence."
        )
    return _problem("PROGRAM_BLOCK", setup, mode, partial(block_invariants, setup["n"]))


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """L4: v = w = 0, so that 4mg² = u + (e^u - 1)/(i-1); locks too late by about 1/(2n)."""
    if mode != "position" or is_in_block(setup, mode):
        raise InputError("level = L4 is stated for mode = position with i >= n+3, or k = 1.")
    if setup["loss"] != "linear":
        raise InputError("loss = hinge is not allowed at level L4: the surrogate is stated for the linear loss.")
    return _problem("PROGRAM_SURROGATE", setup, mode, None)


def _problem(name: str, setup: Setup, mode: str, conserved: Any) -> Problem:
    """A committed program from 0. In mode block any later i stands for n+1."""
    text = committed("flowsys.systems.parity", name)
    read = {**setup, "query_bits": min(setup["k"], 2), "is_first": setup["i"] != setup["n"] + 2}
    values = arguments(text, {name: read[name] for name in text.parameters})
    return stated_problem(
        SYSTEM.declaration, setup, mode, ProgramField(text), np.zeros(len(text.state)), lambda stage: values,
        conserved=conserved, scale=smallest_scale(setup),
    )  # fmt: skip


def sequences_problem(form: str, setup: Setup, mode: str) -> Problem:
    """A form of the block that follows every secret string: frozen, collapsed, balanced; `found`, `live` are lumped."""
    model, values = FORMS[form], {**setup, "tokens": "classes"}
    if form == "live" and setup["k"] > 2:
        raise InputError(f"k = {setup['k']} is not allowed with variant = live: use balanced for k > 2.")
    if form in ("found", "live"):
        return found_problem(Concrete(model.declaration, values, mode, at_limit=True))
    problem = flow_problem(Concrete(model.declaration, values, mode), "L2")
    return replace(problem, scale=smallest_scale(setup))


def invariants(scores: np.ndarray, n_ordinary: int, n_sure: int) -> np.ndarray:
    """u + N_o v + N_w w/2 and e^(-w) - 2e^(-v) + 1 of (u, v, w) at states, both 0 along the flow."""
    u, v, w = scores
    return np.stack([u + n_ordinary * v + n_sure * w / 2, np.expm1(-w) - 2 * np.expm1(-v)], axis=1)


def block_invariants(n: int, states: np.ndarray) -> np.ndarray:
    """The same at n+1, and the sum of all scores at n+2."""
    return np.column_stack([invariants(states.T[1:4], n - 1, 1), states[:, 10:] @ [1, 1, 1, 2 * (n - 2), 1, 1]])
