"""The co-occurrence limit derived at run time: stated with n and L as symbols, found by the engine at a small size.

The unlumped system has 3d(d + 1)/2 + d² + d + 1 coordinates, d = 47 words already at n = 12, L = 5 (12 of them never
trained on), so sizes beyond n = 24 or L = 6 are lumped at (12, 5): the stated program is the same for every size.

How many classes there are depends on the start. From a generic symmetric start the words that are trained on fall into
the orbits of words and pairs of words: G 5, c 1, VV 24, S 35, KK 24, QQ 24, together 113 (173 without the swap).
From the limit's own start it is coarser, 105 classes: S stays the same for a word itself and for another word of
its sentence (S 32), and dVV/dt = rGᵀ + Grᵀ, from VV = αI, does not tell sentences apart (VV 19). The stated program
keeps the 113 orbits, so that it can start anywhere. Words never trained on add the class of what stays α.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.model.compared import derived_beside, stated_against_found
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.rungs import rungs, surrogate_error
from flowsys.symbolic.derivation import Derivation
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.limits import program, program_arguments
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.scales import condition_1
from flowsys.systems.cooccurrence.sectors import SECTORS, TYPES, bases
from flowsys.systems.cooccurrence.sentences import training_sentences
from flowsys.systems.cooccurrence.statement import limit_statement

MATRICES = ("VV", "S", "KK", "QQ")


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone, at the size asked for."""
    if variant == "found":
        return derivation(SYSTEM.concrete(setup, "L3", SYSTEM.mode(setup.mode)))
    small = small_setup(setup)
    concrete = SYSTEM.concrete(small, "L3", "limit")
    size = f"n = {small['n']:g}, L = {small['L']:g}, from the limit's own start"
    # what is eliminated holds on the limit's own manifold only: random points are compared with all variables
    carried = "113" if variant == "88" else variant
    return derived_beside(concrete, limit_statement(variant), LATEX, size, partial(agreement, carried, concrete, small))


def agreement(variant: str, concrete: Concrete, setup: Setup) -> float:
    """How far a stated program with all variables is from the found one, at random points."""
    state_of, data = partial(sector_state, concrete, variant), program_arguments(setup, variant)
    return stated_against_found(concrete, program(variant), data, state_of=state_of)


def small_setup(setup: Setup) -> Setup:
    """The setup, or n = 12, L = 5 with the paper's shares if its data set is too large to write out."""
    n, L = setup["n"], setup["L"]
    if n <= 24 and L <= 6 and int(n) == n and int(L) == L:
        return setup
    kept = {name: setup[name] for name in ("alpha", "beta", "m1", "score_scale")}
    return SYSTEM.setup(n=12, L=5, **kept)


def sector_state(concrete: Concrete, variant: str, seen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Invariant blocks (or their rates) in a stated program's coordinates. Linear."""
    basis, patterns, m1 = *invariants(concrete, variant), concrete.values["m1"]
    d = basis.shape[1]
    (first, of_first), *_ = bases(variant).items()
    values = {"u_u": seen["UU"][0, 0] / m1}
    g = of_first.T @ basis @ seen["G"][0, :d] / np.sqrt(m1)
    values |= dict(zip((f"g_{x}" for x in SECTORS[variant][first]), g))
    for name in MATRICES:
        for place, P in patterns.items():
            values[f"{name}_{place}"] = (P * seen[name][:d, :d]).sum() / max((P * P).sum(), 1e-300)
    return values


def invariants(concrete: Concrete, variant: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(μ1, μ2, μ3, f_1 … f_4) as rows, and {place: P}: an invariant matrix M has the coordinate ⟨P, M⟩/⟨P, P⟩ there."""
    sentences, patterns = training_sentences(concrete.p({})), {}
    d = int(sentences.words.max()) + 1
    basis = np.eye(7, d) * (np.arange(7) < 3)[:, None]
    for T in range(4):
        occurs = np.array([np.isin(np.arange(d), row[row >= 3]) for row in sentences.words[sentences.types == T]])
        basis[3 + T] = occurs.sum(axis=0) / np.sqrt(occurs.sum())
        samples = occurs.T @ (occurs / occurs.sum(axis=1)[:, None])
        for name in (name for name in TYPES[variant] if name[0] == str(T + 1)):
            patterns[f"across_{name}"] = samples - np.outer(basis[3 + T], basis[3 + T])
            patterns[f"within_{name}"] = np.diag(occurs.sum(axis=0)) - samples
    for sector, U in bases(variant).items():
        of_sector = dict(zip(SECTORS[variant][sector], U.T @ basis))
        patterns |= {f"{sector}_{a}_{b}": np.outer(x, y) for a, x in of_sector.items() for b, y in of_sector.items()}
    return basis, patterns


# -- the ladder ------------------------------------------------------------------------------------------------------

PAPER_WIDTHS = (64.0, 256.0, 1024.0, 4096.0)


def ladder(setup: Setup) -> list[Rung]:
    """The engine's rungs at n = 12, L = 5, and the frozen attention of L4."""
    return [
        *rungs(SYSTEM, SYSTEM.setup(setup.mode, **(dict(setup) | {"n": 12, "L": 5}))),
        # λ and ρδ, which move attention and c, are of order m⁻² at Condition 1
        Rung("L3", "L4", "G(μ1) of the bag of words (attention, c frozen) after 13/(β + m1 α), Condition 1 at width m",
             partial(bag_of_words_error, setup), "m", PAPER_WIDTHS, -2.0, 0.1),
    ]  # fmt: skip


def bag_of_words_error(setup: Setup, m: float) -> float:
    """Relative error of G(μ1) by the bag of words after 13/(β + m1 α), with the scales of Condition 1 at width m."""
    scales = condition_1(m, setup["m1"], setup["L"])
    there, time = SYSTEM.setup(**(dict(setup) | scales._asdict())), 13 / (scales.beta + scales.m1 * scales.alpha)
    return surrogate_error(SYSTEM, there, time, of="G_mu1", rtol=1e-12)
