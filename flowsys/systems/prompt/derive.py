"""The population system derived at run time: stated with M as a symbol, found by lumping at a small size.

From W = 0 the input × step and output × step entries stay 0, and 4 + K + K² classes move (fewer for K = 2, where the
conserved sums over two steps pair them up to sign); from a start that only relabelling leaves alone there are
4 + 3K + K² classes. The enumeration has (M - 1)! cycles, so it is done at M ≤ 7.
"""

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import arguments, vector_field
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup

from .enumerated import generic_start, symmetric_of, unlumped_field
from .limits import population_program, wraps
from .notation import LATEX
from .observations import score_names
from .statement import population_statement
from .symmetric import least_unwrapped_M

MOST_PATTERNS = 7


def enumerated_size(M: int, K: int) -> int:
    """The M to enumerate: the one asked for if it is small, else the least at which M may be a symbol, else 6."""
    least = least_unwrapped_M(K)
    return M if M <= MOST_PATTERNS else least if least <= MOST_PATTERNS else MOST_PATTERNS - 1


def derive(setup: Setup) -> Derivation:
    """State, lump, and compare."""
    K, alpha = setup["K"], setup["alpha"]
    M = enumerated_size(setup["M"], K)
    stated = Stated.assembled(population_statement(K))
    full, names = unlumped_field(M, K, alpha), score_names(M, K)
    partition = lump(full, np.zeros(len(names)))
    program = population_program(K, M) if wraps(M, K) else stated.program
    agreement = stated_against_found(program, partition, full, M, K, alpha)
    n_orbits = lump(full, generic_start(M, K)).n_classes
    size = (
        f"M = {M}, K = {K}, all {np.prod(range(1, M))} cycles, from W = 0 (a start that only relabelling patterns "
        f"leaves alone has {n_orbits} classes)"
    )
    return stated.beside(partition, full, names, agreement, size, LATEX)


def stated_against_found(program: Program, partition: Partition, full, M: int, K: int, alpha: float) -> float:
    """The largest difference of d(a, b, H)/dt between the stated program and the lumped full field."""
    args = arguments(program, {"M": M, "alpha": alpha})
    field = vector_field(program, "exact", np)
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(5):
        y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
        ours, theirs = field(symmetric_of(y, M, K), args), symmetric_of(full(y), M, K)
        worst = float(np.maximum(worst, np.abs(ours - theirs).max()))  # NaN stays
    return worst
