"""The mixture limit derived at run time: stated with K as a symbol, found by lumping at the size asked for."""

import numpy as np

from flowsys.program import Program
from flowsys.program.arrays import arguments, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup
from flowsys.systems.mixture.enumerated import infinite_width_start, unlumped_field
from flowsys.systems.mixture.network import ReducedLayout
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.population import orbit_tables
from flowsys.systems.mixture.statement import limit_statement


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump, and compare."""
    stated = Stated.assembled(limit_statement(eliminate_self_scores=variant == "10"))
    K, L, b = setup["K"], setup["L"], setup["b"]
    full, names = unlumped_field(K, L, b), ReducedLayout(K).names
    partition = lump(full, infinite_width_start(K, setup["omega"]))
    program = stated.program if variant == "22" else assemble(limit_statement())
    agreement = stated_against_found(program, partition, full, setup)
    size = f"K = {K}, L = {L}, simultaneous training"
    return stated.beside(partition, full, names, agreement, size, LATEX)


def sectors_of_classes(program: Program, partition: Partition, K: int) -> np.ndarray:
    """The matrix from class values to the stated program's sector coordinates."""
    names = ReducedLayout(K).names
    class_of = {name: (int(c), int(s)) for name, c, s in zip(names, partition.labels, partition.signs)}
    matrix = np.zeros((len(program.state), partition.n_classes))
    for row, name in enumerate(program.state):
        kind, entry, *part = name.split("_")
        if not part:
            c, s = class_of[f"w_plus_{entry}1"]
            matrix[row, c] = s
            continue
        x, y = entry
        same, diff = (class_of[f"{kind}_plus_{x}1_{y}{k}"] for k in (1, 2))
        matrix[row, same[0]] += same[1]
        matrix[row, diff[0]] += diff[1] * ((K - 1) if part == ["mean"] else -1)
    return matrix


def stated_against_found(program: Program, partition: Partition, full, setup: Setup, seed: int = 0) -> float:
    """The largest difference of dy/dt between the stated program and the lumped full field, at random points."""
    K, L = setup["K"], setup["L"]
    values = {"K": K, "omega": setup["omega"], "b": setup["b"], "train_neurons": 1, "train_attention": 1}
    args = arguments(program, values, *orbit_tables(K, L))
    field = vector_field(program, "exact", np)
    to_sectors = sectors_of_classes(program, partition, K)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(5):
        z = 0.7 * rng.standard_normal(partition.n_classes)
        ours, theirs = field(to_sectors @ z, args), to_sectors @ partition.project(full(partition.lift(z)))
        worst = float(np.maximum(worst, np.abs(ours - theirs).max()))  # NaN stays
    return worst
