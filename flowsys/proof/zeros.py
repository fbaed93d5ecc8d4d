"""The order of a zero at the start of a step, by exact algebra.

Coordinates that have rested since the start are the exact numbers they started from; all others are indeterminates.
"""

from collections.abc import Sequence

from flowsys.proof.algebra import Algebra, Germ, Unknown, zeros_of
from flowsys.proof.numbers import FUNCTIONS
from flowsys.proof.posing import Posed
from flowsys.proof.stating import name_of
from flowsys.proof.steps import Passage, Step


def exact_zeros(posed: Posed, pieces: Sequence[Step | Passage], number: int, index: int, most: int) -> int:
    """How many derivatives (the value is the first) of a statement's quantity vanish where a piece starts."""
    algebra, piece = Algebra(), pieces[number]
    moved = {i for before in pieces[:number] for i in (*before.before.moving, *_after(before))}
    unrolled = posed.stages[piece.stage].unrolled
    start = [
        algebra.unknown(("state", i)) if i in moved else algebra.number(x, ("state", i))
        for i, x in enumerate(posed.initial)
    ]
    constants = [algebra.number(x, ("data", i)) for i, x in enumerate(unrolled.numbers)]
    functions = FUNCTIONS | {
        "quotient": lambda n, d: algebra.lifted(n) / d, "max": _undecided, "min": _undecided, "positive": _undecided,
    }  # fmt: skip
    program = unrolled.program
    rates = unrolled.function(program.derivatives, functions)
    read = unrolled.function([program.observables[name_of(index)]], functions)
    try:
        return zeros_of(
            lambda y: rates(y, piece.gates, constants), lambda y: read(y, piece.gates, constants), start, most
        )
    except Unknown:
        return 0


def _after(piece: Step | Passage) -> tuple[int, ...]:
    return piece.after.moving if isinstance(piece, Passage) else ()


def _undecided(*values: Germ) -> Germ:
    raise Unknown("a choice between what is not known")
