"""Theory beside training: the flow of a setup and descent from it over the same time."""

from collections.abc import Iterable

import numpy as np

from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup, System


def beside(
    system: System, setup: Setup, mode: str, end: float, observe: Iterable[str], variant: str = "gram"
) -> dict[str, Trajectory]:
    """The default level's run and a training run to a time; records for a line, and for dots."""
    names, steps = list(observe), round(end / setup["learning_rate"])
    times = [float(t) for t in np.linspace(0, end, 301)]
    return {
        "theory": solve(system, setup, mode=mode, at=times, observe=names),
        "training": train(system, setup, variant=variant, mode=mode, steps=steps, records=60, observe=names),
    }
