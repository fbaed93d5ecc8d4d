"""`flowsys list` and `flowsys show`: what there is, and every name of a system with meaning, range and default.

Claims are read from the verdicts on record, where there are any: to import what measures them would take JAX.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from itertools import groupby
from textwrap import wrap
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.system.definition import ENTRY

LEADING, WIDTH = 10, 150  # lines of parameters and of events on a screen, letters of a line


def register(app: typer.Typer) -> None:
    app.command("list")(list_systems)
    app.command("show")(show)


def list_systems(source: options.From = None) -> None:
    """List the systems, or with --from the models of a file."""
    from flowsys.errors import InputError
    from flowsys.systems import listed, load
    from flowsys.systems.outside import models_in

    if source is not None:
        models = models_in(source)
        width = 2 + max(12, *(len(model.name) for model in models.values()))
        for variable, model in models.items():
            typer.echo(f"{model.name:{width}}{model.summary} ({variable})")
        return
    for name in listed():
        try:
            summary = load(name).summary
        except InputError as error:
            summary = str(error).removeprefix(f"system = {name} ")
        typer.echo(f"{name:14}{summary}")


def show(
    system: options.SystemName = None,
    source: options.From = None,
    format: options.TableOrJson = None,
    equations: Annotated[bool, typer.Option("--equations", help="Print the reduced equations in LaTeX.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every name with its meaning, range and symbol.")] = False,
    template: Annotated[
        bool, typer.Option("--template", help="Print a file to start a model of your own from.")
    ] = False,
) -> None:
    """Show a system on a screen: parameters, modes, events, names of observables, diagrams, claims, figures.

    With --all, every one of them with its meaning, range and symbol.
    With --template, print a commented model file instead: `flowsys show --template > my_model.py`.
    """
    from flowsys.errors import InputError

    is_json = options.form(format, ("table", "json")) == "json"
    if template:
        if system or source:
            raise InputError("--template is a file of its own: give no SYSTEM and no --from with it.")
        typer.echo(resources.files("flowsys.model").joinpath("template.py").read_text(encoding="utf-8"), nl=False)
        return
    found = options.system_of(system, source)
    if equations:
        for name, text in _equations(found).items():
            typer.echo(text if is_json else f"{name}: {text}")
        return
    if is_json:
        import json

        typer.echo(json.dumps(_as_dict(found), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(f"{found.name}: {found.summary}")
    if found.paper.venue:
        console.print(f"{found.paper.title} ({found.paper.venue})")
    if not everything:
        console.print(_screen(found, f"--from {source}" if source else found.name), soft_wrap=False)
        return
    console.print()
    table = Table("parameter", "symbol", "default", "allowed", "meaning", "levels")
    for p in found.parameters:
        levels = "" if len(p.levels) == 5 else " ".join(p.levels)
        table.add_row(
            p.name, found.names.symbol(p.name), _default(p, found.mode_defaults), p.allowed, p.meaning, levels
        )
    console.print(table)
    diagrams = {name: _diagram(diagram) for name, diagram in found.diagrams.items()}
    marked = {name: meaning + _dear(found, name) for name, meaning in found.observables.items()}
    observables = _told_together(marked)
    named = {"mode": found.modes, "event": found.events, "observable": observables, "diagram": diagrams}
    for title, entries in named.items():
        has_symbols = title in ("event", "observable")
        table = Table(title, *["symbol"] * has_symbols, "meaning")
        for name, meaning in entries.items():
            symbol = " … ".join(map(found.names.symbol, name.split(" … "))) if has_symbols else ""
            table.add_row(name, *[symbol] * has_symbols, meaning)
        if entries:
            console.print(table)
    table = Table("level", "variant", "meaning")
    for level, variants in found.levels.items():
        for name, meaning in zip(variants.names, variants.meanings):
            table.add_row(level, name, meaning)
    console.print(table)
    by_verdict: dict[str, list[str]] = {}
    for id, verdict in _claims(found).items():
        by_verdict.setdefault(verdict, []).append(id)
    asked = f"--from {source}" if source else found.name
    table = Table("verdict", f"claims, for `flowsys check {asked} --claim`")
    for verdict, ids in by_verdict.items():
        table.add_row(verdict, ", ".join(ids))
    console.print(table if by_verdict else "no claims")
    figures = f"figures, for `flowsys figure {asked}`: {', '.join(found.figures)}"
    console.print(figures if found.figures else "no figures")


def _screen(system, asked: str) -> str:
    """What is asked most, in a screen of lines: leading parameters and events with meanings, the rest by name."""
    lines = [""]
    for p in system.parameters[:LEADING]:
        lines.append(f"  {p.name:16}{_default(p, {}):>10}   {p.meaning} ({p.allowed})"[:WIDTH])
    rest = [f"{p.name} = {_default(p, {})}" for p in system.parameters[LEADING:]]
    lines += [*_named("more parameters", rest), ""]
    lines += [f"  {name:16}{meaning}"[:WIDTH] for name, meaning in system.modes.items()]
    lines[-1] += "   (modes, the first the default)"
    lines += ["", *(f"  {name:16}{meaning}"[:WIDTH] for name, meaning in list(system.events.items())[:LEADING])]
    lines += _named("more events", list(system.events)[LEADING:])
    lines += ["", *_named("observables", list(_told_together(system.observables)))]
    lines += _named("levels", [f"{level} ({', '.join(v.names)})" for level, v in system.levels.items()])
    lines += _named("diagrams", list(system.diagrams)) + _named("figures", list(system.figures))
    counts = Counter(_claims(system).values())
    lines += _named("claims", [f"{n} {verdict}" for verdict, n in counts.items()] or ["none"])
    return "\n".join([*lines, "", f"flowsys show {asked} --all has meanings, ranges, symbols and the claims' names"])


def _named(title: str, names: list[str]) -> list[str]:
    """Names in lines, if there are any."""
    if not names:
        return []
    return wrap(f"  {title}: {', '.join(names)}", WIDTH, subsequent_indent="    ", break_long_words=False)


def _equations(system) -> Mapping[str, str]:
    """The reduced equations: those on record, else derived at the defaults."""
    from flowsys.errors import InputError

    if system.equations is not None:
        return system.equations()
    if system.derive is None:
        raise InputError(f"system = {system.name} has no equations.")
    return system.derive(system.setup(), system.variant(system.default_level, None)).equations


def _told_together(observables: Mapping[str, str]) -> dict[str, str]:
    """Observables with their meanings, the entries of a block in one line."""
    told: dict[str, str] = {}
    for meaning, group in groupby(observables, observables.__getitem__):
        names = list(group)
        if len(names) > 3 and meaning.startswith(ENTRY):
            told[f"{names[0]} … {names[-1]}"] = f"{meaning} ({len(names)} of them)"
        else:
            told |= dict.fromkeys(names, meaning)
    return told


def _claims(system) -> dict[str, str]:
    """The verdict on record of every claim by its id; of a system that has none on record yet, what is claimed."""
    from flowsys.claims.checking import recorded

    on_record = {id: content.verdict for id, content in recorded(system).items()}
    return on_record or {claim.id: "not on record" for claim in system.claims}


def _default(parameter, mode_defaults) -> str:
    """The default, and those of modes that have another one."""
    usual = parameter.default_text or _number(parameter.default)
    others = {mode: of[parameter.name] for mode, of in mode_defaults.items() if parameter.name in of}
    return "; ".join([usual, *(f"{mode}: {_number(value)}" for mode, value in others.items())])


def _number(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _dear(system, name: str) -> str:
    """The mark of an observable that is dear, and the levels at which it is."""
    levels = system.dear.get(name)
    return f" (dear at {', '.join(levels)}: by name only)" if levels else ""


def _diagram(diagram) -> str:
    """What a named diagram shows, and where."""
    fixed = ", ".join(f"{name} = {_number(value)}" for name, value in diagram.fixed.items())
    return f"{diagram.title} ({fixed})" if fixed else diagram.title


def _as_dict(system) -> dict:
    return {
        "system": system.name,
        "paper": system.paper.title,
        "parameters": {
            p.name: {
                "default": _default(p, system.mode_defaults),
                "allowed": p.allowed,
                "meaning": p.meaning,
                "symbol": system.names.symbol(p.name),
                "levels": list(p.levels),
            }
            for p in system.parameters
        },
        "modes": dict(system.modes),
        "levels": {level: dict(zip(v.names, v.meanings)) for level, v in system.levels.items()},
        "events": dict(system.events),
        "observables": dict(system.observables),
        "symbols": {name: system.names.symbol(name) for name in (*system.events, *system.observables)},
        "clocks": {mode: system.names.clock(mode)._asdict() for mode in system.modes},
        "dear": {name: list(levels) for name, levels in system.dear.items()},
        "diagrams": {name: diagram.title for name, diagram in system.diagrams.items()},
        "claims": _claims(system),
        "figures": list(system.figures),
    }
