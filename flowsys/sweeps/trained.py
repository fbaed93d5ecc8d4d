"""A point at level L0: the finite-width model trained by gradient descent until all that was asked for is there."""

import numpy as np

from flowsys.integrate.outcome import Ending
from flowsys.runs.trajectory import Trajectory
from flowsys.sweeps.quantities import Term
from flowsys.sweeps.sweep import Sweep
from flowsys.system import Setup

MOST_STEPS = 1_000_000  # of descent, per point and seed


def evaluate_trained(sweep: Sweep, setup: Setup) -> tuple[dict[Term, float], Ending]:
    """The terms that were reached, and how training ended."""
    from flowsys.runs.training import train

    terms, learning_rate = sweep.terms, setup["learning_rate"]
    events = [t.at for t in terms if isinstance(t.at, str)]
    times = [t.at for t in terms if not isinstance(t.at, str)]
    horizon = max([setup["t_max"] if events else 0.0, *times]) / learning_rate
    within = [t for t in times if t / learning_rate <= MOST_STEPS]
    trained = train(
        sweep.system,
        setup,
        variant=sweep.variant,
        mode=sweep.mode,
        at=list(dict.fromkeys([*events, *within])) or [0.0],
        steps=int(np.clip(np.ceil(horizon), 1, MOST_STEPS)),
        observe=sorted({t.observable for t in terms if t.observable}) or None,
        records=1,
        stop_when_done=True,
    )
    found: dict[Term, float] = {}
    for term in terms:
        row = _row(trained, term.at, learning_rate)
        if row is not None:
            found[term] = float(trained.series[term.observable][row] if term.observable else trained.t[row])
    ending = trained.outcome.ending
    if len(found) < len(terms) and ending in (Ending.COMPLETED, Ending.NOT_REACHED):
        ending = Ending.STEP_BUDGET if horizon > MOST_STEPS else Ending.NOT_REACHED
    return found, ending


def _row(trained: Trajectory, at: str | float, learning_rate: float) -> int | None:
    """The row of an event, or of the step nearest to a time."""
    if isinstance(at, str):
        return trained.labels.index(at) if at in trained.labels else None
    steps = np.rint(trained.t / learning_rate)
    places = np.flatnonzero(steps == round(at / learning_rate))
    return int(places[0]) if len(places) else None
