"""Where a system comes from: its paper, whose title stands once, in its `Paper`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper whose system the package implements."""

    name: str
    title: str
    venue: str
