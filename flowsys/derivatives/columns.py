"""Derivatives by name: d_b(w_c) is that of w_c in the parameter b, d_start:w_c(loss) that in the start of w_c.

Beside the rows of a run they are derivatives at that event or time; d_b(t) is that of the event's own time, with which
observables at the event move.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flowsys.derivatives.base import NoDerivative
from flowsys.derivatives.directions import START, check_direction, direction_of
from flowsys.derivatives.variational import Varied, varied
from flowsys.errors import InputError, did_you_mean
from flowsys.integrate.record import Finished
from flowsys.runs.flow import Flow, spoken
from flowsys.runs.trajectory import Trajectory
from flowsys.system.names import Names

TIME = "t"
_FORM = re.compile(r"d_(?P<along>[^()]+)\((?P<of>.+)\)")


class Column(NamedTuple):
    """The derivative of a quantity along a parameter, or along a coordinate of the start."""

    along: str
    of: str

    @property
    def name(self) -> str:
        return f"d_{self.along}({self.of})"

    def symbol(self, names: Names) -> str:
        return rf"\partial_{{{names.symbol(self.along.removeprefix(START))}}} {names.symbol(self.of)}"


@lru_cache(maxsize=4096)
def column(name: str) -> Column | None:
    """The derivative that a name stands for, if it is one's."""
    found = _FORM.fullmatch(name)
    return Column(found["along"].strip(), found["of"].strip()) if found else None


def check(flow: Flow, columns: Sequence[Column]) -> None:
    """Refuse derivatives of what the flow's program does not compute, and along what is no direction."""
    for along in dict.fromkeys(asked.along for asked in columns):
        check_direction(flow, along)
    problem, known = flow.problem, flow.problem.field.observables
    for asked in columns:
        if asked.of != TIME and asked.of not in known:
            why = "is computed after the fact from states" if asked.of in problem.derived else "is no observable here"
            raise InputError(f"{asked.name}: {asked.of} {why}, so it has no derivative.{did_you_mean(asked.of, known)}")


def derivatives(
    flow: Flow, at: Sequence[str | float], along: Iterable[str], rtol: float, ran: Finished | None = None
) -> dict[str, list[Varied]]:
    """What every direction does to everything asked for that is reached; `ran` is the run to all of it, if there is."""
    names = list(dict.fromkeys(along))
    return dict(zip(names, varied(flow, at, [direction_of(flow, name) for name in names], rtol, ran)))


def with_columns(
    run: Trajectory, flow: Flow, columns: Sequence[Column], order: Sequence[str], rtol: float, ran: Finished | None
) -> Trajectory:
    """The run with derivatives beside its rows, its series in this order; NaN and a remark where there are none.

    `ran` is what the run was read from, where derivatives may be carried along it.
    """
    found: dict[str, Mapping[str, Varied]] = {}
    remarks: list[str] = []
    rows = [label or float(t) for label, t in zip(run.labels, run.t)]
    for along in dict.fromkeys(c.along for c in columns) if rows else ():
        try:
            found[along] = {v.at: v for v in derivatives(flow, rows, [along], rtol, ran)[along]}
        except NoDerivative as reason:
            remarks.append(str(reason))
    of = lambda c: [_value(found.get(c.along, {}).get(spoken(row)), c.of) for row in rows]
    slopes = {c.name: np.array(of(c)) for c in columns}
    series = {**run.series, **slopes}
    names = flow.system.names
    words = {c.name: f"derivative of {c.of} in {c.along}" for c in columns}
    return replace(
        run,
        series={name: series[name] for name in order},
        meanings={**run.meanings, **words},
        symbols={**run.symbols, **{c.name: c.symbol(names) for c in columns}},
        outcome=replace(run.outcome, remarks=(*run.outcome.remarks, *remarks)),
    )


def _value(there: Varied | None, of: str) -> float:
    if there is None:
        return np.nan
    return there.dt if of == TIME else there.slopes[of]
