"""What is proven at events and times: the state's error, and enclosures of observables."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from flowsys.proof.flow import Flow
from flowsys.proof.numbers import Undecided, precision
from flowsys.proof.posing import Posed
from flowsys.proof.ranges import ranges
from flowsys.proof.steps import Passage, Step


@dataclass(frozen=True)
class Row:
    """What holds at an event or a time: it lies in [low, high], the state is known to `radius`."""

    at: str
    low: Fraction
    high: Fraction
    radius: float
    values: dict[str, arb | None]  # None where nothing is proven


def flow_of(posed: Posed, piece: Step | Passage, bits: int) -> Flow:
    """The flow on a piece."""
    gates = tuple(arb(0.5, 0.5) if gate is None else gate for gate in piece.gates)
    return Flow(posed.stages[piece.stage].unrolled, bits).with_gates(gates)


def row_at(
    at: str,
    low: Fraction,
    high: Fraction,
    posed: Posed,
    pieces: Sequence[Step | Passage],
    names: Sequence[str],
    bits: int,
) -> Row:
    """The observables between two times that the pieces cover."""
    values: dict[str, arb | None] = {}
    radius = 0.0
    for piece in pieces:
        a, b = max(low, piece.start), min(high, piece.end)
        if a > b:
            continue
        flow = flow_of(posed, piece, bits)
        for name, value in _values(flow, piece, a - piece.start, b - piece.start, names, bits).items():
            before = values.get(name)
            with precision(bits):
                values[name] = value if before is None or value is None else before.union(value)
        radius = max(radius, radius_of(piece))
    return Row(at, low, high, radius, {name: values.get(name) for name in names})


def _values(flow: Flow, piece, low: Fraction, high: Fraction, names: Sequence[str], bits: int) -> dict[str, arb | None]:
    found: dict[str, arb | None] = {}
    try:
        for name, value in zip(names, ranges(flow.reader(names), piece, low, high, bits)):
            found[name] = value if value.is_finite() else None
    except Undecided:
        for name in names:
            try:
                (value,) = ranges(flow.reader([name]), piece, low, high, bits)
                found[name] = value if value.is_finite() else None
            except Undecided:
                found[name] = None
    return found


def radius_of(piece: Step | Passage) -> float:
    """How far any coordinate can be off on a piece."""
    if isinstance(piece, Passage):
        return max(float(side.rad()) for side in piece.tube) * (1 + 1e-12)
    return max(float(piece.radius(i)) for i in range(len(piece.polynomials))) * (1 + 1e-12)
