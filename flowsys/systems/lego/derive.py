"""The LEGO limits derived at run time: stated with sizes as symbols, found by lumping at the size asked for.

isotropic         stage 2: the 2 n_x² entries of Q_43 and Q_44 from Q = 0 fall into α, β, γ, δ
many_variables    stage 1: the n_y² (n_g + n_y) features of one neuron per fibre fall into a, b', c, e
found             stage 2, by the engine alone
"""

from collections.abc import Callable

import jax
import numpy as np

from flowsys.model.derivation import derivation
from flowsys.program.arrays import vector_field
from flowsys.runs.asking import AskedField, field
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.statement import Structure, stage_1_statement, stage_2_statement


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump, and compare."""
    if variant == "found":
        return derivation(SYSTEM.concrete(SYSTEM.settled(setup, "L3", "found", "stage_2"), "L3", "stage_2"))
    return _attention(setup) if variant == "isotropic" else _layer(setup)


def _attention(setup: Setup) -> Derivation:
    setup = SYSTEM.settled(setup, "L2", "full", "stage_2")
    full, stated = field(SYSTEM, setup, level="L2"), field(SYSTEM, setup, level="L3", variant="isotropic")
    n_x = int(setup["n_x"])
    return _certified(
        stage_2_statement(Structure(setup["q"], setup["activation"])),
        full, full.start, stated,
        f"stage 2, group {setup['group']}, n_x = {n_x}, L = 2",
        ("Q_43_0_0", "Q_43_0_1", "Q_44_0_0", "Q_44_0_1"),
    )  # fmt: skip


def _layer(setup: Setup) -> Derivation:
    group = groups.named(setup["group"])
    n_y = group.n_y
    setup = SYSTEM.setup("stage_1", **dict(setup) | {"width": n_y})
    full = field(SYSTEM, setup, level="L3", variant="many_variables", mode="stage_1")
    stated = field(SYSTEM, setup, level="L3", variant="isotropic", mode="stage_1")
    # one neuron per fibre, with four different feature values
    V_g = np.where(np.moveaxis(group.matrices, 0, -1) > 0, 0.5, 0.1)
    V_y = np.broadcast_to(np.where(np.eye(n_y) > 0, 0.3, 0.2), (n_y, n_y, n_y))
    start = np.concatenate([V_g.ravel(), V_y.ravel(), np.zeros(n_y * n_y)])
    other = int(np.flatnonzero(group.action[:, 0] != 0)[0])
    return _certified(
        stage_1_statement(Structure(setup["q"], setup["activation"], setup["clip"])),
        full, start, stated,
        f"stage 1, group {setup['group']}, {n_y} neurons a class, n_x = inf",
        (f"V_g_0_0_{group.identity}", f"V_g_0_0_{other}", "V_y_0_0_0", "V_y_0_0_1"),
    )  # fmt: skip


def _certified(statement, full: AskedField, start: np.ndarray, stated: AskedField, size: str, names) -> Derivation:
    """The stated program beside the lumping found; its state stands for the entries of these names."""
    names_of_all, full = full.names, _compiled(full)
    derived, partition = Stated.assembled(statement), lump(full, start)
    at = np.array([names_of_all.index(name) for name in names])
    arguments = stated.problem.stages[0].arguments
    agreement = _agreement(vector_field(derived.program, "exact", np), arguments, full, partition, at)
    return derived.beside(partition, full, names_of_all, agreement, size, LATEX)


def _compiled(asked: AskedField) -> Callable[[np.ndarray], np.ndarray]:
    """The field for many single states."""
    rate = jax.jit(asked.jax)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rate(np.asarray(y, dtype=float)))

    return evaluate


def _agreement(stated, arguments, full: Callable, partition: Partition, at: np.ndarray, seed: int = 0) -> float:
    """The largest difference between the stated field and the unlumped one at random points of the subspace."""
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
        worst = float(np.maximum(worst, np.abs(stated(y[at], arguments) - full(y)[at]).max()))  # NaN stays
    return worst
