"""`flowsys list` and `flowsys show`: what there is, and every name of a system with meaning, range and default."""

from typing import Annotated

import typer

from flowsys.cli.options import SystemName


def register(app: typer.Typer) -> None:
    app.command("list")(list_systems)
    app.command("show")(show)


def list_systems() -> None:
    """List the systems."""
    from flowsys.errors import InputError
    from flowsys.systems import load, packages

    for name in packages():
        try:
            summary = load(name).summary
        except InputError as error:
            summary = str(error).removeprefix(f"system = {name} ")
        typer.echo(f"{name:14}{summary}")


def show(
    system: SystemName,
    format: Annotated[str, typer.Option(help="table | json")] = "table",
    equations: Annotated[bool, typer.Option("--equations", help="Print the reduced equations in LaTeX.")] = False,
) -> None:
    """Show a system's parameters, levels, modes, events and observables."""
    from flowsys.errors import InputError
    from flowsys.systems import load

    if format not in ("table", "json"):
        raise InputError(f"--format {format} is not known: it must be table or json.")
    found = load(system)
    if equations:
        for name, text in found.equations().items():
            typer.echo(f"{name}: {text}" if format == "table" else text)
        return
    if format == "json":
        import json

        typer.echo(json.dumps(_as_dict(found), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    console.print(f"{found.name}: {found.summary}")
    console.print(f"{found.paper.title} ({found.paper.venue})\n")
    table = Table("parameter", "default", "allowed", "meaning", "levels")
    for p in found.parameters:
        levels = "" if len(p.levels) == 5 else " ".join(p.levels)
        table.add_row(p.name, _default(p), p.allowed, p.meaning, levels)
    console.print(table)
    diagrams = {name: diagram.title for name, diagram in found.diagrams.items()}
    named = {"mode": found.modes, "event": found.events, "observable": found.observables, "diagram": diagrams}
    for title, entries in named.items():
        table = Table(title, "meaning")
        for name, meaning in entries.items():
            table.add_row(name, meaning)
        console.print(table)
    table = Table("level", "variant", "meaning")
    for level, variants in found.levels.items():
        for name, meaning in zip(variants.names, variants.meanings):
            table.add_row(level, name, meaning)
    console.print(table)


def _default(parameter) -> str:
    return parameter.default_text or (f"{parameter.default:g}" if isinstance(parameter.default, float) else
                                      str(parameter.default))  # fmt: skip


def _as_dict(system) -> dict:
    return {
        "system": system.name,
        "paper": system.paper.title,
        "parameters": {
            p.name: {"default": _default(p), "allowed": p.allowed, "meaning": p.meaning, "levels": list(p.levels)}
            for p in system.parameters
        },
        "modes": dict(system.modes),
        "levels": {level: dict(zip(v.names, v.meanings)) for level, v in system.levels.items()},
        "events": dict(system.events),
        "observables": dict(system.observables),
        "diagrams": {name: diagram.title for name, diagram in system.diagrams.items()},
        "figures": list(system.figures),
    }
