"""A limit that is stated beside the one that is found: the derivation of both, and how far they are apart.

At random points of the found classes both programs are asked for their rates and for what both observe. What the
stated program calls its state must be linear in the entries of the blocks, so that rates map as states do.
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
        data={},
        conserved=(),
    )


def stated_against_found(
    concrete: Concrete,
    stated: Program,
    data: Arguments,
    shared: Sequence[str] | None = None,
    state_of: Callable[[Mapping[str, np.ndarray]], dict[str, float]] | None = None,
    seed: int = 0,
) -> float:
    """The largest difference in rates and in `shared` observables (or all) at random points of the found classes.

    `state_of` gives the stated coordinates, clocks apart, of blocks as symmetric as the limit, linearly; without it
    they are observables of the found limit, or follow from what both observe linearly.
    """
    found = found_limit(concrete)
    own, n = arguments_of(found, concrete, 0), found.partition.n_classes
    seen = tuple(found.program.observables if shared is None else shared)
    seen = tuple(name for name in seen if name in stated.observables)
    rate_of, rate_stated = vector_field(found.program, "exact", np), vector_field(stated, "exact", np)
    nothing = lambda y, data: np.zeros(0)
    see, see_stated = (observed(p, seen, "exact", np) if seen else nothing for p in (found.program, stated))
    recovered = None if state_of else _from_observables(found.program, own, stated, data)

    def named(z: np.ndarray) -> np.ndarray:
        if recovered is not None:
            return recovered(z)
        assert state_of is not None
        values = state_of(concrete.coordinates.split(found.partition.lift(z[:n])))
        values |= dict(zip(found.program.state[n:], z[n:]))
        return np.array([values[name] for name in stated.state])

    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        z = 0.7 * rng.standard_normal(len(found.program.state))
        y = named(z)
        apart = [rate_stated(y, data) - named(rate_of(z, own)), see_stated(y, data) - np.asarray(see(z, own))]
        worst = float(np.maximum(worst, max(np.abs(difference).max(initial=0.0) for difference in apart)))  # NaN stays
    return worst


def _from_observables(found: Program, own: Arguments, stated: Program, data: Arguments) -> Callable:
    """The stated state of a found one: observed by its names, or through what both observe and is linear in it."""
    if set(stated.state) <= set(found.observables):
        coordinates = observed(found, stated.state, "exact", np)
        return lambda z: np.asarray(coordinates(z, own))
    shared, n = tuple(name for name in stated.observables if name in found.observables), len(stated.state)
    see, see_found = (observed(program, shared, "exact", np) for program in (stated, found))
    at = lambda y: np.asarray(see(y, data), dtype=float)
    with np.errstate(all="ignore"):  # what is a ratio or a logarithm is not linear, and need not be defined
        columns, tried = np.array([at(e) for e in np.eye(n)]).T, np.random.default_rng(0).standard_normal((3, n))
        linear = np.all([np.isclose(columns @ y, at(y), rtol=1e-10, atol=1e-12) for y in tried], axis=0)
    if np.linalg.matrix_rank(columns[linear]) < n:
        raise ValueError("what the stated and the found limit both observe does not determine the stated state")
    inverse = np.linalg.pinv(columns[linear])
    return lambda z: inverse @ np.asarray(see_found(z, own))[linear]
