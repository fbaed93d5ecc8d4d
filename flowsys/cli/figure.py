"""`flowsys figure`: a figure of a paper, made again, with its data beside it."""

from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError


def register(app: typer.Typer) -> None:
    app.command("figure")(figure)


def figure(
    system: options.SystemName,
    number: Annotated[str, typer.Argument(metavar="N", help="Which figure of the paper.")],
    set: options.Set = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="PNG or PDF (default SYSTEM-figure-N.png).")] = None,
) -> None:
    """Make a figure of the paper again: theory as lines, training as dots, data files beside it."""
    from flowsys.drawing import mode_of
    from flowsys.systems import load

    found = load(system)
    if number not in found.figures:
        known = ", ".join(found.figures) or "none"
        raise InputError(f"figure = {number} is not one of {system}'s: {known}.")
    draw = found.figures[number]
    drawing = draw(found.setup(mode_of(draw), **options.assignments(set)))
    if drawing.notes:
        typer.echo(drawing.notes)
    for path in drawing.save(out or f"{system}-figure-{number}.png"):
        typer.echo(f"wrote {path}")
