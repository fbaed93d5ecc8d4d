"""Where a piece of code comes from: papers, and numbered places in them.

A `Ref` names what a function derives, implements or checks; the title of a paper stands once, in its `Paper`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper whose system the package implements."""

    name: str
    title: str
    venue: str


@dataclass(frozen=True, order=True)
class Ref:
    """A numbered place in a paper, e.g. `Ref("mixture", "Lemma 5.5")`."""

    paper: str
    place: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.place}"
