"""`flowsys phase --trace`: lines followed in the plane of two parameters, over a diagram or by themselves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from flowsys.cli import options
from flowsys.errors import InputError

Form = tuple[str | None, str | None, str | None]


def traced(system, targets: Sequence[str], axes: Sequence[str], fixed: Mapping[str, Any], form: Form) -> list:
    """Every target in the plane of the first two axes."""
    from flowsys.analysis.tracing import trace
    from flowsys.sweeps.axes import parse_axis

    if len(axes) != 2:
        raise InputError(f"--trace {targets[0]} needs the plane of two axes, --x and --y, not {len(axes)}.")
    level, variant, mode = form
    setup = system.setup(mode, **fixed)
    x, y = map(parse_axis, axes)
    command = options.command_line()
    found = []
    for target in targets:
        result = trace(system, target, x, y, setup, level=level, variant=variant, mode=mode, command=command)
        found.append(result)
        typer.echo(result.title)
        for remark in result.remarks:
            typer.echo(f"flowsys: {remark}", err=True)
    return found


def alone(system, targets, axes, fixed: Mapping[str, Any], form: Form, out: str | None, picture: bool) -> None:
    """Curves without a grid: a table of their points and a picture."""
    from matplotlib.figure import Figure

    from flowsys.analysis.pictures.tracing import drawn
    from flowsys.machine.files import write_atomically
    from flowsys.plot.drawing import save_picture

    found = traced(system, targets, axes, fixed, form)
    path = Path(out or f"{system.name}-trace.nc")
    table = _write(found, path)
    if not picture:
        typer.echo(f"wrote {table}")
        return
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    drawn(found, figure.subplots())
    target = path.with_suffix(".png")
    write_atomically(target, lambda temporary: save_picture(figure, temporary, options.command_line()))
    typer.echo(f"wrote {table} and {target}")


def over(system, targets, axes, fixed: Mapping[str, Any], form: Form, path: Path) -> list:
    """Curves as lines of a diagram; their points stand in a table beside it."""
    from flowsys.sweeps.named import Line

    found = traced(system, targets, axes, fixed, form)
    typer.echo(f"wrote {_write(found, path)}")
    lines = []
    for result in found:
        if result.curves:
            joined = np.vstack([row for curve in result.curves for row in (curve, [[np.nan, np.nan]])])
            lines.append(Line(joined[:, 0], joined[:, 1], result.label))
    return lines


def _write(found: Sequence, path: Path) -> Path:
    """The points of all curves as CSV, named after the diagram."""
    import csv
    import io

    from flowsys.machine.files import write_text

    rows = [row for result in found for row in result.rows]
    text = io.StringIO()
    names = ["target", "curve", *(axis.name for axis in found[0].axes)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    table = path.with_name(f"{path.stem.removesuffix('-trace')}-trace.csv")
    write_text(table, text.getvalue())
    return table
