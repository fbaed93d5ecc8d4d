"""The co-occurrence limit derived at run time: stated with n and L as symbols, found by lumping at a small size.

The unlumped system has 3d(d + 1)/2 + d² + d + 1 coordinates, d = 35 words already at n = 12, L = 5, so sizes beyond
n = 24 or L = 6 are lumped at (12, 5): the stated program is the same for every size.

How many classes there are depends on the start. From a generic symmetric start the coarsest lumping is that into the
orbits of words and pairs of words: G 5, c 1, VV 24, S 35, KK 24, QQ 24, together 113 (173 without the swap of μ1 and
μ2). From the limit's own start it is coarser, 105 classes: S stays the same for a word itself and for another word of
its sentence (S 32), and dVV/dt = rGᵀ + Grᵀ, from VV = αI, does not tell sentences apart (VV 19). The stated program
keeps the 113 orbits, so that it can start anywhere.
"""

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup
from flowsys.systems.cooccurrence.enumerated import MATRICES, Enumerated
from flowsys.systems.cooccurrence.limits import program_arguments
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.scales import Scales
from flowsys.systems.cooccurrence.statement import limit_statement
from flowsys.systems.cooccurrence.vocabulary import shares_of


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump, and compare."""
    stated = Stated.assembled(limit_statement(variant))
    system = enumerated(setup)
    partition = lump(system.field, system.start)
    carried = variant if variant == "without_swap" else "113"
    program = stated.program if variant == carried else assemble(limit_statement(carried))
    agreement = stated_against_found(program, carried, partition, system, setup)
    orbits = lump(system.field, system.generic_start())
    size = (
        f"n = {system.n}, L = {system.L} ({_counted(orbits, system.names)} from a generic symmetric start; "
        f"{_counted(partition, system.names)} from the limit's)"
    )
    return stated.beside(partition, system.field, system.names, agreement, size, LATEX)


def enumerated(setup: Setup) -> Enumerated:
    """The unlumped system at the setup's size, or at n = 12, L = 5 if that is too large to write out."""
    n, L = setup["n"], setup["L"]
    is_small = n <= 24 and L <= 6 and int(n) == n and int(L) == L
    n, L = (int(n), int(L)) if is_small else (12, 5)
    scales = Scales(*(setup[name] for name in ("alpha", "beta", "m1", "score_scale")))
    shares = shares_of(setup) if is_small else (1 / 2, 1 / 6, 1 / 6, 1 / 6)
    return Enumerated(n, L, scales, shares)


def class_counts(partition: Partition, names: tuple[str, ...]) -> dict[str, int]:
    """How many classes G, c and each matrix fall into."""
    kinds = np.array([name.split("_")[0] for name in names])
    return {
        kind: len(set(partition.labels[(kinds == kind) & (partition.labels >= 0)])) for kind in ("G", "c", *MATRICES)
    }


def _counted(partition: Partition, names: tuple[str, ...]) -> str:
    counts = class_counts(partition, names)
    return f"{partition.n_classes} classes: {', '.join(f'{name} {count}' for name, count in counts.items())}"


def stated_against_found(
    program: Program, variant: str, partition: Partition, system: Enumerated, setup: Setup, seed: int = 0
) -> float:
    """The largest difference of dy/dt between the stated program and the lumped full field, at random points."""
    sizes = {"n": system.n, "L": system.L} | dict(
        zip(("share_1", "share_2", "share_4"), np.array(system.shares)[[0, 1, 3]])
    )
    args = program_arguments(Setup(setup.system, dict(setup) | sizes), variant)
    field, rng, worst = vector_field(program, "exact", np), np.random.default_rng(seed), 0.0
    moving = np.array([name not in ("tau", "clock") for name in program.state])
    for _ in range(5):
        y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
        ours = field(system.sector_state(y, program.state, variant), args)
        theirs = system.sector_state(system.field(y), program.state, variant)
        worst = float(np.maximum(worst, np.abs(ours - theirs)[moving].max()))  # NaN stays
    return worst
