"""`flowsys phase` and `flowsys plot`: sweep parameters, write a data file and a picture; draw a file again."""

import sys
from collections.abc import Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flowsys.cli import completion, options, traces
from flowsys.cli.progress import bar
from flowsys.errors import InputError

AxisOption = Annotated[str | None, typer.Option(metavar="NAME=start:stop:count[:log]", help="An axis, or NAME=a,b,c.")]

QUANTITIES = (
    "T_2-T_1, T_1:T_2, w_c@T_2, loss@t=300, rate(loss)@t=100..300, exponent(loss)@t=1e2..1e4; derivatives d_b(T_2), "
    "d_b(w_c@T_2); of a claim verdict(ID), fit(ID); over --seeds mean(…), std(…), median(…), q90(…), share(…)."
)
DRAWN = 400_000  # a picture shows no more points than this; the file has them all


def register(app: typer.Typer) -> None:
    app.command("phase")(phase)
    app.command("plot")(plot)


def phase(
    system: options.SystemName = None,
    source: options.From = None,
    diagram: Annotated[
        str | None, typer.Option(autocompletion=completion.diagrams, help="A named diagram; `flowsys show` lists them.")
    ] = None,
    x: AxisOption = None,
    y: AxisOption = None,
    z: AxisOption = None,
    axis: Annotated[
        list[str] | None, typer.Option(metavar="NAME=start:stop:count[:log]", help="A further axis; repeatable.")
    ] = None,
    observable: Annotated[str | None, typer.Option(metavar="NAME,…", help=QUANTITIES)] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="So many random starts a point (finite levels); observe mean(…), std(…), q90(…)."),
    ] = None,
    level: options.Level = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    rtol: options.Rtol = 1e-8,
    atol: options.Atol = None,
    solver: options.Solver = "auto",
    kink_width: options.KinkWidth = None,
    exact_kinks: Annotated[
        bool, typer.Option("--exact-kinks", help="Follow kinks exactly, also where the named diagram smooths them.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="How many threads (or processes of a local cluster).")] = 2,
    cluster: Annotated[
        str | None, typer.Option(metavar="local|tcp://…", help="Run on a Dask cluster (needs the extra `cluster`).")
    ] = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Points stored (and sent to a worker) together.")] = None,
    fresh_seeds: Annotated[
        bool, typer.Option("--fresh-seeds", help="Points do not share seeds: each draws its own, by its place.")
    ] = False,
    log: Annotated[bool, typer.Option("--log", help="Logarithmic colours.")] = False,
    refine: Annotated[
        str | None, typer.Option(metavar="FILE.nc", help="Add points along the boundary of this diagram.")
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUANTITY=NUMBER|EVENT=EVENT",
            help="Follow this line in the plane of x and y; without --observable, instead of a grid; repeatable.",
        ),
    ] = None,
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the picture too.")] = True,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE.nc", callback=options.netcdf, help="Data file; the picture goes beside it."),
    ] = None,
) -> None:
    """Sweep parameters: a phase diagram as a data file and a picture. The same command resumes a broken sweep."""
    from flowsys.sweeps import load as load_diagram
    from flowsys.sweeps import make_sweep, parse_axis, refined_sweep
    from flowsys.sweeps.named import named_alike, named_diagram
    from flowsys.sweeps.store import Store
    from flowsys.sweeps.sweep import example_of

    found = options.system_of(system, source)
    if exact_kinks and kink_width is not None:
        raise InputError(f"--kink-width {kink_width:g} smooths what --exact-kinks follows: give one of them.")
    axis_texts = [text for text in (x, y, z, *(axis or [])) if text]
    if trace and refine is None and axis_texts and observable is None and diagram is None:
        traces.alone(found, trace, axis_texts, options.assignments(set), (level, variant, mode), out, picture)
        return
    old = finer = None
    if refine is None:
        named = named_diagram(found, diagram) if diagram or not (axis_texts or observable) else None
        axes = [parse_axis(text) for text in (named.with_axes(x, y, z, *(axis or [])) if named else axis_texts)]
        quantities = options.names(observable) or (list(named.observables) if named else [])
        given = options.assignments(set)
        sweep = make_sweep(
            found,
            axes,
            quantities,
            level or (named.level if named else None),
            variant or (named.variant if named else None),
            mode or (named.mode if named else None),
            (dict(named.fixed) if named else {}) | given,
            rtol=rtol,
            atol=atol,
            solver=solver,
            kink_width=None if exact_kinks else kink_width if kink_width is not None else named and named.kink_width,
            chunk_size=chunk,
            seeds=seeds or (named.seeds if named else 1),
            fresh_seeds=fresh_seeds or (named.fresh_seeds if named else False),
        )
        on_axes = {axis.name: f"{axis.values[0]} …" for axis in sweep.axes}
        example = example_of(found, sweep.axes, sweep.fixed)
        options.say_idle(found, example, given | on_axes, sweep.level, sweep.variant, sweep.mode)
    else:
        numerical = (rtol, atol, solver, kink_width, seeds, chunk) != (
            1e-8,
            None,
            "auto",
            None,
            None,
            None,
        ) or (exact_kinks or fresh_seeds)
        if axis_texts or observable or set or diagram or level or variant or mode or numerical:
            raise InputError(f"--refine {refine} takes its sweep from the file: give no axes, observables or settings.")
        old = load_diagram(refine)
        if old.origin.get("system") != found.name:
            raise InputError(f"--refine {refine} is a diagram of {old.origin.get('system')}, not of {found.name}.")
        sweep, finer = refined_sweep(old, found)
        named = named_alike(old, found)
    path = Path(out or refine or f"{found.name}-{diagram or 'phase'}.nc")
    with _evaluator(cluster, threads) as chunks:
        store = Store(path, sweep)
        done = store.done()
        if done:
            typer.echo(f"resuming: {len(done)} of {sweep.n_chunks} chunks are there already", err=True)
        size = sweep.chunk_size
        try:
            for part in bar(chunks(sweep, done), sweep.size, "points", min(len(done) * size, sweep.size), size):
                store.write(part)
        except KeyboardInterrupt:
            there = f"{len(store.done())} of {sweep.n_chunks} chunks are kept"
            typer.echo(f"flowsys: interrupted; {there}, and the same command goes on from there.", err=True)
            sys.exit(130)
    counts = store.finish(
        finer.merged(old, *store.arrays(), sweep.origin) if finer is not None and old is not None else None
    )
    for outcome, count in counts.items():
        typer.echo(f"{count:8d} {outcome}")
    if not picture:
        typer.echo(f"wrote {path}")
        return
    drawn = path.with_suffix(".png")
    form = sweep.level, sweep.variant, sweep.mode
    lines = traces.over(found, trace, [axis.text for axis in sweep.axes], sweep.fixed, form, path) if trace else ()
    _draw(load_diagram(path, DRAWN), drawn, log or None, found, named, lines=lines)
    typer.echo(f"wrote {path} and {drawn}")


