"""The statements of a paper: what its theorems, lemmas and figures say, and which claims check them.

The package of a system lists them in `statements.py`: `STATEMENTS = {place: Statement}`, places like "Lemma E.1" or
"Lemmas C.2–C.5". A claim checks a statement if its own place names it and it is the paper's. A statement that no claim
checks carries the reason. The file is optional: a package without it lists none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from flowsys.claims import Claim
from flowsys.claims.claim import SOURCES
from flowsys.claims.numbering import places, shortened
from flowsys.system import System


@dataclass(frozen=True)
class Statement:
    """What a place of the paper says in one line; `reason` if no claim checks it."""

    text: str
    reason: str = ""


@dataclass(frozen=True)
class Covered:
    """A numbered statement with the claims that check it, and those of ours about it; `key` names its entry."""

    place: str
    key: str
    statement: Statement
    claims: tuple[Claim, ...]
    ours: tuple[Claim, ...] = ()

    @property
    def is_checked(self) -> bool:
        return any(claim.measure for claim in self.claims)


def statements(system: System) -> Mapping[str, Statement]:
    """What a system's package lists of its paper; nothing if it has no `statements.py`."""
    is_listed = system.package and find_spec(f"{system.package}.statements")
    return import_module(f"{system.package}.statements").STATEMENTS if is_listed else {}


def coverage(system: System) -> list[Covered]:
    """Every numbered statement of the paper, in its order, with the claims that check it."""
    by_place: dict[str, list[Claim]] = {}
    for claim in system.claims:
        for place in places(claim.place):
            by_place.setdefault(place, []).append(claim)
    found = []
    for key, statement in statements(system).items():
        for place in places(key):
            there = by_place.get(place, ())
            papers = tuple(claim for claim in there if claim.whose == "paper")
            found.append(Covered(place, key, statement, papers, tuple(c for c in there if c.whose == "ours")))
    return found


def counted(claims: Sequence[Claim]) -> str:
    """Claims counted apart: the paper's by what they are, and ours."""
    papers = Counter(claim.what for claim in claims if claim.whose == "paper")
    ours = sum(claim.whose == "ours" for claim in claims)
    listed = ", ".join(f"{papers[what]} {what}" for what in SOURCES if papers[what])
    return f"{sum(papers.values())} of the paper ({listed or 'none'}), {ours} ours"


def summary(system: System, covered: Sequence[Covered]) -> str:
    """How much of the paper is checked, by which claims, and what is not, with reasons."""
    checked = [c for c in covered if c.is_checked]
    measured = [claim for claim in system.claims if claim.measure]
    said = f"{len(checked)} of {len(covered)} numbered statements are checked" if covered else (
        "none of its paper's statements are listed (statements.py); it is checked"
    )  # fmt: skip
    lines = [f"{system.name}: {said}, by {len(measured)} claims: {counted(measured)}"]
    for c in checked:
        ours = f"; ours: {', '.join(claim.id for claim in c.ours)}" if c.ours else ""
        lines.append(f"  checked: {c.place}: {', '.join(claim.id for claim in c.claims if claim.measure)}{ours}")
    lines += [f"  not testable: {c.place}: {c.statement} ({c.reason})" for c in system.claims if c.reason]
    left: dict[str, list[Covered]] = {}
    for c in covered:
        if not c.claims:
            left.setdefault(c.key, []).append(c)
    for key, group in left.items():
        named = key if len(group) == len(places(key)) else shortened([c.place for c in group])
        statement, about = group[0].statement, sorted({claim.id for c in group for claim in c.ours})
        beside = f"; ours about it: {', '.join(about)}" if about else ""
        lines.append(f"  not checked: {named}: {statement.text} ({statement.reason or 'no reason is given'}{beside})")
    return "\n".join(lines)
