"""`flowsys derive`: run the engine on a system's packaged definition and show what comes out."""

from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

FORMATS = ("table", "latex", "program", "json")


def register(app: typer.Typer) -> None:
    app.command("derive")(derive)


def derive(
    system: options.SystemName = None,
    source: options.From = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    format: Annotated[str, typer.Option(help="table | latex | program | json")] = "table",
    out: options.Out = None,
) -> None:
    """Derive a system's reduced equations and certify them at the size given by --set.

    Exit code 0: what was stated is what was found. 1: they differ, or a certificate does not hold. 2: bad input.
    """
    if format not in FORMATS:
        raise InputError(f"--format {format} is not known: it must be one of {', '.join(FORMATS)}.")
    found = options.system_of(system, source)
    if found.derive is None:
        raise InputError(f"system = {found.name} has no derivation.")
    setup = options.setup_of(found, mode, set)
    derivation = found.derive(setup, found.variant(found.default_level, variant))
    text = {"table": str, "latex": _latex, "program": lambda d: str(d.program).rstrip("\n"), "json": _json}[format](
        derivation
    )
    if out:
        from flowsys.machine.files import write_text

        write_text(out, text + "\n")
    else:
        typer.echo(text)
    if derivation.faults:
        typer.echo(f"flowsys: {found.name}: {'; '.join(derivation.faults)}.", err=True)
        raise typer.Exit(1)


def _latex(d) -> str:
    body = " \\\\\n".join([*d.loss.values(), *d.equations.values()])
    return "\\begin{gather*}\n" + body + "\n\\end{gather*}"


def _json(d) -> str:
    import json

    return json.dumps(
        {
            "state": list(d.program.state),
            "operations": d.program.operations,
            "size": d.size,
            "n_coordinates": d.n_coordinates,
            "n_classes": d.n_classes,
            "alike": list(d.alike),
            "classes": list(d.classes),
            "certificate": d.certificate,
            "control": d.control,
            "unlike": list(d.unlike),
            "n_eliminable": d.n_eliminable,
            "agreement": d.agreement,
            "autodiff": d.autodiff,
            "seconds": d.seconds,
            "loss": dict(d.loss),
            "equations": dict(d.equations),
            "program": str(d.program),
        },
        indent=2,
    )
