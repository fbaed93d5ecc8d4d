"""The record of a derivation: the program, its equations, and how the two ways to it certify each other.

A *stated* program has sizes as symbols. A *found* one comes from the enumerated system of one size by automatic
lumping. `Derivation` holds the stated program with what was found and how well they agree at random points.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowsys.program import Program

if TYPE_CHECKING:
    from flowsys.symbolic.assemble import Statement
    from flowsys.symbolic.lumping import Partition


@dataclass(frozen=True)
class Derivation:
    """What `flowsys derive` reports.

    `certificate` is how far the unlumped field leaves the lumped subspace (about 1e-16 if exact), `control` the same
    after merging two classes that differ (of order one), `agreement` the largest difference between the stated
    program and the found one at random points.
    """

    program: Program
    equations: Mapping[str, str]
    size: str
    n_coordinates: int
    n_classes: int
    alike: tuple[str, ...]
    classes: tuple[str, ...]
    certificate: float
    control: float
    agreement: float
    seconds: float


@dataclass(frozen=True)
class Stated:
    """A statement, the program assembled from it, and the seconds that took."""

    statement: "Statement"
    program: Program
    seconds: float

    @classmethod
    def assembled(cls, statement: "Statement") -> "Stated":
        from flowsys.symbolic.assemble import assemble

        begun = time.perf_counter()
        program = assemble(statement)
        return cls(statement, program, time.perf_counter() - begun)

    def beside(
        self,
        found: "Partition",
        full: Callable[[np.ndarray], np.ndarray],
        names: Sequence[str],
        agreement: float,
        size: str,
        latex: Mapping[str, str],
        apart: tuple[int, int] = (0, 1),
    ) -> Derivation:
        """The stated program beside the lumping found of the full field; the control merges the two classes `apart`."""
        from flowsys.symbolic.lumping import certificate, describe, merged
        from flowsys.symbolic.render import flow_equations

        words = describe(found, names)
        return Derivation(
            program=self.program,
            equations=flow_equations(self.statement, latex),
            size=size,
            n_coordinates=len(names),
            n_classes=found.n_classes,
            alike=words.alike,
            classes=words.classes,
            certificate=certificate(full, found),
            control=certificate(full, merged(found, *apart)),
            agreement=agreement,
            seconds=self.seconds,
        )
