"""The certificate: everything a checker needs to verify a proof without trusting the integrator.

JSON with exact numbers only: times and coefficients are dyadic (`mantissa` in hexadecimal, `p`, `exponent`), data are
rationals, simple functions of rationals, or intervals between rationals (`flowsys.proof.exact`).
"""

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from flowsys.machine.files import write_text
from flowsys.proof.exact import dyadic
from flowsys.proof.posing import Posed, PosedStage
from flowsys.proof.steps import Passage, Position, Step, ball
from flowsys.version import VERSION

FORMAT = 1


def written(x: arb | Fraction) -> str:
    """An exact dyadic as text."""
    value = dyadic(x) if isinstance(x, arb) else x
    exponent = -(value.denominator.bit_length() - 1)
    mantissa = value.numerator
    if exponent == 0 and mantissa:
        exponent = (mantissa & -mantissa).bit_length() - 1
        mantissa >>= exponent
    return f"{mantissa:x}p{exponent}"


def number_of(text: str) -> Fraction:
    """The dyadic that was written."""
    mantissa, _, exponent = text.partition("p")
    return Fraction(int(mantissa, 16)) * Fraction(2) ** int(exponent)


def posed_content(posed: Posed) -> dict[str, Any]:
    """The problem that the proof is about."""
    return {
        "program": str(posed.stated),
        "digest": hashlib.sha256(str(posed.stated).encode()).hexdigest(),
        "initial": [str(number) for number in posed.initial],
        "stages": [_stage(stage) for stage in posed.stages],
        "events": [
            {"name": w.name, "observable": w.observable, "threshold": str(w.threshold), "direction": w.direction}
            for w in posed.events
        ],
        "marks": {name: written(t) for name, t in posed.marks.items()},
    }


def _stage(stage: PosedStage) -> dict[str, Any]:
    data = stage.unrolled.data
    return {
        "name": stage.name,
        "parameters": [str(number) for number in data.parameters],
        "tables": {name: [list(map(str, column)) for column in table] for name, table in data.tables.items()},
        "links": {name: [list(map(str, row)) for row in matrix] for name, matrix in data.links.items()},
        "until": None if stage.until is None else written(stage.until),
        "ends_on": stage.ends_on,
    }


def piece_content(piece: Step | Passage) -> dict[str, Any]:
    """One step or passage."""
    if isinstance(piece, Step):
        return {
            "kind": "step",
            "stage": piece.stage,
            "before": _position(piece.before, with_centre=False),
            "length": written(piece.length),
            "polynomials": [[written(c) for c in _trimmed(p)] for p in piece.polynomials],
            "gates": list(piece.gates),
            "tube": written(piece.tube),
            "residual": written(piece.residual),
            "norms": [written(Fraction(norm)) for norm in piece.norms],
            "errors": [written(error) for error in piece.errors],
            "departing": list(piece.departing),
            "departed": written(piece.departed),
        }
    return {
        "kind": "passage",
        "stage": piece.stage,
        "next_stage": piece.next_stage,
        "before": _position(piece.before),
        "after": _position(piece.after),
        "length": written(piece.length),
        "tube": [[written(side.mid()), written(side.rad())] for side in piece.tube],
        "gates": list(piece.gates),
        "crossed": list(piece.crossed),
    }


def piece_of(content: dict[str, Any]) -> Step | Passage:
    """The step or passage that was written; to be called at a precision that holds its numbers."""
    read = lambda text: ball(number_of(text))
    length = number_of(content["length"])
    if content["kind"] == "passage":
        tube = tuple(arb(read(middle), read(radius)) for middle, radius in content["tube"])
        return Passage(
            content["stage"], _position_of(content["before"]), _position_of(content["after"]), length, tube,
            tuple(content["gates"]), tuple(content["crossed"]), content["next_stage"],
        )  # fmt: skip
    polynomials = tuple(tuple(map(read, p)) for p in content["polynomials"])
    return Step(
        content["stage"], _position_of(content["before"], [p[0] for p in polynomials]), length, polynomials,
        tuple(content["gates"]), read(content["tube"]), read(content["residual"]),
        tuple(float(number_of(norm)) for norm in content["norms"]), tuple(map(read, content["errors"])),
        tuple(content["departing"]), number_of(content["departed"]),
    )  # fmt: skip


def _position_of(content: dict[str, Any], centre: Sequence[arb] | None = None) -> Position:
    exponents = np.array(content["exponents"], dtype=int)
    read = lambda text: ball(number_of(text))
    radii = tuple(read(content["radii"].get(str(i), "0p0")) for i in range(len(exponents)))
    middle = tuple(centre if centre is not None else map(read, content["centre"]))
    return Position(number_of(content["t"]), middle, read(content["error"]), radii, tuple(content["moving"]), exponents)


def _trimmed(polynomial: Sequence[arb]) -> Sequence[arb]:
    last = max((k for k, c in enumerate(polynomial) if not c.is_zero()), default=0)
    return polynomial[: last + 1]


def _position(position: Position, with_centre: bool = True) -> dict[str, Any]:
    content: dict[str, Any] = {
        "t": written(position.t),
        "error": written(position.error),
        "radii": {str(i): written(r) for i, r in enumerate(position.radii) if not r.is_zero()},
        "moving": list(position.moving),
        "exponents": [int(e) for e in position.exponents],
    }
    if with_centre:
        content["centre"] = [written(c) for c in position.centre]
    return content


def content_of(
    head: dict[str, Any], posed: Posed, bits: int, pieces, statements: list[dict[str, Any]]
) -> dict[str, Any]:
    """The whole certificate."""
    versions = {"flowsys": VERSION, "python-flint": flint.__version__, "flint": flint.__FLINT_VERSION__}
    return {
        "format": FORMAT,
        "versions": versions,
        **head,
        "bits": bits,
        "problem": posed_content(posed),
        "pieces": [piece_content(piece) for piece in pieces],
        "statements": statements,
    }


def save(path: str, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=None, separators=(",", ":")) + "\n")
