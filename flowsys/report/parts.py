"""The parts of the page that take long, ladders, diagrams, figures: made side by side, kept until the code changes."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from flowsys.errors import InputError
from flowsys.machine.kept import Kept
from flowsys.machine.workers import side_by_side
from flowsys.report import pictures
from flowsys.system import System

MAKE: dict[str, Callable[..., str]] = {
    "ladder": pictures.ladder, "proof": pictures.proof, "diagram": pictures.diagram, "figure": pictures.drawing,
}  # fmt: skip


class Part(NamedTuple):
    """One of a system's ladder, proven claims, named diagrams, figures of the paper."""

    system: str
    kind: str
    name: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


def parts(system: System) -> list[Part]:
    """A system's parts in the order of the page."""
    ladder = [Part(system.name, "ladder")] if system.ladder is not None else []
    diagrams = [Part(system.name, "diagram", name) for name in system.diagrams]
    return [*ladder, *proofs(system), *diagrams, *(Part(system.name, "figure", name) for name in system.figures)]


def proofs(system: System) -> list[Part]:
    """The claims that are proven on the page, if what proves them is installed."""
    if find_spec("flint") is None:
        return []
    return [Part(system.name, "proof", claim.id) for claim in system.claims if claim.provable]


def made(
    systems: Sequence[System], directory: Path | None, workers: int, on_progress: Callable[[Part, int], None]
) -> dict[Part, str]:
    """The HTML of every part; what `directory` keeps is read, the rest is made in so many processes.

    `on_progress` is told how many more parts are done, and the part under way that was begun first.
    """
    by_name = {system.name: system for system in systems}
    kept = {name: Kept(directory, name, system.digest) for name, system in by_name.items()}
    texts, missing = {}, []
    for part in (part for system in systems for part in parts(system)):
        text = kept[part.system].read(_file(part))
        if text is None:
            missing.append(part)
        else:
            texts[part] = text
            on_progress(part, 1)
    waiting = dict.fromkeys(missing)
    if missing:
        on_progress(missing[0], 0)
    for part, (text, is_made) in side_by_side(_made, by_name, [(part,) for part in missing], workers):
        if is_made:
            kept[part.system].write(_file(part), text)
        texts[part] = text
        waiting.pop(part)
        on_progress(next(iter(waiting), part), 1)
    return texts


def _made(systems: Mapping[str, System], part: Part) -> tuple[Part, tuple[str, bool]]:
    return part, _html(systems[part.system], part)


def _html(system: System, part: Part) -> tuple[str, bool]:
    """A part, and whether it could be made: a picture that needs runs which are not stored says so in its place."""
    try:
        return MAKE[part.kind](system, *part[2:]) if part.name else MAKE[part.kind](system), True
    except InputError as error:
        return f'<p class="untested">{escape(part.kind)} {escape(part.name)}: {escape(str(error))}</p>', False


def _file(part: Part) -> str:
    return f"{part.kind}-{part.name}"
