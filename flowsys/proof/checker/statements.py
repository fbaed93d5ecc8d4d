"""Verifies what a certificate states: events in brackets, values, signs on windows."""

from typing import TYPE_CHECKING, Any

from flint import arb

from flowsys.proof.checker.known import Known
from flowsys.proof.checker.reading import Refused, fraction, number, rational
from flowsys.proof.checker.signs import check_sign

if TYPE_CHECKING:
    from flowsys.proof.checker.verify import _Checking


def check_statement(checking: "_Checking", statement: dict[str, Any]) -> None:
    """Refuses a statement that does not follow from the pieces."""
    kinds = {"event": _check_event, "value": _check_value, "sign": check_sign}
    if statement["kind"] not in kinds:
        raise Refused(f"a statement of the kind {statement['kind']} is not known")
    kinds[statement["kind"]](checking, statement)


def _check_event(checking: "_Checking", statement: dict[str, Any]) -> None:
    """First crossing: not before `low`, over at `high`."""
    low, high = fraction(statement["low"]), fraction(statement["high"])
    value, name = _event_function(checking, statement["name"])
    is_over = False
    for piece in checking.content["pieces"]:
        known = Known(checking, piece)
        function = lambda y, k=known: value(k, y)
        if known.start < low and not known.is_below(function, known.start, min(low, known.end)):
            raise Refused(f"{name} may come before its bracket")
        if piece["kind"] == "passage" and (known.start, known.end) == (low, high):
            is_over = _is_over_at_the_end(checking, piece, known, function, name)
        elif known.start <= high <= known.end and piece["kind"] == "step":
            is_over = is_over or known.values(function, high, high) > 0
    if not is_over:
        raise Refused(f"{name} is not proven to be over at the end of its bracket")


def check_ends_of_stages(checking: "_Checking") -> None:
    """A stage that ends on an event goes on until that event, and no longer."""
    for piece in checking.content["pieces"]:
        stage = checking.stages[piece["stage"]]
        is_last = piece["stage"] == len(checking.stages) - 1
        leaves = piece["kind"] == "passage" and piece["next_stage"] != piece["stage"]
        if leaves and stage["ends_on"] is None:
            raise Refused("a stage without an event ends on one")
        if is_last or stage["ends_on"] is None:
            continue
        known, (function, name) = Known(checking, piece), _event_function(checking, stage["ends_on"])
        watched = lambda y, k=known, f=function: f(k, y)
        if leaves:
            if not _is_over_at_the_end(checking, piece, known, watched, name):
                raise Refused(f"{name}, which ends a stage, is not proven to have come")
        elif not known.is_below(watched, known.start, known.end):
            raise Refused(f"{name}, which ends a stage, may have come before its end")


def _event_function(checking: "_Checking", name: str):
    watched = [e for e in checking.content["problem"]["events"] if e["name"] == name]
    if len(watched) != 1:
        raise Refused(f"{name} is no event of the problem")
    event = watched[0]
    threshold, direction = number(event["threshold"]), event["direction"]
    return (lambda k, y: [direction * (k.reading.observed(event["observable"], y, k.gates) - threshold)]), name


def _is_over_at_the_end(checking, piece, known: Known, function, name: str) -> bool:
    """On a passage a function moves at some speed; the event that ends a stage comes while the stage's field holds."""
    from flowsys.proof.checker.enclosures import Around
    from flowsys.proof.checker.verify import hull, speeds_of

    start = Around.read(piece["before"], [rational(fraction(c)) for c in piece["before"]["centre"]])
    tube = [rational(fraction(m)) + arb(0, rational(fraction(r))) for m, r in piece["tube"]]
    ends_stage = checking.stages[piece["stage"]]["ends_on"] == name
    stages = [piece["stage"]] if ends_stage else sorted({piece["stage"], piece["next_stage"]})
    speeds = hull([speeds_of(checking.readings[s], function, tube, [known.gates]) for s in stages])
    return arb(function(start.box())[0]) + speeds[0] * rational(known.end - known.start) > 0


def _check_value(checking: "_Checking", statement: dict[str, Any]) -> None:
    """An observable between two times lies between two numbers."""
    at, name = [fraction(t) for t in statement["at"]], statement["observable"]
    low, high = (rational(fraction(x)) for x in statement["between"])
    seen = False
    for piece in checking.content["pieces"]:
        known = Known(checking, piece)
        a, b = max(at[0], known.start), min(at[1], known.end)
        if a > b:
            continue
        value = known.values(lambda y, k=known: [k.reading.observed(name, y, k.gates)], a, b)
        if not (value.lower() >= low and value.upper() <= high):
            raise Refused(f"{name} is not proven to lie between {float(low):.17g} and {float(high):.17g}")
        seen = seen or b == at[1]
    if not seen:
        raise Refused(f"nothing is proven of {name} at t = {float(at[1]):.8g}")
