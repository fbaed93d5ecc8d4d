"""A program written by hand: a flow of a few coordinates, its rates and observables as expressions in text."""

from collections.abc import Mapping, Sequence

from flowsys.program.text import Block, Line, Program


def written(
    rates: Mapping[str, str],
    parameters: Sequence[str] = (),
    values: Mapping[str, str] | None = None,
    observables: Mapping[str, str] | None = None,
) -> Program:
    """The flow with d(name)/dt = rates[name]; `values` are named on the way, the state itself is observed unless told.

    >>> written({"x": "-rate*x"}, ("rate",)).state
    ('x',)
    """
    seen = {x: x for x in rates} if observables is None else observables
    moved, observed = ({f"{prefix}_{x}": text for x, text in of.items()} for prefix, of in
                       (("d", rates), ("observe", seen)))  # fmt: skip
    lines = {**(values or {}), **moved, **observed}
    return Program(
        state=tuple(rates),
        parameters=tuple(parameters),
        blocks=(Block("", tuple(Line(name, text) for name, text in lines.items())),),
        derivatives=tuple(moved),
        observables=dict(zip(seen, observed)),
    )
