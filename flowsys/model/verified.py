"""A found program against the model it was made of, at random points of the lumped subspace: field and observables."""

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.model.gates import GatedOps
from flowsys.model.keeping import Found
from flowsys.model.limit import arguments_of
from flowsys.model.lumping import Lumping
from flowsys.program.arrays import observed, vector_field
from flowsys.symbolic.derivation import EXACT


def refuse_wrong(lumping: Lumping, found: Found) -> None:
    """InputError if the program is not the model: merged rows are right only where each sample counts by itself."""
    name = lumping.concrete.declaration.name
    if not (wrong := against_field(lumping, found)) <= EXACT:
        raise InputError(
            f"the program derived from {name} differs from its flow by {wrong:.1e}: the loss must be one number a "
            "sample, made of that sample alone."
        )
    for observable, wrong in against_observables(lumping, found).items():
        if not wrong <= EXACT:
            raise InputError(
                f"observable {observable} of {name} cannot be read on merged samples (it differs by {wrong:.1e}): give "
                "one number a sample, or weigh samples with X.weight."
            )


def against_field(lumping: Lumping, found: Found) -> float:
    """The program against autodiff of the full model in what it sees, at random points of the subspace, relative."""
    rng, worst = np.random.default_rng(5), 0.0
    field = vector_field(found.program, "exact", np)
    n = lumping.partition.n_classes
    for draw in lumping.draws:
        for number in range(len(draw.stages)):
            there = arguments_of(found, draw.concrete, number)
            for _ in range(lumping.points):
                y, rates, _ = lumping.at_random(lumping.partition, draw, rng)
                theirs = lumping.partition.project(rates[:, number])
                state = np.concatenate([lumping.partition.project(y), np.zeros(len(found.program.state) - n)])
                ours = field(state, there)[:n]
                size = max(np.abs(theirs).max(initial=0.0), 1e-300)
                worst = float(np.maximum(worst, np.abs(ours - theirs).max(initial=0.0) / size))  # NaN stays
    return worst


def against_observables(lumping: Lumping, found: Found) -> dict[str, float]:
    """The declared observables by program and by model: the largest differences, relative."""
    concrete, n = lumping.concrete, lumping.partition.n_classes
    names = concrete.observable_names
    evaluate = observed(found.program, names, "exact", np)

    @jax.jit
    def by_model(y, stage):
        seen = concrete.coordinates.split(y)
        values = concrete.observed(GatedOps("exact"), seen, stage, names)
        return [jax.numpy.asarray(values[name], dtype=float) for name in names]

    rng, worst = np.random.default_rng(7), np.zeros(len(names))
    for draw in lumping.draws:
        y, *_ = lumping.at_random(lumping.partition, draw, rng)
        state = np.concatenate([lumping.partition.project(y), np.zeros(len(found.program.state) - n)])
        ours = evaluate(state, arguments_of(found, draw.concrete, 0))
        with jax.enable_x64(True):
            theirs = np.array([float(value) for value in by_model(y, draw.stages[0])])
        differ = np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))
        worst = np.maximum(worst, np.where(np.isfinite(theirs), differ, 0.0))  # NaN of the program stays
    return dict(zip(names, worst.tolist()))
