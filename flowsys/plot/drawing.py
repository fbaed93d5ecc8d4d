"""A paper's figure made again: the picture and the data it was drawn from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from flowsys.errors import InputError
from flowsys.runs.trajectory import Trajectory
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.system import Setup

_COMMAND_IN = {".png": "Description", ".pdf": "Subject", ".svg": "Description"}


@dataclass(frozen=True)
class Drawing:
    """A matplotlib figure with its runs and sweeps; `notes` says what a reader should see in it."""

    figure: Any
    data: Mapping[str, Trajectory | PhaseDiagram]
    notes: str = ""

    def save(self, picture: str | Path, command: str = "") -> list[Path]:
        """Write the picture (PNG, PDF or SVG, by its name), a CSV file of all it shows, a netCDF file for each run.

        All of them carry the command.
        """
        from flowsys.machine.files import write_atomically, write_text
        from flowsys.plot.drawn import as_csv

        picture = Path(picture)
        written = [write_atomically(picture, lambda temporary: save_picture(self.figure, temporary, command))]
        table = picture.with_suffix(".csv")
        write_text(table, as_csv(self.figure, command))
        written.append(table)
        for name, run in self.data.items():
            if isinstance(run.origin, Mapping):  # of a sweep
                origin: Any = {**run.origin, "command": command or run.origin.get("command", "")}
            else:
                origin = replace(run.origin, command=command or run.origin.command)
            written.append(replace(run, origin=origin).save(picture.with_name(f"{picture.stem}-{name}.nc")))
        return written

    def unheeded(self, setup: Setup) -> list[str]:
        """Parameters that were given but are not what every run behind the figure was made with."""
        origins = [run.origin for run in self.data.values()]
        runs = [o.get("fixed", {}) if isinstance(o, Mapping) else o.parameters for o in origins]
        heeded = lambda name: bool(runs) and all(run.get(name) == setup[name] for run in runs)
        return sorted(name for name in setup.given if not heeded(name))


def save_picture(figure: Any, path: str | Path, command: str = "", dpi: int = 150) -> None:
    """Write a figure; the file carries the command that makes it."""
    field = _COMMAND_IN.get(Path(path).suffix.lower())
    figure.savefig(path, dpi=dpi, metadata={field: command} if command and field else None)


@dataclass(frozen=True)
class PaperFigure:
    """How a figure of the paper is drawn from a setup.

    `caption` says what the paper shows there, in a sentence of our own; `mode` is the one whose defaults the figure
    starts from, None the system's first. `heeds` lists the parameters that play a part, where the runs behind it do not
    tell; of a figure that has paper sizes, which is drawn from kept runs, they are none unless told. What is given and
    plays none is refused.
    """

    draw: Callable[..., Drawing]
    caption: str
    mode: str | None = None
    heeds: Sequence[str] | None = None

    def __call__(self, setup: Setup, **options: Any) -> Drawing:
        if self.heeds is not None or self.has_paper_sizes:
            self._refuse(setup, sorted(setup.given.difference(self.heeds or ())))
            return self.draw(setup, **options)
        drawing = self.draw(setup, **options)
        self._refuse(setup, drawing.unheeded(setup))
        return drawing

    def _refuse(self, setup: Setup, unheeded: Sequence[str]) -> None:
        for name in unheeded:
            may = f"; {', '.join(self.heeds)} may be set" if self.heeds else ""
            raise InputError(f"{name} = {setup[name]} plays no part in this figure: it is drawn at its own{may}.")

    @property
    def has_paper_sizes(self) -> bool:
        """Whether it can also be drawn at the paper's sizes: it takes `on_run`, which is told of every run."""
        return "on_run" in signature(self.draw).parameters
