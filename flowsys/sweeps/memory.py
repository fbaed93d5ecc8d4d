"""Small sweeps without files: a named diagram computed and held in memory."""

import numpy as np

from flowsys.sweeps.axes import parse_axis
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.sweeps.named import NamedDiagram
from flowsys.sweeps.points import run
from flowsys.sweeps.sweep import Sweep, make_sweep
from flowsys.system import System


def sweep_of(system: System, diagram: NamedDiagram) -> Sweep:
    """The sweep a named diagram stands for."""
    return make_sweep(
        system,
        [parse_axis(text) for text in diagram.axes],
        list(diagram.observables),
        diagram.level,
        diagram.variant,
        diagram.mode,
        diagram.fixed,
        kink_width=diagram.kink_width,
        seeds=diagram.seeds,
        fresh_seeds=diagram.fresh_seeds,
    )


def run_in_memory(sweep: Sweep) -> PhaseDiagram:
    """All points of a sweep as a diagram."""
    values = np.empty((len(sweep.quantities), sweep.size))
    outcomes = np.empty(sweep.size, dtype=np.uint8)
    for chunk in run(sweep):
        place = sweep.chunk(chunk.number)
        values[:, place], outcomes[place] = chunk.values, chunk.outcomes
    quantities = {q.name: values[i].reshape(sweep.shape) for i, q in enumerate(sweep.quantities)}
    return PhaseDiagram(sweep.axes, quantities, outcomes.reshape(sweep.shape), sweep.origin)
