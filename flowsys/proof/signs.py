"""Signs on windows, proven on an enclosure's pieces.

Where a quantity vanishes at the window's open end, Taylor's formula there has exact zeros up to some order, and the
next derivative of the solution's own series, over the box of the first stretch, decides its sign.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
from flint import arb, arb_series

from flowsys.errors import InputError
from flowsys.proof.enclosing import Bracket, first_position
from flowsys.proof.flow import Flow
from flowsys.proof.numbers import precision
from flowsys.proof.observing import flow_of
from flowsys.proof.posing import Posed
from flowsys.proof.ranges import ranges
from flowsys.proof.stating import Stated, name_of
from flowsys.proof.stepping import Declined, arrived
from flowsys.proof.steps import Passage, Step, ball
from flowsys.proof.taylor import coefficient
from flowsys.proof.zeros import exact_zeros

_HIGHEST_ORDER = 6
_DEPTH = 60
_SHARP, _FINER = 0.5, 3  # a margin is made sharp to this share, by so many bisections of a step at most


@dataclass(frozen=True)
class ProvenSign:
    """A statement that holds: where, and by how much (from below; after the stretch that a derivative decides)."""

    stated: Stated
    index: int
    low: Fraction
    high: Fraction
    margin: float
    order: int = 0
    leading_until: Fraction = Fraction(0)


def ends_of(stated: Stated, posed: Posed, events: Mapping[str, Bracket]) -> tuple[Fraction, Fraction]:
    """The times that a window covers for certain."""
    ends = []
    for end, side in ((stated.low, "low"), (stated.high, "high")):
        if end in events:
            ends.append(getattr(events[end], side))
        elif end in posed.marks:
            ends.append(posed.marks[end])
        else:
            try:
                ends.append(Fraction(end))
            except ValueError:
                raise InputError(f"{stated.text!r}: {end} is no event that was bracketed, and no number.") from None
    return ends[0], ends[1]


def proven_sign(
    stated: Stated, index: int, posed: Posed, pieces: Sequence[Step | Passage], events: Mapping[str, Bracket], bits: int
) -> ProvenSign:
    """The statement on its whole window; raises Declined where it cannot be proven."""
    low, high = ends_of(stated, posed, events)
    if not pieces or high > pieces[-1].end:
        raise Declined(f"{stated.text}: the solution is not enclosed to the window's end")
    order, until, margin = 0, low, float("inf")
    if stated.is_open:
        order, until = _leading(stated, index, posed, pieces, low, high, bits)
    for piece in pieces:
        a, b = max(until, piece.start), min(high, piece.end)
        if a > b or (a == b and until < high):
            continue
        functions = _function(flow_of(posed, piece, bits), stated, index)
        margin = min(margin, _least(functions, piece, a - piece.start, b - piece.start, bits, stated))
    return ProvenSign(stated, index, low, high, margin, order, until)


def _function(flow: Flow, stated: Stated, index: int):
    read = flow.reader([name_of(index)])
    return lambda y: stated.margins(read(y)[0], ball)


def _least(functions, piece, low: Fraction, high: Fraction, bits: int, stated: Stated, depth: int = _DEPTH) -> float:
    """A positive lower bound on a part of a piece."""
    values = ranges(functions, piece, low, high, bits)
    if all(value > 0 for value in values):
        margin = min(values, key=lambda value: float(value.lower()))
        is_sharp = float(margin.lower()) > _SHARP * float(margin.upper())
        if is_sharp or low == high or isinstance(piece, Passage) or depth <= _DEPTH - _FINER:
            return float(margin.lower())
    is_false = any(value < 0 for value in values)
    if not depth or low == high or isinstance(piece, Passage) or is_false:
        word = "is false" if is_false else "is not certain"
        raise Declined(f"{stated.text}: it {word} near t = {float(piece.start + low):.10g}")
    middle = (low + high) / 2
    return min(
        _least(functions, piece, low, middle, bits, stated, depth - 1),
        _least(functions, piece, middle, high, bits, stated, depth - 1),
    )


def _leading(stated, index, posed: Posed, pieces, low: Fraction, high: Fraction, bits: int) -> tuple[int, Fraction]:
    """The order of the zero at an open end, and up to when that derivative decides."""
    starts = [piece for piece in pieces if piece.start == low and isinstance(piece, Step)]
    if not starts:
        raise Declined(f"{stated.text}: no step starts at the window's open end")
    step = starts[-1]
    number = list(pieces).index(step)
    before = arrived(pieces[number - 1], bits) if number else first_position(posed)
    flow = flow_of(posed, step, bits)
    functions = _function(flow, stated, index)
    with precision(bits, _HIGHEST_ORDER + 1):
        at_start = functions(_solution(flow, before.box(), _HIGHEST_ORDER))[0]
        zeros = 0
        while zeros <= _HIGHEST_ORDER and coefficient(at_start, zeros).is_zero():
            zeros += 1
        if zeros <= _HIGHEST_ORDER and coefficient(at_start, zeros).contains(0):
            zeros = max(zeros, exact_zeros(posed, pieces, number, index, _HIGHEST_ORDER))
        if zeros == 0 or zeros > _HIGHEST_ORDER:
            return 0, low
        until = min(step.length, high - low)
        for _ in range(60):
            box = step.box(arb(0), ball(until))
            if coefficient(functions(_solution(flow, box, zeros))[0], zeros) > 0:
                return zeros, low + until
            until /= 2
    raise Declined(f"{stated.text}: it starts from a zero of order {zeros}, whose derivative has no certain sign")


def _solution(flow: Flow, box: Sequence[arb], order: int) -> list[arb_series]:
    """Taylor coefficients of all solutions that start in a box."""
    coefficients = [[y] for y in box]
    for k in range(order):
        with precision(flint.ctx.prec, k + 1):
            rates = flow.rates([arb_series(c, k + 1) for c in coefficients])
        for c, rate in zip(coefficients, rates):
            c.append(coefficient(rate, k) / (k + 1))
    return [arb_series(c, order + 1) for c in coefficients]
