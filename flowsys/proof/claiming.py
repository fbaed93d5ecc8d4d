"""Claims proven: the statements that a claim declares as provable, at its parameters, and what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsys.claims import Claim
from flowsys.claims.conditions import DEFAULT, Conditions
from flowsys.claims.regime import Values
from flowsys.errors import InputError
from flowsys.proof.proving import Proof, prove
from flowsys.proof.words import as_sentences
from flowsys.system import System
from flowsys.typeset import plain


@dataclass(frozen=True, eq=False)
class ClaimProof:
    """A claim's proof: where, how many of its statements are proven, by how much, or where the proof stops."""

    where: str
    n_statements: int
    n_proven: int
    margin: float | None
    closest: str
    stops: str
    theorem: tuple[str, ...]
    proof: Proof

    @property
    def is_proven(self) -> bool:
        return self.n_proven == self.n_statements

    @property
    def said(self) -> str:
        """One line for a table."""
        if self.is_proven:
            return f"proven at {self.where}, least margin {self.margin:.3g} ({self.closest})"
        return f"{self.n_proven} of {self.n_statements} statements proven at {self.where}; {self.stops}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "proven": self.is_proven, "at": self.where, "margin": self.margin, "closest": self.closest,
            "stops": self.stops or None, "theorem": list(self.theorem),
        }  # fmt: skip


def prove_claim(
    claim: Claim,
    system: System,
    conditions: Conditions = DEFAULT,
    *,
    on_progress: Callable[[float, float], None] = lambda t, error: None,
    journal: Path | None = None,
    command: str = "",
) -> ClaimProof:
    """Prove what a claim declares as provable; raises InputError where nothing can be asked."""
    if claim.provable is None:
        there = [c.id for c in system.claims if c.provable is not None]
        can = f"it can of {', '.join(there)}" if there else "no claim of this system declares what can be"
        raise InputError(f"claim {claim.id} cannot be proven: {can}.")
    if conditions.level not in (None, system.default_level):
        raise InputError(f"claim {claim.id} can be proven at level {system.default_level}, not at {conditions.level}.")
    own = claim.at if isinstance(claim.at, Mapping) else next(iter(claim.at), {})
    known = {p.name for p in system.parameters}
    sets = {**own, **claim.provable.at, **dict(conditions.parameters)}
    setup = system.setup(claim.mode, **{name: x for name, x in sets.items() if name in known})
    statements = [text.format_map(setup) for text in claim.provable.statements]
    proof = prove(
        system, setup, mode=claim.mode, at=(), observe=(), state=statements, on_progress=on_progress, journal=journal,
        command=command,
    )  # fmt: skip
    closest = min(proof.signs, key=lambda sign: sign.margin, default=None)
    inside = claim.regime.margin(Values(setup)) >= 1
    where = ", ".join(f"{_symbol(system, name)} = {_shown(setup[name])}" for name in sets if name in known)
    where = (where or "the default set-up") + ("" if inside else " (outside the claim's regime)")
    stops = f"the proof stops at t = {proof.reached:.6g}: {proof.declined}" if proof.declined else ""
    return ClaimProof(
        where, len(statements), len(proof.signs), closest.margin if closest else None,
        closest.stated.text if closest else "", stops, tuple(as_sentences(proof)), proof,
    )  # fmt: skip


def _symbol(system: System, name: str) -> str:
    return plain(f"${system.names.symbol(name)}$")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
