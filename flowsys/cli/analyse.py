"""`flowsys analyse`: exponents, time scales, sensitivities, equilibria and robustness of a flow."""

import csv
import io
import json
from typing import Annotated

import typer

from flowsys.cli import options

FORMATS = ("table", "json", "csv")


def register(app: typer.Typer) -> None:
    app.command("analyse")(analyse)


def analyse(
    system: options.SystemName = None,
    source: options.From = None,
    exponents: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=low:high[:count]",
            callback=options.given,
            help="The law of every event time and observable in a parameter.",
        ),
    ] = None,
    linearise: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT|t=NUMBER,…",
            callback=options.given,
            help="Rates and directions there; what the unstable one says of the time between.",
        ),
    ] = None,
    sensitivities: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,start:NAME,…",
            callback=options.given,
            help="Derivatives of event times and observables in parameters and in the start.",
        ),
    ] = None,
    equilibria: Annotated[
        bool, typer.Option("--equilibria", help="Stationary points, their spectra, and growth towards infinity.")
    ] = False,
    robust: Annotated[
        bool, typer.Option("--robust", help="Whether the full flow (L2) returns to the limit from a perturbed start.")
    ] = False,
    draws: Annotated[
        int, typer.Option(min=0, help="With --robust: predict the constants of the L2-L3 rung from so many starts.")
    ] = 0,
    level: options.Level = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    at: options.At = None,
    observe: options.Observe = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance (default: that of the analysis).")] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE.png", callback=options.picture, help="Draw the result.")
    ] = None,
    format: options.Format = None,
    out: options.Out = None,
) -> None:
    """Analyse a flow locally: ask one question at a time."""
    from flowsys.analysis.asking import analyse as ask

    shown = options.form(format, FORMATS, out)
    found = options.system_of(system, source)
    given = options.assignments(set)
    setup = found.setup(mode, **given)
    options.say_idle(found, setup, given, level, variant, mode)
    result = ask(
        found,
        setup,
        exponents=exponents,
        linearise=options.requests(linearise),
        sensitivities=options.names(sensitivities),
        equilibria=equilibria,
        robust=robust,
        draws=draws,
        at=options.requests(at),
        observe=options.names(observe),
        level=level,
        variant=variant,
        mode=mode,
        rtol=rtol,
        command=options.command_line(),
    )
    options.deliver({"json": _as_json, "csv": _as_csv, "table": _as_table}[shown](result), out)
    if plot:
        _draw(result, plot)
    for remark in result.remarks:
        typer.echo(f"flowsys: {remark}", err=True)


def _as_json(result) -> str:
    return json.dumps(result.as_dict(), indent=2, allow_nan=False, ensure_ascii=False)


def _as_csv(result) -> str:
    text = io.StringIO()
    rows = result.rows
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().rstrip("\n")


def _cell(value) -> str:
    """A number with all its digits; lists and mappings as JSON has them."""
    from flowsys.analysis.result import plain

    value = plain(value)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_table(result) -> str:
    from rich.console import Console
    from rich.table import Table

    from flowsys.analysis.result import told

    rows = result.rows
    table = Table(*(rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(_shortened(name, value, told) for name, value in row.items()))
    text = io.StringIO()
    console = Console(width=180, file=text)
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([result.title, *lines]).rstrip("\n")


def _shortened(name: str, value, told) -> str:
    """A cell of the table: of a long list its first and last entries."""
    if isinstance(value, list) and len(value) > 4:
        return f"{value[0]:.4g} → {value[-1]:.4g}"
    return told(value)


def _draw(result, picture: str) -> None:
    from flowsys.machine.files import write_atomically
    from flowsys.plot.drawing import save_picture

    figure = result.figure()
    write_atomically(picture, lambda temporary: save_picture(figure, temporary, result.origin.command))
    typer.echo(f"wrote {picture}", err=True)
