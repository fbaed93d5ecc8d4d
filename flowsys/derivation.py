"""The record of a derivation: the program, its equations, and how the two ways to it certify each other.

A *stated* program has sizes as symbols. A *found* one comes from the enumerated system of one size by automatic
lumping. `Derivation` holds the stated program with what was found and how well they agree at random points.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from flowsys.program import Program


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
