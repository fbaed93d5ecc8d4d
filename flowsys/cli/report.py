"""`flowsys report`: one self-contained HTML page on everything measured."""

import sys
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    system: Annotated[list[str] | None, typer.Argument(metavar="SYSTEM…", help="Which systems (default: all).")] = None,
    html: Annotated[str, typer.Option(metavar="FILE", help="Where to write the page.")] = "flowsys-report.html",
    all: Annotated[bool, typer.Option("--all", help="Also claims, ladders and figures that take long.")] = False,
) -> None:
    """Write a page with each system's claims, ladder, diagrams and figures."""
    from tqdm.auto import tqdm

    from flowsys.cli.check import recorded_verdicts
    from flowsys.files import write_text
    from flowsys.report import report as make
    from flowsys.systems import load, names

    chosen = [load(name) for name in system or names()]
    with tqdm(unit="items", disable=not sys.stderr.isatty(), leave=False) as bar:
        page = make(chosen, recorded_verdicts, all, lambda what: bar.update())
    write_text(html, page)
    typer.echo(f"wrote {html}")
