"""Infinite width, frozen gates (L3), and the surrogate in which only the target's score moves (L4).

Position i ≥ n+3, and the only position of k = 1, have a program in (g, u, v, w); positions n+1 and n+2 of k ≥ 2 are
read off the block of 16. All start at 0. Before any margin reaches 1 the linear and the hinge loss agree; beyond that
the hinge of a position's own margin s·g is exact for k = 1, and leaves out the common mode for i ≥ n+3 (the variants
`collapsed` and `balanced` have it).
"""

from functools import lru_cache

import numpy as np

from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.program.arrays import Arguments, arguments
from flowsys.system import Setup
from flowsys.system.problem import Event, Problem, ProgramField, Stage
from flowsys.systems.parity.vocabulary import EVENTS


@lru_cache(maxsize=8)
def program(name: str) -> Program:
    """The committed program: position, position_hinge, block or surrogate."""
    from flowsys.systems.parity import reduced

    return Program.parse(getattr(reduced, f"PROGRAM_{name.upper()}"))


def events_of(setup: Setup, has_gates: bool = False) -> tuple[Event, ...]:
    """Lock and margin 1; the first flip of a gate where gates are live."""
    # under the hinge a margin comes to rest at 1 up to rounding, so it counts as reached just below
    reached = setup["margin_threshold"] * (1 - 1e-9 * (setup["loss"] == "hinge"))
    return (
        Event("lock", "s_target", setup["lock_threshold"], +1, EVENTS["lock"]),
        Event("margin_1", "margin", reached, +1, EVENTS["margin_1"]),
        *([Event("gate_flip", "gate_slack", 0.0, -1, EVENTS["gate_flip"])] if has_gates else []),
    )


def smallest_scale(setup: Setup) -> float | np.ndarray:
    """Signals are of size 1/√m, scores of ordinary tokens of size 1/n."""
    return np.minimum(min(1.0, 1.0 / setup["n"]), 1 / np.sqrt(setup["m"]))


def is_in_block(setup: Setup, mode: str) -> bool:
    """Whether what is observed belongs to the coupled positions n+1, n+2."""
    if mode == "block":
        if setup["k"] == 1:
            raise InputError("k = 1 is not allowed in mode = block: the block holds positions n+1 and n+2.")
        return True
    return setup["k"] >= 2 and setup["i"] <= setup["n"] + 2


def limit_program(setup: Setup, mode: str) -> tuple[Program, Arguments]:
    """The program that holds position i, with its arguments."""
    if is_in_block(setup, mode):
        if setup["loss"] == "hinge":
            raise InputError(
                "loss = hinge is not allowed for positions n+1, n+2 in the variant limit: use linear, or --variant "
                "collapsed, which follows every sequence."
            )
        text = program("block")
        # position i reports under its own name; in mode block any later i stands for n+1
        values = {"n": setup["n"], "m": setup["m"], "is_first": setup["i"] != setup["n"] + 2}
    else:
        text = program("position_hinge" if setup["loss"] == "hinge" else "position")
        values = {"i": setup["i"], "m": setup["m"], "query_bits": 1 if setup["k"] == 1 else 2}
    return text, arguments(text, values)


def limit_problem(setup: Setup, mode: str) -> Problem:
    """The limit's flow from 0."""
    text, values = limit_program(setup, mode)
    conserved = block_invariants(setup["n"]) if is_in_block(setup, mode) else position_invariants(setup)
    return _problem(text, values, setup, conserved)


def surrogate_problem(setup: Setup, mode: str) -> Problem:
    """L4: v = w = 0, so that 4mg² = u + (e^u - 1)/(i-1); locks too late by about 1/(2n)."""
    if mode != "position" or is_in_block(setup, mode):
        raise InputError("level = L4 is stated for mode = position with i >= n+3, or k = 1.")
    if setup["loss"] != "linear":
        raise InputError("loss = hinge is not allowed at level L4: the surrogate is stated for the linear loss.")
    text = program("surrogate")
    values = {"i": setup["i"], "m": setup["m"], "query_bits": 1 if setup["k"] == 1 else 2}
    return _problem(text, arguments(text, values), setup, None)


def _problem(text: Program, values: Arguments, setup: Setup, conserved) -> Problem:
    return Problem(
        field=ProgramField(text),
        initial=np.zeros(len(text.state)),
        stages=(Stage("flow", values),),
        events=events_of(setup),
        conserved=conserved,
        scale=smallest_scale(setup),
        t_max=setup["t_max"],
        default_at=("lock", "margin_1"),
    )


def position_invariants(setup: Setup):
    """u + N_o v + N_w w/2 and e^(-w) - 2e^(-v) + 1, both 0 along the flow."""
    n_sure = 1 if setup["k"] == 1 else 2
    return lambda states: _of_position(*states.T[1:], setup["i"] - 1 - n_sure, n_sure)


def _of_position(u, v, w, n_ordinary: int, n_sure: int) -> np.ndarray:
    return np.stack([u + n_ordinary * v + n_sure * w / 2, np.expm1(-w) - 2 * np.expm1(-v)], axis=1)


def block_invariants(n: int):
    """The same at n+1, and the sum of all scores at n+2."""

    def conserved(states: np.ndarray) -> np.ndarray:
        a_x0, a_x1, a_z, a_o, a_e, a_f = states.T[10:]
        total = a_x0 + a_x1 + a_z + 2 * (n - 2) * a_o + a_e + a_f
        return np.column_stack([_of_position(*states.T[1:4], n - 1, 1), total])

    return conserved
