"""The LEGO limits derived at run time: stated with sizes as symbols, found by lumping at the size asked for.

isotropic         stage 2: the 2 n_x² entries of Q_43 and Q_44 from Q = 0 fall into α, β, γ, δ
many_variables    stage 1: the n_y² (n_g + n_y) features of one neuron per fibre fall into a, b', c, e
"""

from collections.abc import Callable

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from flowsys.program import Program
from flowsys.program.arrays import vector_field
from flowsys.symbolic.derivation import Derivation, Stated
from flowsys.symbolic.lumping import Partition, lump
from flowsys.system import Setup
from flowsys.systems.lego import SYSTEM, configurations, finite_attention, finite_layer, groups, stage_1
from flowsys.systems.lego.limits import ideal_features, stage_1_problem, stage_2_arguments
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.statement import Structure, stage_1_statement, stage_2_statement


def derive(setup: Setup, variant: str) -> Derivation:
    """State, lump, and compare."""
    return _attention(setup) if variant == "isotropic" else _layer(setup)


def _attention(setup: Setup) -> Derivation:
    setup = SYSTEM.settled(setup, "L2", "full", "stage_2")
    vocabulary = finite_layer.vocabulary_of(setup)
    n_x = vocabulary.n_x
    structure = Structure(setup["q"], setup["activation"])
    kind = finite_layer.nonlinearity_of(setup, clip="none")
    field = finite_attention.field("full", setup["group"], n_x, kind)
    numbers = finite_attention.numbers_of(setup, (1, 2))
    tables = [configurations.exact(vocabulary.group, 2, ell) for ell in (1, 2)]
    return _certified(
        stage_2_statement(structure),
        lambda program: stage_2_arguments(setup, program, ideal_features(setup), tables),
        _on_numpy(field.rhs, numbers),
        field.names,
        np.zeros(2 * n_x**2),
        f"stage 2, group {setup['group']}, n_x = {n_x}, L = 2",
        ("Q_43_0_0", "Q_43_0_1", "Q_44_0_0", "Q_44_0_1"),
    )


def _layer(setup: Setup) -> Derivation:
    group = groups.named(setup["group"])
    n_y = group.n_y
    structure = Structure(setup["q"], setup["activation"], setup["clip"])
    field = finite_layer.field("many_variables", setup["group"], 0, n_y, finite_layer.nonlinearity_of(setup))
    numbers = finite_layer.numbers_of(setup)
    names = [f"Vg_{j}_{r}_g{g}" for j in range(n_y) for r in range(n_y) for g in range(group.n_g)]
    names += [f"Vy_{j}_{r}_y{y}" for j in range(n_y) for r in range(n_y) for y in range(n_y)]
    names += [f"chi_{j}_{r}" for j in range(n_y) for r in range(n_y)]
    # one neuron per fibre, with four different feature values
    V_g = np.where(np.moveaxis(group.matrices, 0, -1) > 0, 0.5, 0.1)
    V_y = np.broadcast_to(np.where(np.eye(n_y) > 0, 0.3, 0.2), (n_y, n_y, n_y))
    with jax.enable_x64(True):
        start = np.asarray(ravel_pytree(stage_1.Exchangeable(V_g, V_y, np.zeros((n_y, n_y))))[0])
    other = int(np.flatnonzero(group.action[:, 0] != 0)[0])
    return _certified(
        stage_1_statement(structure),
        lambda program: stage_1_problem(setup).stages[0].arguments,
        _on_numpy(field.rhs, numbers),
        tuple(names),
        start,
        f"stage 1, group {setup['group']}, {n_y} neurons a class, n_x = inf",
        (f"Vg_0_0_g{group.identity}", f"Vg_0_0_g{other}", "Vy_0_0_y0", "Vy_0_0_y1"),
    )


def _on_numpy(rhs: Callable, arguments) -> Callable[[np.ndarray], np.ndarray]:
    compiled = jax.jit(rhs)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(compiled(np.asarray(y, dtype=float), arguments))

    return evaluate


def _certified(statement, arguments_of, full, names, start, size: str, representatives) -> Derivation:
    """The stated program beside the lumping found; `representatives` are the entries its state stands for."""
    stated = Stated.assembled(statement)
    partition = lump(full, start)
    at = np.array([names.index(name) for name in representatives])
    agreement = _agreement(stated.program, arguments_of(stated.program), full, partition, at)
    return stated.beside(partition, full, names, agreement, size, LATEX)


def _agreement(program: Program, arguments, full, partition: Partition, at: np.ndarray, seed: int = 0) -> float:
    """The largest difference between the stated field and the unlumped one at random points of the subspace."""
    stated = vector_field(program, "exact", np)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(5):
        y = partition.lift(0.7 * rng.standard_normal(partition.n_classes))
        worst = float(np.maximum(worst, np.abs(stated(y[at], arguments) - full(y)[at]).max()))  # NaN stays
    return worst
