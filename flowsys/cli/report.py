"""`flowsys report`: one self-contained HTML page on everything measured."""

import os
from typing import Annotated

import typer

from flowsys.cli import options


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    system: Annotated[list[str] | None, typer.Argument(metavar="SYSTEM…", help="Which systems (default: all).")] = None,
    source: options.From = None,
    html: Annotated[
        str, typer.Option(metavar="FILE", callback=options.writable, help="Where to write the page.")
    ] = "flowsys-report.html",
    all: Annotated[
        bool, typer.Option("--all", help="Measure every claim again instead of reading the record.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make ladders, diagrams and figures again even if they are kept.")
    ] = False,
) -> None:
    """Write a page with each system's ladder, claims, phase diagrams and figures.

    Verdicts are read from the record. The rest takes some minutes once and is kept until the code changes; what is
    finished when the command is interrupted is kept too.
    """
    from flowsys.cli.progress import named_counter
    from flowsys.machine.files import cache_directory, write_text
    from flowsys.report import report as make
    from flowsys.report.parts import parts

    chosen = options.systems_of(system or [], source)
    directory = None if fresh else cache_directory("report")
    with named_counter(sum(len(parts(s)) for s in chosen), "parts") as told:
        page = make(chosen, all, directory, os.cpu_count() or 1, lambda part, done: told(str(part), done))
    write_text(html, page)
    typer.echo(f"wrote {html}")
