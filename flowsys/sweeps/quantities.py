"""What a sweep measures at every point.

T_2                     the time of an event
T_2-T_1                 the time between two
T_1:T_2                 their ratio (a slash would be a path in the file)
w_c@T_2                 an observable at an event
loss@t=300              an observable at a time
rate(loss)@t=100..300   d log|loss| / dt, fitted over a stretch of time
exponent(loss)@t=1e2..1e4   d log|loss| / d log t, fitted likewise
mean(Q) std(Q) median(Q) q10(Q) share(Q)   of any of these over the seeds of a point (`flowsys.sweeps.over_seeds`)
d_b(T_2) d_b(w_c@T_2)   the exact derivative of a time, an observable, a difference or a ratio in a parameter
verdict(ID) fit(ID)     of a claim, measured at the point's parameters (`flowsys.sweeps.verdicts`)
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from flowsys.derivatives.columns import column
from flowsys.derivatives.directions import START
from flowsys.errors import InputError
from flowsys.sweeps.over_seeds import Statistic, is_statistic
from flowsys.sweeps.verdicts import OfClaim
from flowsys.system.names import Names, enclosed, number, typeset

_FITTED = re.compile(r"(?P<kind>rate|exponent)\((?P<observable>[^()@]+)\)@t=(?P<start>.+?)\.\.(?P<end>.+)")
_N_FITTED = 17


@dataclass(frozen=True)
class Term:
    """A time (`observable` is empty) or an observable, at an event or a time; or its derivative `along` a parameter."""

    observable: str
    at: str | float
    along: str = ""

    def __str__(self) -> str:
        where = self.at if isinstance(self.at, str) else f"t={self.at:g}"
        return f"{self.observable}@{where}" if self.observable else str(where)

    def symbol(self, names: Names, mode: str) -> str:
        """T_{2}, w_c(T_2), w_c(t = 300); of what training does not move, w_c."""
        if names.is_constant(self.observable):
            return names.symbol(self.observable)
        time = names.clock(mode).symbol
        where = names.symbol(self.at) if isinstance(self.at, str) else f"{time} = {number(self.at)}"
        return f"{enclosed(names.symbol(self.observable))}({where})" if self.observable else where


class Quantity(Protocol):
    """Something with a name, made of terms; `value` maps the terms (each an array over points) to its own array.

    `label` is what a picture calls it, in the system's symbols.
    """

    @property
    def name(self) -> str: ...

    @property
    def terms(self) -> tuple[Term, ...]: ...

    def value(self, of: Mapping[Term, Any]) -> np.ndarray: ...

    def label(self, names: Names, mode: str) -> str: ...


@dataclass(frozen=True)
class Compared:
    """A term, or the difference or the ratio of two."""

    name: str
    first: Term
    minus: Term | None = None
    over: Term | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(term for term in (self.first, self.minus, self.over) if term is not None)

    def value(self, of: Mapping[Term, Any]) -> np.ndarray:
        if self.over is not None:
            with np.errstate(divide="ignore", invalid="ignore"):  # a point without a value says so in its outcome
                return np.divide(of[self.first], of[self.over])
        return of[self.first] if self.minus is None else of[self.first] - of[self.minus]

    def slope(self, values: Mapping[Term, Any], changes: Mapping[Term, Any]) -> Any:
        """Its derivative by the chain rule, from the values of its terms and their derivatives."""
        change = changes[self.first]
        if self.over is not None:
            ratio = values[self.first] / values[self.over]
            return (change - ratio * changes[self.over]) / values[self.over]
        return change if self.minus is None else change - changes[self.minus]

    def label(self, names: Names, mode: str) -> str:
        first, *other = (term.symbol(names, mode) for term in self.terms)
        return typeset(f" {'/' if self.over else '-'} ".join([first, *other]))


@dataclass(frozen=True)
class Derivative:
    """The exact derivative of a quantity along a parameter, or a coordinate of the start."""

    name: str
    along: str
    inner: Compared

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.inner.terms, *(replace(term, along=self.along) for term in self.inner.terms))

    def value(self, of: Mapping[Term, Any]) -> np.ndarray:
        changes = {term: of[replace(term, along=self.along)] for term in self.inner.terms}
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.inner.slope(of, changes)

    def label(self, names: Names, mode: str) -> str:
        inner = self.inner.label(names, mode).strip("$")
        inner = f"({inner})" if len(self.inner.terms) > 1 else inner
        return rf"$\partial\, {inner} \,/\, \partial {names.symbol(self.along.removeprefix(START))}$"


@dataclass(frozen=True)
class Fitted:
    """The slope of log|observable| against t (a rate) or log t (an exponent), by least squares over a stretch."""

    name: str
    observable: str
    start: float
    end: float
    is_exponent: bool

    @property
    def times(self) -> np.ndarray:
        spread = np.geomspace if self.is_exponent else np.linspace
        return spread(self.start, self.end, _N_FITTED)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(Term(self.observable, float(t)) for t in self.times)

    def value(self, of: Mapping[Term, Any]) -> np.ndarray:
        x = np.log(self.times) if self.is_exponent else self.times
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.log(np.abs(np.array([of[term] for term in self.terms])))
            centred = x - x.mean()
            return np.tensordot(centred, y, axes=1) / (centred**2).sum()

    def label(self, names: Names, mode: str) -> str:
        time = names.clock(mode).symbol
        over = rf"d\,\log {time}" if self.is_exponent else f"d{time}"
        stretch = rf"{number(self.start)} \leq {time} \leq {number(self.end)}"
        return rf"$d\,\log |{names.symbol(self.observable)}|\,/\,{over}$, ${stretch}$"


def parse_quantity(text: str, events: tuple[str, ...], level: str | None = None) -> "Quantity | OfClaim":
    """The quantity a text describes, given the events there are, and the level claims are to be measured at."""
    text = text.strip()
    if claim := OfClaim.parse(text, level):
        return claim
    if is_statistic(text):
        return Statistic.parse(text, lambda inner: parse_quantity(inner, events))
    if text.startswith(("rate(", "exponent(")):
        return _fitted(text)
    if slope := column(text):
        inner = parse_quantity(slope.of, events)
        if not isinstance(inner, Compared):
            raise InputError(f"observable {text} is not allowed: {slope.of} is no time or observable, nor two of them.")
        return Derivative(text, slope.along, inner)
    for sign, role in ((":", "over"), ("-", "minus")):
        if pair := _pair(text, sign, events):
            return Compared(text, pair[0], **{role: pair[1]})
    return Compared(text, _term(text, events))


def _pair(text: str, sign: str, events: tuple[str, ...]) -> tuple[Term, Term] | None:
    """The two terms around one of the signs in a text (1e-3 and names may have it too); None if there are none."""
    for place in (i for i, letter in enumerate(text) if letter == sign):
        with suppress(InputError):
            return _term(text[:place], events), _term(text[place + 1 :], events)
    return None


def _fitted(text: str) -> Fitted:
    found = _FITTED.fullmatch(text)
    refusal = InputError(f"observable {text} is not understood: write rate(NAME)@t=START..END or exponent(…) likewise.")
    if not found:
        raise refusal
    try:
        start, end = float(found["start"]), float(found["end"])
    except ValueError:
        raise refusal from None
    is_exponent = found["kind"] == "exponent"
    if not (0 <= start < end < np.inf) or (is_exponent and start == 0):
        what = "0 < START < END" if is_exponent else "0 <= START < END"
        raise InputError(f"observable {text} is not allowed: a fit needs {what}.")
    return Fitted(text, found["observable"].strip(), start, end, is_exponent)


def _term(text: str, events: tuple[str, ...]) -> Term:
    observable, separator, at = text.strip().partition("@")
    if not separator:
        if observable in events:
            return Term("", observable)
        raise InputError(
            f"observable {text.strip()} needs a place: write {text.strip()}@EVENT or {text.strip()}@t=NUMBER "
            f"(events here: {', '.join(events) or 'none'})."
        )
    if at.startswith("t="):
        try:
            t = float(at[2:])
        except ValueError:
            raise InputError(f"observable {text} is not understood: after t= there must be a number.") from None
        if not 0 <= t < np.inf:
            raise InputError(f"observable {text} is not allowed: t must be a number >= 0.")
        return Term(observable, t)
    if at not in events:
        raise InputError(f"observable {text}: {at} is not an event here; there are {', '.join(events) or 'none'}.")
    return Term(observable, at)
