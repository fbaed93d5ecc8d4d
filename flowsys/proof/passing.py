"""Short passages over the times at which gates switch or a stage ends, known only up to a bracket.

While gates are unknown the rate lies in f(B) with every unknown gate anywhere in [0, 1], B a box that the solution
cannot leave. Each unknown gate's argument moves strictly towards its other side (so it switches once, transversally,
whatever the others do), and at the end all gates are certain again.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from flowsys.proof.flow import Flow
from flowsys.proof.numbers import precision
from flowsys.proof.stepping import ROOM, Declined
from flowsys.proof.steps import Passage, Position, ball, weighted

_ROUNDS = 12


def signs_of(values: Sequence[arb]) -> list[int]:
    """+1, -1, or 0 where a sign is not certain."""
    return [1 if value > 0 else -1 if value < 0 else 0 for value in map(arb, values)]


def passage(
    flow: Flow, position: Position, stage: int, length: Fraction, suspects: Sequence[int], after: Flow | None = None
) -> tuple[Passage, tuple[int, ...]]:
    """Over a bracket in which the suspected gates may switch, or the stage ends (and the flow becomes `after`).

    Returns the passage and the gates at its end.
    """
    unknown = set(suspects)
    with precision(flow.bits, 1):
        for _ in range(_ROUNDS):
            gates = [arb(0.5, 0.5) if i in unknown else gate for i, gate in enumerate(flow.gates)]
            fields = [flow.with_gates(gates)] + ([after.with_gates(gates)] if after is not None else [])
            tube = _confined(fields, position, length)
            seen = signs_of(flow.with_gates(gates).kinks(tube)) if flow.gates else []
            more = {i for i, s in enumerate(seen) if i not in unknown and s != (1 if flow.gates[i] else -1)}
            if more:
                unknown |= more
                continue
            speeds = _transversal(fields, flow, tube, sorted(unknown), position)
            values = flow.with_gates(gates).kinks(position.box()) if unknown else []
            arrived = {i: arb(values[i]) + speed * ball(length) for i, speed in speeds.items()}
            if 0 in signs_of(list(arrived.values())):
                length *= 2
                continue
            end = _end(fields, position, length, tube)
            final = [(1 if arrived[i] > 0 else -1) if i in arrived else sign for i, sign in enumerate(seen)]
            opened = tuple(1 if s > 0 else 0 for s in final)
            crossed = tuple(i for i in sorted(unknown) if opened[i] != flow.gates[i])
            frozen = tuple(None if i in unknown else int(g) for i, g in enumerate(flow.gates))  # type: ignore[arg-type]  # known: 0 or 1
            next_stage = stage + (after is not None)
            return Passage(stage, position, end, length, tuple(tube), frozen, crossed, next_stage), opened
    raise Declined(f"gates near t = {float(position.t):.8g} do not become certain again: they may slide or touch")


def _confined(fields: Sequence[Flow], position: Position, length: Fraction) -> list[arb]:
    """A box that the solution cannot leave within the length."""
    start, time = position.box(), ball(length)
    reach = [arb(0)] * len(start)
    for _ in range(_ROUNDS):
        tube = [y + arb(0, r.upper()) for y, r in zip(start, reach)]
        needed = [abs(rate) * time for rate in _rates(fields, tube)]
        if all(n.upper() < r.upper() or n.is_zero() for n, r in zip(needed, reach)):
            return tube
        # with room, so that the box also holds for whoever rounds its sides otherwise
        reach = [arb(0) if n.is_zero() else (2 * n + y.rad() / 2**20).upper() for n, y in zip(needed, start)]
    raise Declined(f"no box confines the solution at a switch near t = {float(position.t):.8g}")


def _rates(fields: Sequence[Flow], box: Sequence[arb]) -> list[arb]:
    """Where the rates of all the fields are, over a box."""
    found = [arb(rate) for rate in fields[0].rates(box)]
    for field in fields[1:]:
        found = [a.union(arb(b)) for a, b in zip(found, field.rates(box))]
    return found


def _transversal(
    fields: Sequence[Flow], flow: Flow, tube: Sequence[arb], unknown: Sequence[int], position: Position
) -> dict[int, arb]:
    """How fast the arguments of the unknown gates move, all towards the other side."""
    found: dict[int, arb] = {}
    for field in fields:
        speeds = field.velocities(field.kinks, tube) if unknown else []
        for i in unknown:
            towards = -1 if flow.gates[i] else 1
            if not towards * speeds[i] > 0:
                kink, row = flow.unrolled.gates[i]
                name = f"{kink} (row {row})" if kink in flow.unrolled.program.table_of else kink
                raise Declined(
                    f"the gate of {name} is met at t = {float(position.t):.8g} but not proven to be crossed: under "
                    "some value of the gates the flow does not point to the other side, so it may slide or touch"
                )
            found[i] = found[i].union(speeds[i]) if i in found else speeds[i]
    return found


def _end(fields: Sequence[Flow], position: Position, length: Fraction, tube: Sequence[arb]) -> Position:
    time = ball(length)
    rates = _rates(fields, tube)
    moving = tuple(i for i in range(len(tube)) if i in position.moving or not rates[i].is_zero())
    start = position.regrouped(moving, position.exponents)
    shift = [rate * time for rate in rates]
    centre = tuple((c + s).mid() for c, s in zip(start.centre, shift))
    off = [abs(c + s - new) for c, s, new in zip(start.centre, shift, centre)]
    error = (start.error + weighted(off, start.exponents, moving) * ROOM).upper()
    return Position(start.t + length, centre, error, start.radii, moving, start.exponents)


def bracket(
    value: Callable[[arb], arb], slope: Callable[[arb], arb], low: Fraction, high: Fraction, bits: int
) -> tuple[Fraction, Fraction] | None:
    """A bracket of where a function on [low, high] changes its sign, a few times as wide as its values are uncertain.

    `value` gives enclosures at times. None if the sign at the ends is the same.
    """
    with precision(bits, 1):
        first = value(ball(low)).mid()
        if not first * value(ball(high)).mid() < 0:
            return None
        a, b = low, high
        for _ in range(2 * bits):
            middle = (a + b) / 2
            at = value(ball(middle))
            if at.contains(0) or (b - a) * 2 ** (bits - 8) < high:
                break
            a, b = (middle, b) if at * first > 0 else (a, middle)
        root = (a + b) / 2
        speed = abs(slope(ball(root))).lower()
        if not speed > 0:
            return None
        spread = (8 * value(ball(root)).rad() / speed).max(ball(Fraction(1, 2 ** (3 * bits // 4)))).upper()
        digits = max(0, min(bits - 8, -_exponent(spread) + 3))
        around = Fraction(1, 2**digits)
        wide = Fraction(int((spread * 2**digits).ceil().unique_fmpz() or 1) + 1, 2**digits)
        root = Fraction(round(root * 2**digits), 2**digits)
        return root - wide - around, root + wide + around


def _exponent(x: arb) -> int:
    if x.is_zero():
        return -(10**6)
    mantissa, exponent = x.mid().man_exp()
    return int(exponent) + int(mantissa).bit_length()
