"""Sensitivities: derivatives of event times, and of observables at events, in parameters and in the start.

They come from the variational equations of the derived program, with jumps where it switches, slides or changes stage
(`flowsys.derivatives.variational`), so they are exact up to the solver's tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.analysis.result import Analysis
from flowsys.derivatives.columns import TIME, Column, check, derivatives
from flowsys.derivatives.directions import START
from flowsys.derivatives.variational import Varied
from flowsys.errors import InputError
from flowsys.runs.flow import flow_of, spoken
from flowsys.system import Setup, System


@dataclass(frozen=True)
class Sensitivity:
    """A quantity at an event or time: its value, and its derivative in everything that was varied."""

    quantity: str
    at: str
    value: float
    slopes: dict[str, float]

    def elasticities(self, sizes: dict[str, float]) -> dict[str, float]:
        """d log |quantity| / d log |p|, where p is 0 per unit of p; NaN where the quantity is 0."""
        share = lambda name, slope: slope * (abs(sizes[name]) or 1.0) / abs(self.value) if self.value else np.nan
        return {name: float(share(name, slope)) * (np.sign(self.value) or 1.0) for name, slope in self.slopes.items()}


@dataclass(frozen=True, kw_only=True)
class Sensitivities(Analysis):
    """The derivatives of all quantities; `sizes` are the values of what was varied."""

    quantities: tuple[Sensitivity, ...]
    sizes: dict[str, float]

    @property
    def title(self) -> str:
        return f"{self.origin.system}: derivatives in {', '.join(self.sizes)}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {"quantity": q.quantity, "at": q.at, "value": q.value, **{f"d/d {n}": x for n, x in q.slopes.items()}}
            for q in self.quantities
        ]

    def details(self) -> dict[str, Any]:
        named = [{"quantity": q.quantity, "at": q.at, **q.elasticities(self.sizes)} for q in self.quantities]
        return {"sizes": self.sizes, "elasticities": named}

    def __getitem__(self, name: str) -> Sensitivity:
        """One quantity: `t@T_2`, `w_c@T_2`."""
        for q in self.quantities:
            if f"{q.quantity}@{q.at}" == name:
                return q
        raise KeyError(name)

    def figure(self) -> Any:
        from flowsys.analysis.pictures.sensitivities import sensitivities

        return sensitivities(self)


def sensitivities(
    system: System,
    setup: Setup | None,
    names: Sequence[str],
    *,
    at: Sequence[str | float] | None = None,
    observe: Sequence[str] | None = None,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-10,
    command: str = "",
) -> Sensitivities:
    """Derivatives in the parameters named, and in coordinates of the start (`start:w_c`)."""
    if not names:
        raise InputError("sensitivities is empty: name parameters, or coordinates of the start as start:NAME.")
    flow = flow_of(system, setup, level, variant, mode)
    asked = flow.requests(at)
    observe = flow.problem.field.observables if observe is None else tuple(observe)
    check(flow, [Column(name, TIME) for name in names] + [Column(names[0], observable) for observable in observe])
    found = derivatives(flow, asked, names, rtol)
    first = next(iter(found.values()))
    reached = {v.at for v in first}
    remarks = [f"{spoken(r)} is not reached" for r in asked if spoken(r) not in reached]
    quantities = [q for v in first for q in _of(v.at, found, observe) if v.at in {spoken(r) for r in asked}]
    index = {name: i for i, name in enumerate(flow.problem.field.names)}
    sizes = {
        name: float(flow.problem.initial[index[name.removeprefix(START)]])
        if name.startswith(START)
        else flow.setup[name]
        for name in found
    }
    shown = {*sizes, *(q.quantity for q in quantities), *(q.at for q in quantities), *flow.setup}
    return Sensitivities(
        origin=flow.origin(command),
        symbols=system.names.symbols(shown, mode),
        remarks=tuple(remarks),
        quantities=tuple(quantities),
        sizes=sizes,
    )


def _of(at: str, found: dict[str, list[Varied]], observe: Sequence[str]) -> list[Sensitivity]:
    there = {name: next(v for v in all_of if v.at == at) for name, all_of in found.items()}
    first = next(iter(there.values()))
    times = [] if at.startswith("t=") else [Sensitivity("t", at, first.t, {name: v.dt for name, v in there.items()})]
    slopes = lambda observable: {name: v.slopes[observable] for name, v in there.items()}
    return [*times, *(Sensitivity(o, at, first.values[o], slopes(o)) for o in observe)]
