"""`flowsys figure`: a figure of a paper, made again, with its data beside it."""

from typing import Annotated

import typer

from flowsys.cli import completion, options
from flowsys.errors import InputError, did_you_mean


def register(app: typer.Typer) -> None:
    app.command("figure")(figure)


def figure(
    system: options.SystemName = None,
    number: Annotated[
        str | None,
        typer.Argument(
            metavar="N", autocompletion=completion.figures, help="Which figure; without it they are listed."
        ),
    ] = None,
    source: options.From = None,
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
    if source is not None and number is None:  # the one argument beside --from is the number
        system, number = None, system
    found = options.system_of(system, source)
    known = ", ".join(found.figures) or "none"
    if number is None:
        if not found.figures:
            typer.echo(f"{found.name} has no figures")
        for name, figure in found.figures.items():
            typer.echo(f"{name:8} {figure.caption}")
        return
    if number not in found.figures:
        raise InputError(
            f"figure = {number} is not one of {found.name}'s: {known}.{did_you_mean(number, found.figures)}"
        )
    draw = found.figures[number]
    if paper and not draw.has_paper_sizes:
        raise InputError(f"--paper is not allowed with figure {number} of {found.name}: it has no other size.")
    setup = found.setup(draw.mode, **options.assignments(set))
    more = {"on_run": lambda name: typer.echo(name, err=True)} if paper else {}
    try:
        drawing = draw(setup, **more)
    except KeyboardInterrupt:
        kept = "; what was trained is kept, and the same command goes on from there" if paper else ""
        typer.echo(f"flowsys: interrupted{kept}.", err=True)
        raise typer.Exit(130) from None
    if drawing.notes:
        typer.echo(drawing.notes)
    for path in drawing.save(out or f"{found.name}-figure-{number}.png", options.command_line()):
        typer.echo(f"wrote {path}")
