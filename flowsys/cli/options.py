"""Options that commands share, and how their texts are read."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from flowsys.cli import completion
from flowsys.errors import InputError
from flowsys.runs.requests import request


def given(option: typer.CallbackParam, text: str | None) -> str | None:
    """Refuse an option whose value is empty, as from a script's unset variable."""
    if text is not None and not text.strip():
        raise InputError(f"{option.opts[0]} is empty: give a value, or leave the option away.")
    return text


def writable(option: typer.CallbackParam, path: str | None) -> str | None:
    """Refuse a file that cannot be written before anything is computed for it."""
    if path is None:
        return None
    given(option, path)
    from flowsys.machine.files import check_writable

    check_writable(path)
    return path


PICTURES = (".png", ".pdf", ".svg")


def picture(option: typer.CallbackParam, path: str | None) -> str | None:
    """Refuse a picture that cannot be written, or whose name does not say a format."""
    if (path := writable(option, path)) is not None and not path.lower().endswith(PICTURES):
        raise InputError(f"{option.opts[0]} {path} is no picture: its name must end in {', '.join(PICTURES)}.")
    return path


ENDINGS = {"md": "markdown", "html": "html", "tex": "latex", "jl": "julia", "c": "c", "json": "json", "csv": "csv",
           "nc": "netcdf"}  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option(callback=given, help="table | json | csv (default: as --out ends, else table)."),
]
TableOrJson = Annotated[str | None, typer.Option(callback=given, help="table (the default) | json")]


def form(asked: str | None, formats: Sequence[str], out: str | None = None) -> str:
    """The format that was asked for, or that the ending of a file says, or the first of all."""
    if asked is not None and asked not in formats:
        raise InputError(f"--format {asked} is not known: it must be one of {', '.join(formats)}.")
    ending = Path(out or "").suffix.lower()
    said = ENDINGS.get(ending[1:])
    if said is None or said not in formats:
        if asked is None and ending not in ("", ".txt"):
            endings = [f".{short}" for short, long in ENDINGS.items() if long in formats]
            raise InputError(
                f"--out {out}: no format has this ending; end in {', '.join(endings)} or .txt, or give a --format."
            )
        return asked or formats[0]
    if asked not in (None, said):
        raise InputError(f"--format {asked} and --out {out} are two formats: leave --format away, or end otherwise.")
    return said


def deliver(text: str, out: str | None) -> None:
    """Print a text, or write it to the file of --out and say so."""
    if out is None:
        typer.echo(text)
        return
    from flowsys.machine.files import write_text

    write_text(out, text + "\n")
    typer.echo(f"wrote {out}", err=True)


SystemName = Annotated[
    str | None,
    typer.Argument(
        metavar="SYSTEM", autocompletion=completion.systems, help="Which system; `flowsys list` shows them."
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE.py[:VARIABLE]",
        callback=given,
        help="A model of your own instead of SYSTEM: runs FILE.py.",
    ),
]
Level = Annotated[
    str | None, typer.Option(callback=given, help="L0 | L1 | L2 | L3 | L4 (default: the system's, usually L3).")
]
Variant = Annotated[
    str | None, typer.Option(callback=given, help="A form within the level; `flowsys show SYSTEM` lists them.")
]
Mode = Annotated[
    str | None,
    typer.Option(
        callback=given, autocompletion=completion.modes, help="How it trains; `flowsys show` lists the modes."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", autocompletion=completion.parameters,
                 help="Set a parameter; repeatable."),
]  # fmt: skip
At = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EVENT|t=NUMBER|t=FROM:TO:COUNT[:log],…",
        help="Where to look: events and times, comma-separated; repeatable.",
    ),
]
Until = Annotated[float | None, typer.Option(help="Follow the course up to this time.")]
Observe = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME,…", autocompletion=completion.observables, help="Which observables (default: all); repeatable."
    ),
]
Rtol = Annotated[float, typer.Option(help="Relative tolerance.")]
Atol = Annotated[float | None, typer.Option(help="Absolute tolerance (default: scaled to the system).")]
Solver = Annotated[str, typer.Option(help="Which solver; `flowsys solve --help` lists them.")]
KinkWidth = Annotated[
    float | None, typer.Option(help="Smooth every ReLU over this width instead of following its kink.")
]


def netcdf(option: typer.CallbackParam, path: str | None) -> str | None:
    """Refuse a data file that cannot be written, or that the picture beside it would take the place of."""
    if (path := writable(option, path)) is not None and Path(path).suffix.lower() in PICTURES:
        raise InputError(f"{option.opts[0]} {path} is for the data: name it .nc, the picture goes beside it.")
    return path


