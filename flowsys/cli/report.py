"""`flowsys report`: one self-contained HTML page on everything measured."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    system: Annotated[list[str] | None, typer.Argument(metavar="SYSTEM…", help="Which systems (default: all).")] = None,
    html: Annotated[str, typer.Option(metavar="FILE", help="Where to write the page.")] = "flowsys-report.html",
    all: Annotated[
        bool, typer.Option("--all", help="Measure every claim again instead of reading the record.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make ladders, diagrams and figures again even if they are kept.")
    ] = False,
) -> None:
    """Write a page with each system's ladder, claims, phase diagrams and figures.

    Verdicts are read from the record. The rest takes some minutes once and is kept until the code changes.
    """
    from platformdirs import user_cache_dir
    from tqdm.auto import tqdm

    from flowsys.files import write_text
    from flowsys.report import report as make
    from flowsys.report.page import number_of_parts
    from flowsys.systems import load, names

    chosen = [load(name) for name in system or names()]
    directory = None if fresh else Path(user_cache_dir("flowsys")) / "report"
    total = number_of_parts(chosen)
    with tqdm(total=total, unit="parts", disable=not sys.stderr.isatty(), leave=False) as bar:
        page = make(chosen, all, directory, os.cpu_count() or 1, lambda what: bar.update())
    write_text(html, page)
    typer.echo(f"wrote {html}")
