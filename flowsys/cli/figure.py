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
    paper: Annotated[
        bool, typer.Option("--paper", help="At the paper's own sizes: trains what this directory does not hold yet.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", callback=options.picture, help="PNG, PDF or SVG (default SYSTEM-figure-N.png)."),
    ] = None,
) -> None:
    """Make a figure of the paper again: theory as lines, training as dots, data files beside it."""
    from flowsys.plot.drawing import has_paper_sizes, mode_of
    from flowsys.systems import load

    found = load(system)
    if number not in found.figures:
        known = ", ".join(found.figures) or "none"
        raise InputError(f"figure = {number} is not one of {system}'s: {known}.")
    draw = found.figures[number]
    if paper and not has_paper_sizes(draw):
        raise InputError(f"--paper is not allowed with figure {number} of {system}: it has no other size.")
    more = {"on_run": lambda name: typer.echo(name, err=True)} if paper else {}
    try:
        drawing = draw(found.setup(mode_of(draw), **options.assignments(set)), **more)
    except KeyboardInterrupt:
        kept = "; what was trained is kept, and the same command goes on from there" if paper else ""
        typer.echo(f"flowsys: interrupted{kept}.", err=True)
        raise typer.Exit(130) from None
    if drawing.notes:
        typer.echo(drawing.notes)
    for path in drawing.save(out or f"{system}-figure-{number}.png"):
        typer.echo(f"wrote {path}")
