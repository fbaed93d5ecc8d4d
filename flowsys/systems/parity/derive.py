"""The parity limit derived at run time: stated with n, i, m as symbols, found by lumping at a small size.

The lumped system of (n, k) has 16 + 4(k-2) variables for k ≥ 2, and 4 for k = 1: the block, and four for every later
position. Each is compared with its stated program.
"""

from collections.abc import Callable

import jax
import numpy as np

from flowsys.model.concrete import Concrete
from flowsys.model.flows import reduced_field
from flowsys.program import Program
from flowsys.program.arrays import arguments, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup
from flowsys.systems.parity import FORMS, SYSTEM
from flowsys.systems.parity.limits import is_in_block
from flowsys.systems.parity.notation import LATEX
from flowsys.systems.parity.statement import block_statement, position_statement

# all strings of n bits are written out, so the found system is that of at most this size
LARGEST_N, LARGEST_K = 6, 4


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump at min(n, 6) bits and min(k, 4) secrets, and compare."""
    stated = Stated.assembled(block_statement() if is_in_block(setup, "position") else position_statement())
    n, k, m = min(setup["n"], LARGEST_N), min(setup["k"], LARGEST_K), setup["m"]
    names, full = unlumped(n, k, m)
    partition = lump(full, np.zeros(len(names)))
    agreement = stated_against_found(partition, names, full, n, k, m)
    return stated.beside(partition, full, names, agreement, f"n = {n}, k = {k}, linear loss", LATEX)


def unlumped(n: int, k: int, m: float) -> tuple[tuple[str, ...], Callable[[np.ndarray], np.ndarray]]:
    """The names D_query_key and a_key_query of the limit over every string and token, and d(D, a)/dt, linear loss."""
    setup = SYSTEM.setup(n=n, k=k, m=m, tokens="all")
    concrete = Concrete(FORMS["found"].declaration, setup, "position", at_limit=True)
    rhs, arguments_of_flow = jax.jit(reduced_field(concrete).rhs), concrete.arguments(0)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rhs(np.asarray(y, dtype=float), arguments_of_flow))

    return concrete.coordinates.names, evaluate


def stated_state(program: Program, entries: dict[str, float], n: int, i: int) -> np.ndarray:
    """The stated program's coordinates from the unlumped ones; `i` is the position of a program in (g, u, v, w)."""
    K = lambda q, t: (
        entries[f"D_{q}_{t}"]
        + sum(value for name, value in entries.items() if name.startswith("D_") and name.endswith(f"_{t}"))
    )
    a = lambda t, q: entries[f"a_{t}_{q}"]
    end, ordinary = f"{n + 1}b0", f"{n}b0"
    if program.state[0] == "g":
        query, target = f"{i}b0", f"{i - n}b0"
        return np.array([-K(query, target), a(target, query), a(ordinary, query), a(end, query)])
    query = f"{n + 2}b0"
    keys = ["2b0", "2b1", "1b0", ordinary, end, query]
    first = [-K(end, "1b0"), a("1b0", end), a(ordinary, end), a(end, end)]
    return np.array([*first, *(K(query, t) for t in keys), *(a(t, query) for t in keys)])


def stated_against_found(partition: Partition, names, full, n: int, k: int, m: float, seed: int = 0) -> float:
    """The largest difference of dy/dt between the stated programs and the lumped full field, at random points."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for program, i, values in programs_of(n, k, m):
        field = vector_field(program, "exact", np)
        for _ in range(5):
            y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
            here, there = (stated_state(program, dict(zip(names, z)), n, i) for z in (y, full(y)))
            worst = float(np.maximum(worst, np.abs(field(here, arguments(program, values)) - there).max()))  # NaN stays
    return worst


def programs_of(n: int, k: int, m: float) -> list[tuple[Program, int, dict[str, float]]]:
    """The stated programs that together are the system of (n, k), with their positions and parameters."""
    position = assemble(position_statement())
    if k == 1:
        return [(position, n + 1, {"i": n + 1, "m": m, "query_bits": 1})]
    block = (assemble(block_statement()), n + 2, {"n": n, "m": m, "is_first": 1})
    return [block, *((position, i, {"i": i, "m": m, "query_bits": 2}) for i in range(n + 3, n + k + 1))]
