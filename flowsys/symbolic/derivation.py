"""The record of a derivation: the program, its equations, and how the two ways to it certify each other.

A *stated* program has sizes as symbols. A *found* one comes from the enumerated system of one size by automatic
lumping. `Derivation` holds the stated program with what was found and how well they agree at random points.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowsys.program import Program
from flowsys.typeset.tables import fold

# Rounding gives certificates up to 2e-15 and agreements up to 3e-14 with the five papers' systems and their variants; a
# wrong term differs by the size of a rate, a merged class that must not be by 3e-3 or more. Between the two lies the
# tolerance at which `lump` calls rates equal.
EXACT = 1e-9

if TYPE_CHECKING:
    from flowsys.symbolic.assemble import Statement
    from flowsys.symbolic.lumping import Partition


@dataclass(frozen=True)
class Derivation:
    """What `flowsys derive` reports: the program, LaTeX of its flow and (where short) of its loss, certificates.

    `certificate` is how far the unlumped field leaves the lumped subspace (about 1e-16 if exact), `control` the same
    after merging the two classes `unlike` (of order one; None if no two were found that it notices), `agreement` the
    largest difference between the stated program and the found one at random points (None where nothing was stated),
    `autodiff` that between the program and autodiff on the weights, relative. `n_eliminable` counts variables of the
    stated program beyond the classes found; `statement` is what the program was assembled from.
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
    n_eliminable: int
    agreement: float | None
    seconds: float
    autodiff: float | None = None
    statement: "Statement | None" = None

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
        sentences = "\n".join(f"- {sentence}" for sentence in (*self.alike, *self.certificates()))
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
        if self.n_eliminable:
            n = len(self.program.state)
            left = n - self.n_eliminable
            yield f"{self.n_eliminable} of the {n} variables could be eliminated: from this start {left} suffice"
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
    ) -> Derivation:
        """The stated program beside the lumping found of the full field."""
        from flowsys.symbolic.lumping import certificate, control, describe
        from flowsys.symbolic.render import flow_equations, loss_equations

        words = describe(found, names)
        left, unlike = control(full, found) or (None, ())
        return Derivation(
            program=self.program,
            equations=flow_equations(self.statement, latex),
            loss=loss_equations(self.statement, latex),
            size=size,
            n_coordinates=len(names),
            n_classes=found.n_classes,
            alike=words.alike,
            classes=words.classes,
            certificate=certificate(full, found),
            control=left,
            unlike=tuple(names[found.representatives[c]] for c in unlike),
            n_eliminable=max(0, len(self._moving) - found.n_classes),
            agreement=agreement,
            seconds=self.seconds,
            statement=self.statement,
        )

    @property
    def _moving(self) -> list:
        """The coordinates that the loss moves: not clocks, whose rates are given."""
        from sympy import Dummy

        slopes = {x: Dummy() for x in self.statement.state}
        rates = {x: rate for b in self.statement.blocks for x, rate in b.derivatives(slopes.__getitem__).items()}
        return [x for x, rate in rates.items() if rate.free_symbols & set(slopes.values())]