def npz(option: typer.CallbackParam, path: str | None) -> str | None:
    """Refuse a file of arrays that cannot be written, or whose name is another."""
    if (path := writable(option, path)) is not None and not path.endswith(".npz"):
        raise InputError(f"{option.opts[0]} {path} must end in .npz.")
    return path


Start = Annotated[
    str | None,
    typer.Option(metavar="FILE.npz", callback=given, help="Start from these arrays: weights, or what is seen."),
]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", callback=writable, help="Write to this file instead of the terminal.")
]


def system_of(name: str | None, file: str | None):
    """The system that was asked for, by its name or with --from."""
    if name is None and file is None:
        raise InputError(
            "SYSTEM is missing: name one that `flowsys list` shows, or give a model of your own with "
            "--from FILE.py[:VARIABLE]."
        )
    return systems_of([] if name is None else [name], file)[0]


def systems_of(names: Sequence[str], file: str | None) -> list:
    """The systems that were asked for; all there are if none was."""
    from flowsys import systems
    from flowsys.systems.outside import from_file

    if names and file is not None:
        if "=" in names[0]:
            raise InputError(alone(names[0]))
        raise InputError(f"SYSTEM {' '.join(names)} and --from {file} are both given: leave one of them away.")
    return [from_file(file)] if file is not None else [systems.load(name) for name in names or systems.names()]


def alone(assignment: str) -> str:
    """What is said of a NAME=VALUE that no option takes."""
    return f"{assignment} stands alone: every parameter takes a --set of its own, here --set {assignment}."


def assignments(texts: list[str] | None, option: str = "--set") -> dict[str, str]:
    """{"K": "3"} from ["K=3"]."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not separator or not name.strip() or not value.strip():
            raise InputError(f"{option} {text} is not understood: it must be NAME=VALUE.")
        if name.strip() in found:
            raise InputError(f"{option} {name.strip()} is given twice.")
        found[name.strip()] = value.strip()
    return found


def setup_of(system, mode: str | None, texts: list[str] | None):
    """The setup for what a mode decides only in a declared model: a paper states its derivation and ladder itself."""
    if mode is not None and system.package:
        raise InputError(
            f"mode = {mode} plays no part here: {system.name} states for itself what is derived and compared."
        )
    return system.setup(mode, **assignments(texts))


def say_idle(
    system, setup, given: Mapping[str, str], level: str | None, variant: str | None = None, mode: str | None = None
) -> None:
    """Say which of the parameters that were given, as an axis or with a value, play no part at the level."""
    level = level or system.default_level
    settled = system.settled(setup, level, system.variant(level, variant), system.mode(mode))
    for parameter in system.parameters:
        name = parameter.name
        if name not in given:
            continue
        said = f"flowsys: {name} = {given[name]} plays no part at {level}"
        if level not in parameter.levels:
            typer.echo(f"{said} (it belongs to {', '.join(parameter.levels)}).", err=True)
        elif settled[name] != setup[name]:
            typer.echo(f"{said}: it is {settled[name]} there.", err=True)


def _parts(texts: str | Sequence[str] | None) -> list[str] | None:
    """What stands between commas, in one text or in several; None where the option was not given."""
    if texts is None or texts == []:  # an option that may be repeated is an empty list where it is not given
        return None
    joined = texts if isinstance(texts, str) else ",".join(texts)
    return [part.strip() for part in joined.split(",") if part.strip()]


def requests(texts: str | Sequence[str] | None) -> list[str | float] | None:
    """["T_2", 300.0] from "T_2,t=300"; t=0:300:4 stands for 0, 100, 200, 300."""
    parts = _parts(texts)
    if parts is None:
        return None
    found: list[str | float] = []
    for part in parts:
        if part.startswith("t=") and ":" in part:
            from flowsys.sweeps.axes import parse_axis

            found += parse_axis(part).values
        else:
            found.append(request(part))
    if not found:
        raise InputError("--at is empty: name events or times, e.g. T_2,t=300.")
    return found


def names(texts: str | Sequence[str] | None) -> list[str] | None:
    """["w_c", "w_v"] from "w_c,w_v"."""
    found = _parts(texts)
    if found is None:
        return None
    if not found:
        raise InputError("the list of observables is empty: name at least one.")
    return found


def start_of(path: str | None):
    """The arrays of a file to start from; nothing in it is executed."""
    if path is None:
        return None
    from flowsys.model.starts import load

    return load(path)


def command_line() -> str:
    """The command as typed, for provenance."""
    return shlex.join(["flowsys", *sys.argv[1:]])


def plain(value: Any) -> Any:
    """A value as JSON can hold it: what is no finite number becomes text ("inf", "-inf", "nan")."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
