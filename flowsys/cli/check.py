"""`flowsys check`: the claims of a paper against simulation."""

import os
import sys
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

FORMATS = ("table", "json", "markdown", "html")
HEAD = ("id", "place", "claim", "predicted", "measured", "verdict", "note")


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    system: Annotated[str | None, typer.Argument(metavar="SYSTEM", help="Which system (default: all).")] = None,
    source: options.From = None,
    claim: Annotated[list[str] | None, typer.Option(help="Only this claim (id or place); repeatable.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also the claims that take long.")] = False,
    level: Annotated[str | None, typer.Option(help="Measure at this level: L0 (training) … L4.")] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Measure at this width; needs a finite --level.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Measure with seeds 0 … N-1, each by itself; needs a finite --level.")
    ] = None,
    set: options.Set = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.png", callback=options.picture, help="Draw the fits of the one --claim, with residuals."
        ),
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="The paper's statements: how many are checked, and why others are not.")
    ] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the verdicts on record.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to measure in (default: the cores with --all, else 1).")
    ] = None,
    format: Annotated[str, typer.Option(help="table | json | markdown | html")] = "table",
    out: options.Out = None,
) -> None:
    """Check a paper's claims, by default those that are quick to measure.

    Exit code 0: every verdict is the one on record. 1: a verdict changed. 2: bad input.

    With --level, --width, --seeds or --set claims are measured elsewhere than on record; the exit code is then 0.

    A claim that cannot be measured there is listed with the reason; if it was named with --claim, that is bad input.

    An interrupted check keeps the verdicts it has; the same command goes on from there.
    """
    from flowsys.claims import write_record
    from flowsys.claims.checking import check_systems, record_file, selected
    from flowsys.cli.progress import counter
    from flowsys.machine.files import cache_directory

    if format not in FORMATS:
        raise InputError(f"--format {format} is not known: it must be one of {', '.join(FORMATS)}.")
    chosen = options.systems_of([system] if system else [], source)
    if coverage:
        from flowsys.claims.statements import coverage as covered
        from flowsys.claims.statements import summary

        typer.echo("\n".join(summary(found, covered(found)) for found in chosen))
        return
    conditions = _conditions(chosen, level, width, seeds, set)
    if record and not conditions.is_default:
        raise InputError("--record keeps verdicts at the claims' own parameters: give no --level, --width or --set.")
    if plot and len(claim or []) != 1:
        raise InputError("--plot draws one claim: give it with --claim ID.")
    total = sum(len(claims) for claims in selected(chosen, claim, all).values())
    with counter(total, "claims") as told:
        processes = workers or (os.cpu_count() or 1 if all else 1)
        results = check_systems(chosen, claim, all, conditions, processes, told, cache_directory("check"))
    if record:
        for found in chosen:
            write_record(record_file(found), results[found.name], found.claims)
    _print({name: checked for name, checked in results.items() if checked or claim is None}, conditions, format, out)
    if plot:
        _draw([c for checked in results.values() for c in checked], plot)
    compared = [c for found in chosen if found.package for c in results[found.name]]
    if conditions.is_default and not record and any(not c.is_as_recorded for c in compared):
        raise typer.Exit(1)


def _conditions(systems, level: str | None, width: int | None, seeds: int | None, texts: list[str] | None):
    """What was asked for, as values the systems accept."""
    from flowsys.claims.conditions import Conditions
    from flowsys.system import LEVELS

    given = options.assignments(texts)
    if level is not None and level not in LEVELS:
        raise InputError(f"--level {level} is not known: it must be one of {', '.join(LEVELS)}.")
    if width is not None:
        given = {"width": str(width)} | given
    if given and len(systems) != 1:
        raise InputError(f"--set {next(iter(given))} needs one system: parameters belong to a system.")
    if not given:
        return Conditions(level, seeds)
    setup = systems[0].setup(**given)
    return Conditions(level, seeds, tuple((name, setup[name]) for name in given))


def _draw(checked, path: str) -> None:
    from flowsys.machine.files import write_atomically
    from flowsys.plot.residuals import residuals

    (found,) = checked
    if not found.verdict.fits:
        raise InputError(f"--plot {path}: claim {found.claim.id} rests on no fit, so there are no residuals to draw.")
    figure = residuals(found.verdict, f"{found.claim.ref}: {found.claim.statement}")
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=150))
    typer.echo(f"wrote {path}", err=True)


def _print(results, conditions, format: str, out: str | None) -> None:
    texts = [_text(name, checked, conditions, format) for name, checked in results.items()]
    text = "\n".join(texts) if format != "json" else "[" + ",\n".join(texts) + "]"
    if out:
        from flowsys.machine.files import write_text

        write_text(out, text + "\n")
    else:
        typer.echo(text)


def _text(name: str, checked, conditions, format: str) -> str:
    if format == "json":
        import json

        content = {"system": name, "conditions": conditions.as_dict(), "claims": [c.as_dict() for c in checked]}
        return json.dumps(content, indent=2, ensure_ascii=False, default=str)
    title = name if conditions.is_default else f"{name}, {conditions} (elsewhere than on record)"
    rows = [_row(c, conditions.is_default) for c in checked]
    return {"markdown": _markdown, "html": _html, "table": _table}[format](title, rows)


def _row(checked, is_compared: bool) -> tuple[str, ...]:
    verdict = str(checked.verdict.word)
    if is_compared and not checked.is_as_recorded:
        verdict += f" (on record: {checked.recorded.verdict if checked.recorded else 'nothing'})"
    claim, found = checked.claim, checked.verdict
    return claim.id, claim.ref.place, claim.statement, found.predicted, found.measured, verdict, found.note


def _markdown(title: str, rows) -> str:
    clean = lambda x: x.replace("|", "\\|").replace("\n", " ")
    lines = [f"## {title}", "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(map(clean, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _html(title: str, rows) -> str:
    from html import escape

    body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{''.join(f'<th>{h}</th>' for h in HEAD)}</tr>{body}</table>"


def _table(title: str, rows) -> str:
    import io

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*HEAD, title=escape(title))
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console(file=io.StringIO(), width=None if sys.stdout.isatty() else 200)
    console.print(table)
    return console.file.getvalue().rstrip("\n")
