"""`derive` of a model: the lumping found, certified, written as a program, and that checked against autodiff."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model.checks import tried
from flowsys.model.concrete import Concrete
from flowsys.model.flows import Weights, flow_of_weights, seen_of, weight_shapes
from flowsys.model.limit import assembled, draws_of, limit_key
from flowsys.model.lumping import Lumping
from flowsys.model.verified import against_field
from flowsys.symbolic.derivation import EXACT, Derivation
from flowsys.symbolic.lumping import describe
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system.names import spelled


def derivation(concrete: Concrete) -> Derivation:
    """Lump, assemble, certify."""
    tried(concrete)
    begun = time.perf_counter()
    lumping = Lumping(draws_of(concrete, None))
    found, statement = assembled(lumping)
    seconds = time.perf_counter() - begun
    autodiff = max(against_field(lumping, found), closure(lumping))
    if autodiff <= EXACT:  # what is compared with it need not derive it again
        concrete.declaration.found.setdefault(limit_key(concrete, None), found)
    left, unlike = lumping.control() or (None, ())
    names = lumping.coordinates.names
    words = describe(lumping.partition, names)
    sizes = [f"{name} = {concrete.values[name]}" for name in concrete.declaration.structural_names]
    symbols = (*statement.state, *statement.entries, *statement.parameters)
    latex = {str(x): spelled(str(x).removesuffix("_entry")) for x in symbols} | concrete.declaration.latex
    return Derivation(
        program=found.program,
        equations=flow_equations(statement, latex),
        loss=loss_equations(statement, latex),
        size=", ".join([*sizes, f"mode {concrete.mode}"]),
        n_coordinates=len(names),
        n_classes=lumping.partition.n_classes,
        alike=words.alike,
        classes=words.classes,
        certificate=lumping.leaves(lumping.partition),
        control=left,
        unlike=tuple(names[lumping.partition.representatives[c]] for c in unlike),
        agreement=None,
        autodiff=autodiff,
        seconds=seconds,
        statement=statement,
    )


def closure(lumping: Lumping) -> float:
    """Autodiff on random weights, pushed to what is seen, against the flow of what is seen, relative."""
    concrete, coordinates = lumping.concrete, lumping.coordinates
    rng, worst = np.random.default_rng(6), 0.0
    weights = Weights(weight_shapes(concrete, 4))

    @jax.jit
    def pushed(y, stage):
        start = weights.split(y)
        flow = flow_of_weights(concrete, start, stage, "exact")
        seen, moving = jax.jvp(lambda w: seen_of(concrete, w), (start,), (flow,))
        return coordinates.join(seen, jnp), coordinates.join(moving, jnp)

    for stage in lumping.draws[0].stages:
        with jax.enable_x64(True):
            seen, theirs = map(np.asarray, pushed(0.5 * rng.standard_normal(weights.size), stage))
            ours = np.asarray(lumping.rates_and_slopes(seen, stage)[0])
        worst = float(np.maximum(worst, np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300)))
    return worst
