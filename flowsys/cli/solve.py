"""`flowsys solve`: integrate a system and print its observables at events and times."""

import csv
import io
import json
from dataclasses import replace
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

FORMATS = ("table", "json", "csv", "netcdf")
MOST_COLUMNS = 6  # times that a table shows side by side
COURSE, LEADING = 13, 6  # times and observables of a training that nothing was asked of


def register(app: typer.Typer) -> None:
    app.command("solve")(solve)


def solve(
    system: options.SystemName = None,
    source: options.From = None,
    level: options.Level = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    at: options.At = None,
    until: options.Until = None,
    points: Annotated[
        int | None, typer.Option(min=2, help="How many evenly spaced times up to --until (or the last --at): 200.")
    ] = None,
    observe: options.Observe = None,
    derivative: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,start:NAME,…",
            callback=options.given,
            help="Exact derivatives in parameters or in the start, beside every observable: d_b(w_c), d_b(t).",
        ),
    ] = None,
    rtol: options.Rtol = 1e-8,
    atol: options.Atol = None,
    solver: Annotated[
        str, typer.Option(help="auto | native | radau | dopri8 | tsit5 | kvaerno5 | bdf | lsoda")
    ] = "auto",
    max_steps: Annotated[int, typer.Option(help="Give up after this many steps.")] = 1_000_000,
    kink_width: options.KinkWidth = None,
    start: options.Start = None,
    format: options.Format = None,
    out: options.Out = None,
) -> None:
    """Integrate a system and show its observables at events and times."""
    from flowsys.runs.solving import solve as integrate

    shown = form(format, out)
    found = options.system_of(system, source)
    given = options.assignments(set)
    setup = found.setup(mode, **given)
    options.say_idle(found, setup, given, level, variant, mode)
    trajectory = integrate(
        found,
        setup,
        level=level,
        variant=variant,
        mode=mode,
        at=options.requests(at),
        until=until,
        points=points,
        observe=options.names(observe),
        rtol=rtol,
        atol=atol,
        solver=solver,
        max_steps=max_steps,
        kink_width=kink_width,
        start=options.start_of(start),
        derivatives=options.names(derivative) or (),
        command=options.command_line(),
    )
    deliver(trajectory, shown, out)
    for remark in trajectory.outcome.remarks:
        typer.echo(f"flowsys: {remark}", err=True)
    if not trajectory.outcome.is_complete:
        typer.echo(f"flowsys: {trajectory.outcome.sentence}", err=True)
    if trajectory.outcome.is_failure:
        raise typer.Exit(1)


def form(asked: str | None, out: str | None) -> str:
    """The format of a trajectory; netCDF goes to a file alone."""
    found = options.form(asked, FORMATS, out)
    if found == "netcdf" and out is None:
        raise InputError("--format netcdf needs --out FILE.nc.")
    return found


def deliver(trajectory, format: str, out: str | None) -> None:
    """Print the rows asked for, or write them to a file; netCDF holds the whole trajectory.

    Of a training run that nothing was asked of, a table shows the course, other formats its end.
    """
    if out and format == "netcdf":
        trajectory.save(out)
        typer.echo(f"wrote {out}", err=True)
        return
    is_course = format == "table" and not trajectory.requested
    if not trajectory.requested:
        trajectory = replace(trajectory, requested=(float(trajectory.t[-1]),))
    if format == "table":
        trajectory = shortened(trajectory)
    text = (
        as_course(trajectory) if is_course else {"json": as_json, "csv": as_csv, "table": as_table}[format](trajectory)
    )
    options.deliver(text, out)


def shortened(trajectory):
    """A table has room for the events, and for a few times of a course; files and other formats have them all."""
    events = [request for request in trajectory.requested if isinstance(request, str)]
    times = [request for request in trajectory.requested if not isinstance(request, str)]
    if len(times) <= MOST_COLUMNS:
        return trajectory
    chosen = [times[round(i * (len(times) - 1) / (MOST_COLUMNS - 1))] for i in range(MOST_COLUMNS)]
    typer.echo(f"flowsys: {MOST_COLUMNS} of {len(times)} times are shown; --out FILE.csv has all.", err=True)
    return replace(trajectory, requested=(*events, *chosen))


def as_json(trajectory) -> str:
    origin = trajectory.origin
    content = {
        "system": origin.system,
        "level": origin.level,
        "variant": origin.variant,
        "mode": origin.mode,
        "parameters": {name: options.plain(value) for name, value in origin.parameters.items()},
        "outcome": str(trajectory.outcome.ending),
        "outcome_sentence": trajectory.outcome.sentence,
        "remarks": list(trajectory.outcome.remarks),
        "version": origin.version,
        "command": origin.command,
        "statistics": {name: options.plain(value) for name, value in trajectory.statistics.items()},
        "rows": [
            row | {"values": row["values"] and {k: options.plain(v) for k, v in row["values"].items()}}
            for row in trajectory.rows
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def as_csv(trajectory) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["at", "t", "reached", *trajectory.series])
    for row in trajectory.rows:
        values = row["values"] or {}
        writer.writerow([row["at"], "" if row["t"] is None else repr(row["t"]), str(row["reached"]).lower(),
                         *(repr(values[name]) if values else "" for name in trajectory.series)])  # fmt: skip
    return text.getvalue().rstrip("\n")


def as_table(trajectory) -> str:
    """Events as columns, observables as rows: few of the first, many of the second."""
    from rich.console import Console
    from rich.table import Table

    rows = trajectory.rows
    table = Table("", *(row["at"] for row in rows))
    table.columns[0].no_wrap = True
    table.add_row("t", *("not reached" if row["t"] is None else f"{row['t']:.10g}" for row in rows))
    for name in trajectory.series:
        table.add_row(name, *("" if row["values"] is None else f"{row['values'][name]:.8g}" for row in rows))
    longest = max(map(len, trajectory.series), default=1)
    text = io.StringIO()
    console = Console(width=longest + 4 + 18 * max(1, len(rows)), file=text)
    console.print(table)
    return text.getvalue().rstrip("\n")


def as_course(trajectory) -> str:
    """Times as rows, the leading observables and the loss as columns."""
    from rich.console import Console
    from rich.table import Table

    names = list(trajectory.series)
    chosen = list(dict.fromkeys([*names[: LEADING - 1], *(["loss"] if "loss" in names else names[:LEADING])]))
    rows = sorted({round(i * (len(trajectory) - 1) / (COURSE - 1)) for i in range(COURSE)})
    table = Table("t", *chosen)
    for row in rows:
        table.add_row(f"{trajectory.t[row]:.6g}", *(f"{trajectory[name][row]:.6g}" for name in chosen))
    text = io.StringIO()
    console = Console(width=20 + 16 * len(chosen), file=text)
    console.print(table)
    left = len(names) - len(chosen)
    more = f"\n{left} more observables: --observe NAME,… or --out FILE.csv" if left else ""
    return text.getvalue().rstrip("\n") + more
