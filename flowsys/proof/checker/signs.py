"""Verifies signs on windows; at an open end, by exact zeros and the sign of the next derivative."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
from flint import arb_series

from flowsys.proof.algebra import Algebra, Unknown, zeros_of
from flowsys.proof.checker.enclosures import term
from flowsys.proof.checker.known import Known
from flowsys.proof.checker.reading import Refused, fraction, rational
from flowsys.proof.exact import Exact
from flowsys.proof.stating import Stated, name_of

_HIGHEST_ORDER = 12

if TYPE_CHECKING:
    from flowsys.proof.checker.verify import _Checking


def check_sign(checking: "_Checking", statement: dict[str, Any]) -> None:
    """A statement of the kind left > right on a window."""
    stated = Stated.parse(statement["text"])
    if checking.stated[statement["index"]] != stated:
        raise Refused(f"{stated.text} is not the statement of its number")
    low, high = fraction(statement["low"]), fraction(statement["high"])
    _check_ends(checking, stated, low, high)
    begin, name, seen = low, name_of(statement["index"]), False
    if stated.is_open and statement["order"]:
        begin = fraction(statement["leading_until"])
        _check_leading(checking, stated, name, statement["order"], low, begin)
    for piece in checking.content["pieces"]:
        known = Known(checking, piece)
        a, b = max(begin, known.start), min(high, known.end)
        if a > b or (a == b and begin < high):
            continue
        margins = lambda y, k=known: stated.margins(k.reading.observed(name, y, k.gates), rational)
        if not known.is_above(margins, a, b):
            raise Refused(f"{stated.text} is not proven between t = {float(a):.8g} and {float(b):.8g}")
        seen = seen or b == high
    if not seen:
        raise Refused(f"{stated.text}: the pieces do not reach the window's end")


def _check_ends(checking: "_Checking", stated: Stated, low: Fraction, high: Fraction) -> None:
    """The window covers all times between its ends, wherever events lie in their brackets."""
    events = {s["name"]: s for s in checking.content["statements"] if s["kind"] == "event"}
    marks = checking.content["problem"]["marks"]
    for end, t, side in ((stated.low, low, "low"), (stated.high, high, "high")):
        if end in events:
            own = fraction(events[end][side])
        elif end in marks:
            own = fraction(marks[end])
        else:
            own = Fraction(end)
        if (t > own) if side == "low" else (t < own):
            raise Refused(f"{stated.text}: the times that were looked at are not its window")
        if stated.is_open and side == "low" and t != own:
            raise Refused(f"{stated.text}: its open end is not a time that is known exactly")


def _check_leading(checking, stated: Stated, name: str, order: int, low: Fraction, until: Fraction) -> None:
    """At `low` the quantity has a zero of the order; until then its derivative of that order has the sign."""
    pieces = checking.content["pieces"]
    at = [i for i, piece in enumerate(pieces) if piece["kind"] == "step" and fraction(piece["before"]["t"]) == low]
    if not at or order > _HIGHEST_ORDER:
        raise Refused(f"{stated.text}: no step starts at the window's open end")
    known, start = Known(checking, pieces[at[-1]]), checking.starts[at[-1]]
    if not low < until <= known.end:
        raise Refused(f"{stated.text}: the stretch that a derivative decides is not on one step")
    first = _observed_series(known, name, start.box(), order)
    if not all(term(first, k).is_zero() for k in range(order)) and not _is_zero(checking, at[-1], name, order):
        raise Refused(f"{stated.text}: it is not proven to start from a zero of order {order}")
    box = known.solution.box(rational(Fraction(0)), rational(until - low))
    if not stated.sign * term(_observed_series(known, name, box, order), order) > 0:
        raise Refused(f"{stated.text}: its derivative of order {order} has no certain sign")


def _is_zero(checking: "_Checking", index: int, name: str, order: int) -> bool:
    """Whether an observable has a zero of an order where a piece starts: what has rested is what it started from."""
    pieces, initial = checking.content["pieces"], checking.content["problem"]["initial"]
    moved = {i for piece in pieces[:index] for key in ("before", "after") for i in piece.get(key, {}).get("moving", ())}
    algebra, piece = Algebra(), pieces[index]
    reading = checking.readings[piece["stage"]].exactly(algebra)
    start = [
        algebra.unknown(("state", i)) if i in moved else algebra.number(Exact.parse(text), ("state", i))
        for i, text in enumerate(initial)
    ]
    try:
        rates = lambda y: reading.rates(y, piece["gates"])
        return zeros_of(rates, lambda y: [reading.observed(name, y, piece["gates"])], start, order - 1) == order
    except Unknown:
        return False


def _observed_series(known: Known, name: str, box, order: int):
    """The series in time of an observable, of all solutions that start in a box."""
    coefficients, cap = [[y] for y in box], flint.ctx.cap
    try:
        for k in range(order):
            flint.ctx.cap = k + 1
            rates = known.reading.rates([arb_series(c, k + 1) for c in coefficients], known.gates)
            for c, rate in zip(coefficients, rates):
                c.append(term(rate, k) / (k + 1))
        flint.ctx.cap = order + 1
        return known.reading.observed(name, [arb_series(c, order + 1) for c in coefficients], known.gates)
    finally:
        flint.ctx.cap = cap
