"""The parity limit derived at run time: stated with n, i, m as symbols, found by the engine at a small size.

The lumped system of (n, k) has 16 + 4(k-2) variables for k ≥ 2, and 4 for k = 1: the block, and four for every later
position. Each is compared with its stated program.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.parity import FORMS, SYSTEM
from flowsys.systems.parity.limits import is_in_block
from flowsys.systems.parity.notation import LATEX
from flowsys.systems.parity.statement import block_statement, position_statement

# all strings of n bits are written out, so the found system is that of at most this size
LARGEST_N, LARGEST_K = 6, 4


def derive(setup: Setup, variant: str) -> Derivation:
    """State, find at min(n, 6) bits and min(k, 4) secrets, and compare; the variant `found` is the engine's alone."""
    statement = block_statement() if is_in_block(setup, "position") else position_statement()
    n, k = min(setup["n"], LARGEST_N), min(setup["k"], LARGEST_K)
    small = SYSTEM.setup(n=n, k=k, m=setup["m"], tokens="all")
    concrete = Concrete(FORMS["found"].declaration, small, "position", at_limit=True)
    size = f"n = {n}, k = {k}, linear loss"
    if variant == "found":
        return replace(derivation(concrete), size=size)
    return derived_beside(concrete, statement, LATEX, size, partial(agreement, concrete, n, k, setup["m"]))


def agreement(concrete: Concrete, n: int, k: int, m: float) -> float:
    """The largest difference of dy/dt between the stated programs, which together are the system, and the found one."""
    return max(
        stated_against_found(concrete, program, arguments(program, values), (), partial(stated_state, n, i))
        for program, i, values in programs_of(n, k, m)
    )


def stated_state(n: int, i: int, seen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The stated coordinates of the block (i = n+2), or of a position, from D (queries × keys) and a (keys × queries).

    Token (j, b) has number 2(j-1) + b, and n, which is no secret, stands for the ordinary ones.
    """
    K, a = seen["D"] + seen["D"].sum(axis=0), seen["a"]
    end, ordinary, target = 2 * n, 2 * n - 2, 2 * (i - n - 1)
    if i != n + 2:
        return {"g": -K[target, target], "u": a[target, target], "v": a[ordinary, target], "w": a[end, target]}
    keys = {"x0": 2, "x1": 3, "z": 0, "o": ordinary, "e": end, "f": end + 2}
    first = {"g_1": -K[0, 0], "u_1": a[0, 0], "v_1": a[ordinary, 0], "w_1": a[end, 0]}
    return first | {f"K_{x}": K[2, t] for x, t in keys.items()} | {f"a_{x}": a[t, 2] for x, t in keys.items()}


def programs_of(n: int, k: int, m: float) -> Iterator[tuple[Program, int, dict[str, float]]]:
    """The stated programs that together are the system of (n, k), with their positions and parameters."""
    position = assemble(position_statement())
    if k > 1:
        yield assemble(block_statement()), n + 2, {"n": n, "m": m, "is_first": 1}
    for i in [n + 1] if k == 1 else range(n + 3, n + k + 1):
        yield position, i, {"i": i, "m": m, "query_bits": min(k, 2)}
