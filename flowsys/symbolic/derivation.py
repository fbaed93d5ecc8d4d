"""The record of a derivation: the program, its equations, and how the two ways to it certify each other.

A *stated* program has sizes as symbols. A *found* one comes from the enumerated system of one size by automatic
lumping. `Derivation` holds the stated program with what was found and how well they agree at random points.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowsys.program import Program
from flowsys.typeset.tables import fold

# Rounding gives certificates up to 2e-15 and agreements up to 3e-14 with the five papers' systems and their variants; a
# wrong term differs by the size of a rate, a merged class that must not be by 3e-3 or more. Between the two lies the
# tolerance at which a lumping calls rates equal.
EXACT = 1e-9

if TYPE_CHECKING:
    from flowsys.symbolic.assemble import Statement


@dataclass(frozen=True)
class Derivation:
    """What `flowsys derive` reports: the program, LaTeX of its flow and (where short) of its loss, certificates.

    `certificate` is how far the unlumped field leaves the lumped subspace (about 1e-16 if exact), `control` the same
    after merging the two classes `unlike` (of order one; None if no two were found that it notices), `agreement` the
    largest difference between the stated program and the found one at random points (None where nothing was stated),
    `autodiff` that between the program and autodiff on the weights, relative; `statement` is what the program was
    assembled from; of a found program, `data` says what the numbers are that are no parameters of the system, and
    `conserved` (LaTeX) what the flow of its pairs keeps.
    """

    program: Program
    equations: Mapping[str, str]
    loss: Mapping[str, str]
    size: str
    n_coordinates: int
    n_classes: int
    alike: tuple[str, ...]
    classes: tuple[str, ...]
    certificate: float
    control: float | None
    unlike: tuple[str, ...]
    agreement: float | None
    seconds: float
    autodiff: float | None = None
    statement: "Statement | None" = None
    data: Mapping[str, str] = field(default_factory=dict)
    conserved: tuple[str, ...] = ()

    def __str__(self) -> str:
        n, operations = len(self.program.state), self.program.operations
        lines = [
            f"{n} variables, {operations} operations, derived in {self.seconds:.2f} s",
            "",
            f"Lumping at {self.size}: {self.n_coordinates} coordinates fall into {self.n_classes} classes.",
            *(f"  {sentence}" for sentence in (*self.alike, *self.classes)),
            "",
            *self.certificates(),
            "",
            *(self.loss.values() or ["the loss is too long for a line of LaTeX: the program has it"]),
            *self.equations.values(),
        ]
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the lumping, its certificates, the equations folded."""
        lumped = f"Lumping at {self.size}: {self.n_coordinates} coordinates fall into {self.n_classes} classes."
        sentences = "\n".join(
            f"- {s}".replace("_", r"\_").replace("*", r"\*") for s in (*self.alike, *self.certificates())
        )
        equations = "\n\n".join(f"$${text}$$" for text in (*self.loss.values(), *self.equations.values()))
        return f"{lumped}\n\n{sentences}\n\n{fold('equations', equations)}"

    def certificates(self) -> Iterator[str]:
        """How well it stands, a sentence each."""
        yield f"certificate: the full flow leaves the lumped subspace by {self.certificate:.1e} (relative)"
        if self.control is not None:
            yield (
                f"control: with two unlike classes merged ({' and '.join(self.unlike)}) it leaves by {self.control:.1e}"
            )
        elif self.n_classes > 1:
            yield "control: no control found, no two classes tried are noticed when they are merged"
        else:
            yield "control: none, there are no two classes to merge"
        if self.agreement is None:
            yield "found, not stated: no limit is stated that it could be compared with"
        else:
            yield f"the stated program and the found one differ by {self.agreement:.1e} at random points"
        if self.autodiff is not None:
            yield f"the program and autodiff on the weights differ by {self.autodiff:.1e} (relative)"

    def __repr__(self) -> str:
        return f"<Derivation at {self.size}: {self.n_coordinates} coordinates in {self.n_classes} classes>"

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, a sentence each; none if the derivation stands."""
        found = []
        if self.agreement is not None and not self.agreement <= EXACT:
            found.append(f"the stated program and the found one differ by {self.agreement:.1e}, more than {EXACT:g}")
        if not self.certificate <= EXACT:
            found.append(f"the full flow leaves the lumped subspace by {self.certificate:.1e}, more than {EXACT:g}")
        if self.autodiff is not None and not self.autodiff <= EXACT:
            found.append(f"the program and autodiff on the weights differ by {self.autodiff:.1e}, more than {EXACT:g}")
        if self.control is None and self.n_classes > 1:
            found.append("no control found: no two classes tried are noticed when they are merged")
        return tuple(found)
