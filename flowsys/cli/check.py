"""`flowsys check`: the claims of a paper against simulation."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

FORMATS = ("table", "json", "markdown", "html")


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    system: Annotated[str | None, typer.Argument(metavar="SYSTEM", help="Which system (default: all).")] = None,
    claim: Annotated[list[str] | None, typer.Option(help="Only this claim (id or place); repeatable.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also the claims that take long.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Count claims encoded and name those not tested.")
    ] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the verdicts on record.")] = False,
    format: Annotated[str, typer.Option(help="table | json | markdown | html")] = "table",
    out: options.Out = None,
) -> None:
    """Check a paper's claims. Exit code 0 if every verdict is the recorded one, 1 if any changed."""
    from tqdm.auto import tqdm

    from flowsys.claims import check as run
    from flowsys.claims import write_record
    from flowsys.systems import load, names

    if format not in FORMATS:
        raise InputError(f"--format {format} is not known: it must be one of {', '.join(FORMATS)}.")
    chosen = [load(system)] if system else [load(name) for name in names()]
    if coverage:
        typer.echo(_coverage(chosen))
        return
    changed, texts = False, []
    for found in chosen:
        with tqdm(unit="claims", disable=not sys.stderr.isatty(), leave=False, desc=found.name) as bar:
            results = run(found.claims, claim, all, recorded_verdicts(found), lambda name: bar.update())
        changed |= any(not c.is_as_recorded for c in results)
        if record:
            write_record(_record_file(found), results)
        texts.append(_text(found.name, results, format))
    text = "\n".join(texts) if format != "json" else "[" + ",\n".join(texts) + "]"
    if out:
        from flowsys.files import write_text

        write_text(out, text + "\n")
    else:
        typer.echo(text)
    if changed and not record:
        raise typer.Exit(1)


def _record_file(system) -> Path:
    import flowsys.systems

    return Path(flowsys.systems.__path__[0]) / system.name / "verdicts.json"


def recorded_verdicts(system) -> dict[str, str]:
    from flowsys.claims import read_record

    return read_record(_record_file(system))


def _coverage(systems) -> str:
    lines = []
    for found in systems:
        untested = [c for c in found.claims if c.measure is None]
        lines.append(f"{found.name}: {len(found.claims) - len(untested)} of {len(found.claims)} claims are checked")
        lines += [f"  not testable here: {c.ref.place}: {c.statement} ({c.reason})" for c in untested]
    return "\n".join(lines)


def _text(name: str, results, format: str) -> str:
    if format == "json":
        import json

        content = {"system": name, "claims": [c.as_dict() for c in results]}
        return json.dumps(content, indent=2, ensure_ascii=False, default=str)
    rows = [
        (c.claim.ref.place, c.claim.statement, c.verdict.predicted, c.verdict.measured, str(c.verdict.word)
         + ("" if c.is_as_recorded else f" (on record: {c.recorded})"), c.verdict.note)
        for c in results
    ]  # fmt: skip
    head = ("place", "claim", "predicted", "measured", "verdict", "note")
    if format == "markdown":
        return _markdown(name, head, rows)
    if format == "html":
        from html import escape

        body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows)
        top = "".join(f"<th>{h}</th>" for h in head)
        return f"<h2>{escape(name)}</h2><table><tr>{top}</tr>{body}</table>"
    import io

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*head, title=name)
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console(file=io.StringIO(), width=None if sys.stdout.isatty() else 200)
    console.print(table)
    return console.file.getvalue().rstrip("\n")


def _markdown(name: str, head, rows) -> str:
    clean = lambda x: x.replace("|", "\\|").replace("\n", " ")
    lines = [f"## {name}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(clean, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
