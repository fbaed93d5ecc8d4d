"""`flowsys derive`: run the engine on a system's packaged definition and show what comes out."""

from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError

PAGES = ("text", "latex", "markdown", "html")
CODE = ("python", "jax", "julia", "c")
FORMATS = (*PAGES, *CODE, "program", "json")


def register(app: typer.Typer) -> None:
    app.command("derive")(derive)


def derive(
    system: options.SystemName = None,
    source: options.From = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    set: options.Set = None,
    format: Annotated[
        str | None,
        typer.Option(callback=options.given, help=f"{' | '.join(FORMATS)} (default: as --out ends, else text)."),
    ] = None,
    out: options.Out = None,
) -> None:
    """Derive a system's reduced equations and certify them at the size given by --set.

    text, latex, markdown and html are pages to read; python, jax, julia and c a right-hand side to take elsewhere.

    Exit code 0: what was stated is what was found. 1: they differ, or a certificate does not hold. 2: bad input.
    """
    shown = options.form(format, FORMATS, out)
    found = options.system_of(system, source)
    if found.derive is None:
        raise InputError(f"system = {found.name} has no derivation.")
    setup = options.setup_of(found, mode, set)
    variant = found.variant(found.default_level, variant)
    derivation = found.derive(setup, variant)
    options.deliver(_text(found, setup, derivation, variant, found.mode(mode), shown), out)
    if derivation.faults:
        typer.echo(f"flowsys: {found.name}: {'; '.join(derivation.faults)}.", err=True)
        raise typer.Exit(1)


def _text(system, setup, derivation, variant: str, mode: str, format: str) -> str:
    if format == "program":
        return str(derivation.program).rstrip("\n")
    if format == "json":
        return _json(derivation)
    from flowsys import equations

    if format in CODE:
        mode, problem = equations.posed(system, setup, variant, mode)
        values = ", ".join(f"{p.name} = {setup[p.name]}" for p in system.parameters[:6])
        title = f"{system.name}, {system.default_level} ({variant}), {mode}: {values}; by {options.command_line()}"
        return equations.LANGUAGES[format](equations.exported(title, problem)).rstrip("\n")
    return equations.FORMATS[format](equations.page_of(system, setup, derivation, variant, mode))


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
            "agreement": d.agreement,
            "autodiff": d.autodiff,
            "seconds": d.seconds,
            "loss": dict(d.loss),
            "equations": dict(d.equations),
            "program": str(d.program),
        },
        indent=2,
    )
