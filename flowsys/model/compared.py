"""A limit that is stated beside the one that is found: the derivation of both, and how far they are apart.

At random points of the found classes both programs are asked for their rates and for what both observe. What the
stated program calls its state must be linear in named entries of the blocks, so that rates map as states do.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.limit import arguments_of, found_limit
from flowsys.program import Program
from flowsys.program.arrays import Arguments, observed, vector_field
from flowsys.symbolic.assemble import Statement, assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.render import flow_equations, loss_equations


def derived_beside(
    concrete: Concrete, statement: Statement, latex: Mapping[str, str], size: str, agreement: Callable[[], float]
) -> Derivation:
    """What the engine finds of a model, with the stated program and its equations in place of the found ones."""
    found, begun = derivation(concrete), time.perf_counter()
    return replace(
        found,
        program=assemble(statement),
        equations=flow_equations(statement, latex),
        loss=loss_equations(statement, latex),
        size=size,
        agreement=agreement(),
        seconds=time.perf_counter() - begun,
        statement=statement,
    )


def stated_against_found(
    concrete: Concrete,
    stated: Program,
    data: Arguments,
    shared: Sequence[str],
    entries: Sequence[str] | None = None,
    state: Callable[[dict[str, float]], np.ndarray] | None = None,
    seed: int = 0,
) -> float:
    """The largest difference in rates and in the `shared` observables at random points of the found classes.

    The stated state is `state` of the named `entries`, or by itself a tuple of observables of the found limit.
    """
    found = found_limit(concrete)
    own, names = arguments_of(found, concrete, 0), tuple(stated.state if entries is None else entries)
    rate_of, rate_stated = vector_field(found.program, "exact", np), vector_field(stated, "exact", np)
    entries_of = observed(found.program, names, "exact", np)
    see, see_stated = (observed(program, tuple(shared), "exact", np) for program in (found.program, stated))

    def named(z: np.ndarray) -> np.ndarray:
        values = np.asarray(entries_of(z, own))
        return values if state is None else state(dict(zip(names, values)))

    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        z = 0.7 * rng.standard_normal(len(found.program.state))
        y = named(z)
        apart = [rate_stated(y, data) - named(rate_of(z, own)), see_stated(y, data) - np.asarray(see(z, own))]
        worst = float(np.maximum(worst, max(np.abs(difference).max() for difference in apart)))  # NaN stays
    return worst
