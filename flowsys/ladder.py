"""The ladder: the measured error between neighbouring levels, and the rate at which it falls.

    L0 → L1   gradient descent to gradient flow, O(learning rate)
    L1 → L2   weights to inner products, solver tolerance: the closure is exact
    L2 → L3   finite to infinite width, O(width^-1/2)
    L3 → L4   the limit to the paper's surrogate, the paper's slack

A system states its rungs (`SYSTEM.ladder`), each a knob and a function that measures the error at one value of it. A
rung that does not close is a finding and is reported as one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.laws.fits import Fit, power_law
from flowsys.runs import robust
from flowsys.runs.flow import flow_of
from flowsys.runs.solving import solve
from flowsys.system import Setup, System, asked
from flowsys.typeset.tables import html_table


@dataclass(frozen=True)
class Rung:
    """How to measure the step between two levels.

    With a `knob`, the error is measured at each of its `values` and should follow a power law with exponent `expected`
    ± `tolerance`; without one, a single error should stay below `tolerance`.
    """

    start: str
    end: str
    meaning: str
    measure: Callable[[Any], float]
    knob: str = ""
    values: tuple[float, ...] = ()
    expected: float | None = None
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.start} → {self.end}"


@dataclass(frozen=True)
class MeasuredRung:
    """A rung with its errors.

    `holds` says whether the expectation was met; None where there is none, or where the exponent misses it but its
    interval does not: then the errors scatter too much to tell.
    """

    rung: Rung
    errors: np.ndarray
    fit: Fit | None
    holds: bool | None

    @property
    def knob(self) -> str:
        """What is turned: the width, the learning rate; nothing where a single error is measured."""
        return self.rung.knob

    @property
    def exponent(self) -> float | None:
        """The power of the knob that the errors fall with; None without a knob."""
        return self.fit.slope if self.fit is not None else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the exponent lies, by its fit."""
        return self.fit.interval if self.fit is not None else None

    @property
    def result(self) -> str:
        if self.fit is not None:
            low, high = self.fit.interval
            return f"exponent {self.fit.slope:.3f} [{low:.3f}, {high:.3f}] in {self.rung.knob}"
        return f"error {self.errors[0]:.2e}"

    @property
    def answer(self) -> str:
        """Whether it holds, in a word; nothing where nothing is expected."""
        if self.holds is None:
            return "" if self.expectation == "none" else "undecided"
        return "yes" if self.holds else "no"

    @property
    def expectation(self) -> str:
        if self.rung.expected is not None:
            return f"{self.rung.expected:g} ± {self.rung.tolerance:g}"
        return f"≤ {self.rung.tolerance:g}" if self.rung.tolerance else "none"


