"""A paper's figure made again: the picture and the trajectories it was drawn from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from flowsys.runs.trajectory import Trajectory


@dataclass(frozen=True)
class Drawing:
    """A matplotlib figure with its data; `notes` says what a reader should see in it."""

    figure: Any
    data: Mapping[str, Trajectory]
    notes: str = ""

    def save(self, picture: str | Path) -> list[Path]:
        """Write the picture (PNG or PDF, by its name) and one netCDF file for each trajectory beside it."""
        from flowsys.machine.files import write_atomically

        picture = Path(picture)
        written = [write_atomically(picture, lambda temporary: self.figure.savefig(temporary, dpi=150))]
        for name, trajectory in self.data.items():
            written.append(trajectory.save(picture.with_name(f"{picture.stem}-{name}.nc")))
        return written


@dataclass(frozen=True)
class PaperFigure:
    """How a figure is drawn from a setup, for figures that start from the defaults of a `mode` of their own."""

    draw: Callable[..., Drawing]
    mode: str

    def __call__(self, setup: Any, **options: Any) -> Drawing:
        return self.draw(setup, **options)


def mode_of(figure: Callable[..., Drawing]) -> str | None:
    """The mode whose defaults a figure starts from; None is the system's first."""
    return figure.mode if isinstance(figure, PaperFigure) else None


def has_paper_sizes(figure: Callable[..., Drawing]) -> bool:
    """Whether the figure can also be drawn at the paper's sizes: it takes `on_run`, which is told of every run."""
    return "on_run" in signature(figure.draw if isinstance(figure, PaperFigure) else figure).parameters
