"""A problem posed for all values of a parameter in an interval.

Every number of the problem that depends on the parameter must be a constant times a power of it (ω, ω²): it then moves
between its values at the two ends, and lies in that interval for every value between. What is proven holds for all
numbers in these intervals, independently of each other.
"""

import math
from dataclasses import replace

from flowsys.errors import InputError
from flowsys.proof.exact import Exact
from flowsys.proof.posing import Posed, PosedStage
from flowsys.proof.unrolled import Data, Unrolled


def spanned(name: str, values: tuple[float, float, float], posed: tuple[Posed, Posed, Posed]) -> Posed:
    """One problem for all values from the first to the last, posed there and at one between."""
    low, middle, high = posed
    join = lambda a, b, c: _joined(name, values, a, b, c)
    stages = tuple(_stage(join, *three) for three in zip(low.stages, middle.stages, high.stages))
    events = tuple(
        replace(a, threshold=join(a.threshold, b.threshold, c.threshold))
        for a, b, c in zip(low.events, middle.events, high.events)
    )
    if low.marks != high.marks or any(a.until != c.until for a, c in zip(low.stages, high.stages)):
        raise InputError(f"{name} changes when a stage ends: it cannot be an interval.")
    initial = tuple(join(*three) for three in zip(low.initial, middle.initial, high.initial))
    return replace(low, initial=initial, stages=stages, events=events)


def _stage(join, low: PosedStage, middle: PosedStage, high: PosedStage) -> PosedStage:
    three = [stage.unrolled.data for stage in (low, middle, high)]
    table = lambda tables: tuple(tuple(join(*x) for x in zip(*rows)) for rows in zip(*tables))
    data = Data(
        tuple(join(*x) for x in zip(*(d.parameters for d in three))),
        {name: table([d.tables[name] for d in three]) for name in three[0].tables},
        {name: table([d.links[name] for d in three]) for name in three[0].links},
    )
    return replace(low, unrolled=Unrolled(low.unrolled.program, data))


def _joined(name: str, values: tuple[float, float, float], a: Exact, b: Exact, c: Exact) -> Exact:
    """The interval of a number that is a constant, or a constant times a power of the parameter."""
    if a == b == c:
        return a
    ends = [float(x.arb().mid()) for x in (a, b, c)]
    if not all(x.is_rational for x in (a, c)) or not (min(ends) > 0 or max(ends) < 0) or values[0] <= 0:
        raise InputError(f"{name} cannot be an interval: {a} becomes {c}, which is no power of it.")
    power = math.log(ends[2] / ends[0]) / math.log(values[2] / values[0])
    expected = ends[0] * (values[1] / values[0]) ** round(power)
    if abs(power - round(power)) > 1e-6 or abs(expected - ends[1]) > 1e-9 * abs(ends[1]):
        raise InputError(f"{name} cannot be an interval: {a} becomes {c}, which is no power of it.")
    return Exact(min(a.low, c.low), max(a.low, c.low))
