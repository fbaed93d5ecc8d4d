"""Derivatives at the points of a sweep: the variational equations of every point that has a value.

They are carried along one point after the other (`flowsys.derivatives`), about three times as dear as the point itself.
"""

from collections.abc import Sequence

import numpy as np

from flowsys.derivatives.base import NoDerivative
from flowsys.derivatives.columns import derivatives
from flowsys.runs.flow import flow_of, spoken
from flowsys.sweeps.diagram import CODES, has_value
from flowsys.sweeps.quantities import Term
from flowsys.sweeps.sweep import Sweep
from flowsys.system import Setup


def slopes_of(
    sweep: Sweep, setups: Sequence[Setup], outcomes: np.ndarray, places: np.ndarray
) -> dict[Term, np.ndarray]:
    """Every derivative the sweep needs, as arrays over the points; outcomes say where a flow has none."""
    found = {term: np.full(len(setups), np.nan) for term in sweep.slopes}
    at = list(dict.fromkeys(term.at for term in sweep.slopes))
    along = list(dict.fromkeys(term.along for term in sweep.slopes))
    given = {*sweep.fixed, *(axis.name for axis in sweep.axes)}
    for number, (setup, place) in enumerate(zip(setups, places)):
        if not has_value(outcomes[place]):
            continue
        own = sweep.system.setup(sweep.mode, **{name: setup[name] for name in given})
        flow = flow_of(sweep.system, own, sweep.level, sweep.variant, sweep.mode)
        try:
            there = {name: {v.at: v for v in of} for name, of in derivatives(flow, at, along, sweep.rtol).items()}
        except NoDerivative:
            outcomes[place] = CODES["no derivative there"]
            continue
        for term in sweep.slopes:
            if here := there[term.along].get(spoken(term.at)):
                found[term][number] = here.slopes[term.observable] if term.observable else here.dt
    return found
