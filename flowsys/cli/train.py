"""`flowsys train` and `flowsys compare`: the real finite-width model, and the ladder between theory and it."""

import sys
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError


def register(app: typer.Typer) -> None:
    app.command("train")(train)
    app.command("compare")(compare)


def train(
    system: options.SystemName = None,
    source: options.From = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    steps: Annotated[int | None, typer.Option(help="How many steps (default: the system's).")] = None,
    until: options.Until = None,
    at: options.At = None,
    records: Annotated[int, typer.Option(min=1, help="How many evenly spaced steps to keep.")] = 200,
    observe: options.Observe = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Train this many seeds side by side.")] = None,
    start: options.Start = None,
    save_weights: Annotated[
        str | None,
        typer.Option(metavar="FILE.npz", callback=options.npz, help="Keep the last weights, to start from again."),
    ] = None,
    format: options.Format = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", callback=options.writable, help="Write to this file; FILE.nc: all that is kept."),
    ] = None,
) -> None:
    """Train the finite-width model by gradient descent (L0) and show its observables."""
    from tqdm.auto import tqdm

    from flowsys.cli.solve import deliver, form
    from flowsys.runs.training import train as descend

    shown = form(format, out)
    if seeds is not None and shown != "netcdf":
        raise InputError(f"seeds = {seeds} needs --out FILE.nc: many seeds do not fit a table.")
    found = options.system_of(system, source)
    given = options.assignments(set)
    setup = found.setup(mode, **given)
    options.say_idle(found, setup, given, "L0", variant, mode)
    with tqdm(unit="steps", disable=not sys.stderr.isatty(), leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        trajectory = descend(
            found, setup, variant=variant, mode=mode, steps=steps, until=until,
            at=options.requests(at), records=records, observe=options.names(observe), seeds=seeds,
            start=options.start_of(start), save_weights=save_weights,
            command=options.command_line(), progress=progress,
        )  # fmt: skip
    deliver(trajectory, shown, out)
    if out:
        typer.echo(f"wrote {out}: {trajectory.outcome.sentence}")
    elif not trajectory.outcome.is_complete:
        typer.echo(f"flowsys: {trajectory.outcome.sentence}", err=True)
    if trajectory.outcome.is_failure:
        raise typer.Exit(1)


def compare(
    system: options.SystemName = None,
    source: options.From = None,
    mode: options.Mode = None,
    set: options.Set = None,
    rung: Annotated[list[str] | None, typer.Option(help="Only this rung, e.g. L2-L3; repeatable.")] = None,
    format: options.TableOrJson = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.png", callback=options.picture, help="Also draw the rungs.")
    ] = None,
) -> None:
    """Measure the ladder L0-L4: the error between neighbouring levels and its rate."""
    from tqdm.auto import tqdm

    from flowsys.ladder import compare as climb

    is_json = options.form(format, ("table", "json")) == "json"
    found = options.system_of(system, source)
    with tqdm(unit="runs", disable=not sys.stderr.isatty(), leave=False) as bar:
        result = climb(found, options.setup_of(found, mode, set), rung, lambda name: bar.update())
    if out:
        from flowsys.plot.drawing import Drawing
        from flowsys.plot.ladder import ladder as draw

        Drawing(draw(result, found.names), {}).save(out, options.command_line())
    if is_json:
        import json

        typer.echo(json.dumps({"system": found.name, "rungs": result.rows()}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("rung", "what", "measured", "expected", "holds")
    for row in result.rows():
        table.add_row(*(row[column] for column in ("rung", "meaning", "measured", "expected", "answer")))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
