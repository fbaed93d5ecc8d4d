"""`flowsys check`: the claims of a paper against simulation."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from flowsys.cli import completion, options
from flowsys.cli.checked import FORMATS
from flowsys.errors import InputError


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    system: Annotated[
        str | None,
        typer.Argument(metavar="SYSTEM", autocompletion=completion.systems, help="Which system (default: all)."),
    ] = None,
    source: options.From = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=completion.claims,
            help="Only this claim (an id, or a number of the paper: all its lines); repeatable.",
        ),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Also the claims that take long.")] = False,
    level: Annotated[str | None, typer.Option(help="Measure at this level: L0 (training) … L4.")] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Measure at this width; needs a finite --level.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Measure with seeds 0 … N-1, each by itself; needs a finite --level.")
    ] = None,
    set: options.Set = None,
    constant: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A hidden constant of the claims' regimes; repeatable."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.png", callback=options.picture, help="Draw the fits of the one --claim, or its --map."
        ),
    ] = None,
    map: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="X Y", help="Where the one --claim holds over x=lo:hi:n[:log] y=…; writes picture and data."
        ),
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="The paper's statements: which are checked, and why others are not.")
    ] = False,
    errata: Annotated[
        bool, typer.Option("--errata", help="What is wrong as printed, its corrected form, the measurements.")
    ] = False,
    regimes: Annotated[
        bool, typer.Option("--regimes", help="Where claims are stated, where the defaults lie, the share of the box.")
    ] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Also prove what can be, by enclosures, at one set of parameters.")
    ] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the verdicts on record.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes to measure in (default: the cores with --all or --map, else 1)."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(callback=options.given, help=f"{' | '.join(FORMATS)} (default: as --out ends, else table)."),
    ] = None,
    out: options.Out = None,
) -> None:
    """Check a paper's claims, by default those that are quick to measure.

    Exit code 0: every verdict is the one on record. 1: a verdict changed, or a proof stops. 2: bad input.

    With --level, --width, --seeds or --set claims are measured elsewhere than on record; the exit code is then 0.

    A claim that cannot be measured there is listed with the reason; if it was named with --claim, that is bad input.

    An interrupted check keeps the verdicts it has; the same command goes on from there.
    """
    from flowsys.claims import write_record
    from flowsys.claims.checking import check_systems, record_file, selected
    from flowsys.cli import checked as show
    from flowsys.cli.progress import counter
    from flowsys.machine.files import cache_directory

    form = options.form(format, FORMATS, out)
    chosen = options.systems_of([] if system is None else [system], source)
    if coverage:
        from flowsys.claims.statements import coverage as covered
        from flowsys.claims.statements import summary

        options.deliver("\n".join(summary(found, covered(found)) for found in chosen), out)
        return
    if regimes:
        options.deliver(show.regimes_text(chosen, claim), out)
        return
    conditions = _conditions(chosen, level, width, seeds, set, constant)
    if record and not conditions.is_default:
        raise InputError("--record keeps verdicts at the claims' own parameters: give no --level, --width or --set.")
    if plot and len(claim or []) != 1:
        raise InputError("--plot draws one claim: give it with --claim ID.")
    if map:
        _map(chosen, claim, map, conditions, workers or os.cpu_count() or 1, plot)
        return
    if errata:
        _errata(chosen, workers or 1, form, out)
        return
    total = sum(len(claims) for claims in selected(chosen, claim, all).values())
    with counter(total, "claims") as told:
        processes = workers or (os.cpu_count() or 1 if all else 1)
        results = check_systems(chosen, claim, all, conditions, processes, told, cache_directory("check"))
    if prove:
        results = _proven(chosen, results, claim, conditions)
    if record:
        for found in chosen:
            write_record(record_file(found), results[found.name], found.claims)
    shown = {name: checked for name, checked in results.items() if checked or claim is None}
    texts = [show.text_of(name, checked, conditions, form) for name, checked in shown.items()]
    options.deliver("[" + ",\n".join(texts) + "]" if form == "json" else "\n".join(texts), out)
    if plot and claim:
        _draw([(found.names, c) for found in chosen for c in results[found.name]], claim[0], plot)
    compared = [c for found in chosen if found.package for c in results[found.name]]
    stops = any(c.proof and not c.proof.is_proven for checked in results.values() for c in checked)
    if stops or (conditions.is_default and not record and any(not c.is_as_recorded for c in compared)):
        raise typer.Exit(1)


def _proven(systems, results, names: list[str] | None, conditions):
    """The same claims with their proofs; one that was named has to be provable, or one of those beside it."""
    from flowsys.cli.prove import need_flint, steps_told
    from flowsys.machine.files import cache_directory

    need_flint()
    from flowsys.proof.claiming import prove_claim

    found: dict[str, list] = {}
    command = options.command_line()
    for system in systems:
        checked = results[system.name]
        if names and checked and not any(c.claim.provable for c in checked):
            prove_claim(checked[0].claim, system, conditions)  # says what can be proven
        found[system.name] = []
        for c in checked:
            if c.claim.provable:
                with steps_told() as told:
                    proof = prove_claim(
                        c.claim, system, conditions, on_progress=told, journal=cache_directory("prove"), command=command
                    )
                c = replace(c, proof=proof)
            found[system.name].append(c)
    return found


def _conditions(systems, level: str | None, width: int | None, seeds: int | None, texts, constants):
    """What was asked for, as values the systems accept."""
    from flowsys.claims.conditions import Conditions
    from flowsys.system import LEVELS

    given = options.assignments(texts)
    if level is not None and level not in LEVELS:
        raise InputError(f"--level {level} is not known: it must be one of {', '.join(LEVELS)}.")
    if width is not None:
        given = {"width": str(width)} | given
    if given and len(systems) != 1:
        raise InputError(f"--set {next(iter(given))} needs one system: parameters belong to a system.")
    hidden = tuple((name, _number(name, text)) for name, text in options.assignments(constants, "--constant").items())
    if not given:
        return Conditions(level, seeds, (), hidden)
    setup = systems[0].setup(**given)
    return Conditions(level, seeds, tuple((name, setup[name]) for name in given), hidden)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"--constant {name}={text} is not allowed: it must be a positive number.")
    return value


def _draw(checked, name: str, path: str) -> None:
    from flowsys.plot.drawing import Drawing
    from flowsys.plot.residuals import residuals

    fitted = [(names, c) for names, c in checked if c.verdict.fits]
    if not fitted:
        raise InputError(f"--plot {path}: claim {name} rests on no fit, so there are no residuals to draw.")
    names, found = next((pair for pair in fitted if pair[1].claim.id == name), fitted[0])
    figure = residuals(found.verdict, names, f"{found.claim.place}: {found.claim.statement}")
    for written in Drawing(figure, {}).save(path, options.command_line()):
        typer.echo(f"wrote {written}", err=True)


def _map(systems, names: list[str] | None, texts: tuple[str, str], conditions, workers: int, plot: str | None) -> None:
    """Where one claim holds over two parameters: a picture, and a table beside it."""
    from flowsys.claims.checking import selected
    from flowsys.claims.regions import region
    from flowsys.cli.progress import counter
    from flowsys.machine.files import write_atomically, write_text
    from flowsys.plot.drawing import save_picture
    from flowsys.plot.region import region as draw
    from flowsys.sweeps.axes import parse_axis

    if len(systems) != 1 or len(names or []) != 1:
        raise InputError("--map draws one claim of one system: give SYSTEM and --claim ID.")
    (system,) = systems
    ((claim, *_),) = selected(systems, names, True).values()
    axes = [parse_axis(text) for text in texts]
    picture = Path(plot or f"{system.name}-{claim.id}-map.png")
    with counter(len(axes[0]) * len(axes[1]), "points") as told:
        found = region(system, claim, axes, conditions, workers, told)
    figure = draw(found, system.names)
    command = options.command_line()
    write_atomically(picture, lambda temporary: save_picture(figure, temporary, command))
    data = write_text(picture.with_suffix(".csv"), found.as_csv(command))
    typer.echo("; ".join(f"{word}: {n}" for word, n in found.counts().items()))
    typer.echo(f"wrote {picture} and {data}", err=True)


def _errata(systems, workers: int, format: str, out: str | None) -> None:
    from flowsys.claims.checking import check
    from flowsys.claims.errata import errata, ids_of_errata
    from flowsys.cli import checked as show

    found = []
    for system in systems:
        if ids := ids_of_errata(system):
            found += errata(system, check(system, ids, workers=workers))
    options.deliver(show.errata_text(found, format), out)