@contextmanager
def _evaluator(cluster: str | None, threads: int):
    """A function from a sweep and the chunks done to the other chunks: here, or on a cluster."""
    if cluster is None:
        from flowsys.sweeps import run

        yield partial(run, threads=threads)
        return
    from flowsys.sweeps.cluster import connected, run_on

    with connected(cluster, threads) as client:
        yield partial(run_on, client)


def plot(
    file: Annotated[str, typer.Argument(metavar="FILE.nc", help="A file that phase or solve wrote.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE.py[:VARIABLE]",
            callback=options.given,
            help="Its model, for the lines of the theory.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE.png", callback=options.picture, help="Picture file (default: beside the data)."),
    ] = None,
    quantity: Annotated[str | None, typer.Option(help="Which quantity (default: the first).")] = None,
    log: Annotated[bool, typer.Option("--log", help="Logarithmic colours, or time axis of a trajectory.")] = False,
) -> None:
    """Draw a data file again, without computing anything."""
    from flowsys.sweeps import load as load_diagram
    from flowsys.sweeps.named import named_alike
    from flowsys.systems import at_hand

    if not Path(file).is_file():
        raise InputError(f"file = {file} is not there." if not Path(file).exists() else f"file = {file} is no file.")
    picture = Path(out) if out else Path(file).with_suffix(".png")
    try:
        diagram = load_diagram(file, DRAWN)
    except InputError:
        from flowsys.runs.trajectory import load as load_trajectory

        _draw_trajectory(load_trajectory(file), picture, quantity, log)
    else:
        found = options.system_of(None, source) if source else at_hand(diagram.origin)
        if source and found and found.name != diagram.origin.get("system"):
            raise InputError(f"file = {file} is a diagram of {diagram.origin.get('system')}, not of {found.name}.")
        _draw(diagram, picture, log or None, found, found and named_alike(diagram, found), quantity)
    typer.echo(f"wrote {picture}")


def _draw(
    diagram, picture: Path, logarithmic: bool | None, system, named, quantity: str | None = None, lines: Sequence = ()
) -> None:
    from flowsys.machine.files import write_atomically
    from flowsys.plot import diagram_figure
    from flowsys.plot.drawing import save_picture

    if quantity is not None and quantity not in diagram.quantities:
        raise InputError(f"quantity = {quantity} is not in the file; it holds {', '.join(diagram.quantities)}.")
    figure = diagram_figure(diagram, system, named, quantity, logarithmic, lines)
    command = diagram.origin.get("command", "")
    write_atomically(picture, lambda temporary: save_picture(figure, temporary, command))


def _draw_trajectory(trajectory, picture: Path, quantity: str | None, logarithmic: bool) -> None:
    from matplotlib.figure import Figure

    from flowsys.machine.files import write_atomically
    from flowsys.plot import trajectory as draw
    from flowsys.plot.drawing import save_picture

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw(trajectory, figure.subplots(), options.names(quantity), logarithmic=logarithmic)
    write_atomically(picture, lambda temporary: save_picture(figure, temporary, trajectory.origin.command))