@dataclass(frozen=True)
class Ladder:
    """All measured rungs of one system."""

    system: str
    setup: Setup
    rungs: tuple[MeasuredRung, ...]

    def __getitem__(self, name: str) -> MeasuredRung:
        """The (first) rung between two levels, as "L2-L3"."""
        for measured in self.rungs:
            if name in (f"{measured.rung.start}-{measured.rung.end}", measured.rung.name):
                return measured
        known = ", ".join(f"{m.rung.start}-{m.rung.end}" for m in self.rungs)
        raise InputError(f"rung = {name} was not measured: there are {known}.")

    def __iter__(self) -> Iterator[MeasuredRung]:
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def plot(self) -> Any:
        """A figure with a panel for each rung that has a knob: errors as dots, their power law as a line."""
        return import_module("flowsys.plot.ladder").ladder(self, self.setup.of.names)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "rung": m.rung.name,
                "meaning": m.rung.meaning,
                "knob": m.rung.knob,
                "values": list(m.rung.values),
                "errors": m.errors.tolist(),
                "exponent": m.exponent,
                "interval": m.interval,
                "measured": m.result,
                "expected": m.expectation,
                "holds": m.holds,
                "answer": m.answer,
            }
            for m in self.rungs
        ]

    def __str__(self) -> str:
        words = {"": "", "yes": ", holds", "no": ", does not hold", "undecided": ", undecided"}
        return "\n".join(
            f"{m.rung.name}: {m.result} (expected {m.expectation}{words[m.answer]}); {m.rung.meaning}"
            for m in self.rungs
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        colours = {"yes": "#1b7a37", "no": "#b3261e"}
        head = ("rung", "what", "exponent", "interval", "largest error", "expected", "holds")
        rows = [
            (
                m.rung.name,
                escape(m.rung.meaning),
                "" if m.exponent is None else f"{m.exponent:.3f} in {escape(m.knob)}",
                "" if m.interval is None else f"[{m.interval[0]:.3f}, {m.interval[1]:.3f}]",
                f"{m.errors.max():.2e}",
                escape(m.expectation),
                f"<b style='color:{colours.get(m.answer, 'inherit')}'>{m.answer}</b>",
            )
            for m in self.rungs
        ]
        return html_table(head, rows)


def compare(
    system: System | str,
    setup: Setup | None = None,
    rungs: Sequence[str] | None = None,
    on_progress: Callable[[str], None] | None = None,
    **parameters: Any,
) -> Ladder:
    """Measure a system's ladder (or the named rungs of it, e.g. "L2-L3"): the error between neighbouring levels.

    Each rung of the result has its `errors` over a knob (the learning rate, the width), their `exponent` and its
    `interval`, and whether that is what theory expects (`holds`).

    >>> import flowsys as fs
    >>> ladder = fs.compare("parity", rungs=["L3-L4"])
    >>> rung = ladder["L3-L4"]
    >>> rung.knob, round(rung.exponent, 2), rung.holds
    ('n', -1.0, True)
    """
    system, setup = asked(system, setup, None, parameters)
    if system.ladder is None:
        raise InputError(f"system = {system.name} has no ladder.")
    stated = system.ladder(setup)
    if rungs is not None:
        known: dict[str, list[Rung]] = {}
        for rung in stated:
            known.setdefault(f"{rung.start}-{rung.end}", []).append(rung)
        for name in rungs:
            if name not in known:
                raise InputError(f"rung = {name} is not one of {system.name}'s: {', '.join(known)}.")
        stated = [rung for name in rungs for rung in known[name]]
    if fragile := _fragility(system, setup) if any(_is_limit(rung) for rung in stated) else "":
        stated = [_with_remark(rung, fragile) for rung in stated]
    return Ladder(system.name, setup, tuple(_measured(rung, on_progress) for rung in stated))


def _fragility(system: System, setup: Setup) -> str:
    """What is known of the limit, or what a run of it to its own events suspects."""
    mode = system.mode(setup.mode)
    verdict = robust.known(system, setup, mode)
    if verdict is not None or "L3" not in system.levels:
        return verdict or ""
    problem = flow_of(system, setup, "L3", mode=mode).problem
    remarks = solve(system, setup, level="L3", mode=mode).outcome.remarks if problem.default_at else ()
    return next((remark for remark in remarks if remark.startswith("the limit")), "")


def _is_limit(rung: Rung) -> bool:
    return (rung.start, rung.end) == ("L2", "L3")


def _with_remark(rung: Rung, fragile: str) -> Rung:
    """The rung to a limit that is fragile says so."""
    return replace(rung, meaning=f"{rung.meaning}; {fragile}") if _is_limit(rung) else rung


def _measured(rung: Rung, on_progress) -> MeasuredRung:
    found = []
    for value in rung.values or (None,):
        found.append(float(rung.measure(value)))
        if on_progress is not None:
            on_progress(rung.name)
    errors = np.array(found)
    if rung.expected is None:
        holds = bool(errors.max() <= rung.tolerance) if rung.tolerance else None
        return MeasuredRung(rung, errors, None, holds)
    fit = power_law(rung.values, errors)
    low, high = fit.interval
    if abs(fit.slope - rung.expected) <= rung.tolerance:
        return MeasuredRung(rung, errors, fit, True)
    may_hold = low <= rung.expected + rung.tolerance and high >= rung.expected - rung.tolerance
    return MeasuredRung(rung, errors, fit, None if may_hold else False)
