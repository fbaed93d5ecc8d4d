"""`flowsys prove`: rigorous enclosures, their certificate, and its check."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

FORMATS = ("table", "json")


def register(app: typer.Typer) -> None:
    app.command("prove")(prove)


def prove(
    system: options.SystemName = None,
    source: options.From = None,
    level: options.Level = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    at: options.At = None,
    observe: options.Observe = None,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Prove this: 'w_v > 2*w_c on (T_1, T_2]', 'loss < 1/2 at T_2'; repeatable."),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(metavar="NAME=FROM:TO", callback=options.given, help="Prove for all values of a parameter."),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="The residual that every step must stay below.")] = 1e-24,
    format: options.TableOrJson = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.json", callback=options.writable, help="Write the certificate here.")
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE.png", callback=options.picture, help="Draw the bound of the error over time."),
    ] = None,
    verify: Annotated[
        str | None, typer.Option("--verify", metavar="FILE.json", callback=options.given, help="Check a certificate.")
    ] = None,
) -> None:
    """Prove where a trajectory is: enclosures of states, events and observables that no rounding can fault.

    A proof that is interrupted is kept; the same command goes on from there.
    """
    need_flint()
    is_json = options.form(format, FORMATS) == "json"
    if verify is not None:
        return _verified(verify)
    from flowsys.machine.files import cache_directory
    from flowsys.proof.proving import prove as enclose
    from flowsys.proof.words import as_sentences

    found = options.system_of(system, source)
    given = options.assignments(set)
    setup = found.setup(mode, **given)
    options.say_idle(found, setup, given, level, variant, mode)
    with steps_told() as told:
        proof = enclose(
            found, setup, level=level, variant=variant, mode=mode, at=options.requests(at),
            observe=options.names(observe), state=state or (), interval=_interval(interval), tolerance=tolerance,
            on_progress=told, journal=cache_directory("prove"), command=options.command_line(),
        )  # fmt: skip
    if out:
        proof.save(out)
    if plot and proof.pieces:
        from flowsys.plot.bound import bound
        from flowsys.plot.drawing import Drawing

        for written in Drawing(bound(proof, found.names), {}).save(plot, options.command_line()):
            typer.echo(f"wrote {written}", err=True)
    if is_json or proof.rows:
        typer.echo(as_json(proof) if is_json else as_table(proof))
    if not is_json:
        for sentence in as_sentences(proof):
            typer.echo(sentence)
    if proof.declined:
        typer.echo(f"flowsys: the proof stops at t = {proof.reached:.8g}: {proof.declined}", err=True)
        raise typer.Exit(1)


def _interval(text: str | None) -> tuple[str, float, float] | None:
    if text is None:
        return None
    name, _, values = text.partition("=")
    try:
        low, high = map(float, values.split(":"))
    except ValueError:
        raise InputError(f"--interval {text} is not understood: it must be NAME=FROM:TO.") from None
    return name.strip(), low, high


def need_flint() -> None:
    from importlib.util import find_spec

    if find_spec("flint") is None:
        raise InputError("proofs need python-flint: install flowsys with its extra `proof`.")


def _verified(path: str) -> None:
    from flowsys.cli.progress import counter
    from flowsys.proof.checker import Refused, verify

    with counter(0, "piece") as count:
        try:
            content = verify(path, lambda done, of: count(1))
        except Refused as reason:
            typer.echo(f"flowsys: {path} is refused: {reason}.", err=True)
            raise typer.Exit(1) from None
    pieces, statements = len(content["pieces"]), len(content["statements"])
    typer.echo(f"{path} holds: {pieces} pieces and {statements} statements verified without the integrator.")


@contextmanager
def steps_told() -> Iterator[Callable[[float, float], None]]:
    """A bar on a terminal: the time reached and the error there."""
    from flowsys.cli.progress import named_counter

    with named_counter(0, "step") as count:
        yield lambda t, error: count(f"t = {t:.6g}, error ≤ {error:.2g}", 1)


def as_json(proof) -> str:
    from flowsys.proof.words import as_sentences

    rows = [
        {
            "at": row.at,
            "t": [float(row.low), float(row.high)],
            "width": float(row.high - row.low),
            "radius": row.radius,
            "values": {name: None if x is None else [float(x.mid()), float(x.rad())] for name, x in row.values.items()},
        }
        for row in proof.rows
    ]
    content = {
        **proof.head,
        "reached": proof.reached,
        "pieces": len(proof.pieces),
        "seconds": proof.seconds,
        "declined": proof.declined,
        "rows": rows,
        "theorem": as_sentences(proof),
    }
    return json.dumps(content, indent=2, allow_nan=False)


def as_table(proof) -> str:
    """Events as columns, observables as rows; what is certain of each number, and its radius."""
    from rich.console import Console
    from rich.table import Table

    table = Table("", *(row.at for row in proof.rows))
    table.columns[0].no_wrap = True
    table.add_row("t", *(f"{float(row.low):.15g} (+{float(row.high - row.low):.1e})" for row in proof.rows))
    table.add_row("error of the state ≤", *(f"{row.radius:.2e}" for row in proof.rows))
    names = list(proof.rows[0].values) if proof.rows else []
    for name in names:
        shown = [row.values[name] for row in proof.rows]
        table.add_row(
            name, *("not proven" if x is None else f"{float(x.mid()):.12g} ± {float(x.rad()):.1e}" for x in shown)
        )
    longest = max(map(len, names), default=20)
    text = io.StringIO()
    console = Console(width=max(longest, 20) + 4 + 34 * max(1, len(proof.rows)), file=text)
    console.print(table)
    return text.getvalue().rstrip("\n")
