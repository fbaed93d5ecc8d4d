"""The command that makes the runs of an experiment: an option for every setting, several values of which may be asked.

A setting is a field of the case (or of a dataclass inside it) that is a number, a text, or yes or no.
"""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

Case = TypeVar("Case")


def asked(
    case: Case,
    arguments: Sequence[str] | None,
    command: str,
    description: str,
    folder: Path,
    **unasked: Sequence[Any],
) -> tuple[Path, list[Case]]:
    """The folder, and the cases of all combinations of the values given; `unasked` are those of a setting not given.

    What makes no case ends the command with the case's own sentence.
    """
    parser = ArgumentParser(prog=command, description=description)
    parser.add_argument("--folder", type=Path, default=folder, help=f"where runs are kept (default {folder})")
    for name, value in settings(case):
        many = unasked.get(name, [value])
        if isinstance(value, bool):
            parser.add_argument(f"--{name}", nargs="*", type=_yes_or_no, default=many, metavar="yes|no", help="or both")
        else:
            shown = " ".join(map(str, many))
            parser.add_argument(f"--{name}", nargs="+", type=type(value), default=many, help=f"(default {shown})")
    given = vars(parser.parse_args(arguments))
    into, names = given.pop("folder"), list(given)
    try:
        return into, [
            _with(case, dict(zip(names, values))) for values in product(*(v or [True] for v in given.values()))
        ]
    except ValueError as error:
        parser.error(str(error))


def settings(case: Any) -> Iterator[tuple[str, Any]]:
    """The names and values of what may be set."""
    for of in fields(case):
        value = getattr(case, of.name)
        if is_dataclass(value):
            yield from settings(value)
        elif isinstance(value, bool | int | float | str):
            yield of.name, value


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ArgumentTypeError(f"invalid yes or no value: {text!r}")
    return text == "yes"


def _with(case: Any, given: dict[str, Any]) -> Any:
    """A case with other settings, those inside it too."""
    changed = {}
    for of in fields(case):
        value = getattr(case, of.name)
        if is_dataclass(value):
            changed[of.name] = _with(value, given)
        elif of.name in given:
            changed[of.name] = given[of.name]
    return replace(case, **changed)
