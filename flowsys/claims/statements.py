"""The statements of a paper: what its theorems, lemmas and figures say, and which claims check them.

The package of a system lists them in `statements.py`: `STATEMENTS = {place: Statement}`, places like "Lemma E.1" or
"Lemmas C.2–C.5". A claim checks a statement if its own place names it. A statement that no claim checks carries the
reason. The file is optional: a package without it lists none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from flowsys.claims import Claim
from flowsys.system import System

_KINDS = {
    "Theorem": "Theorem", "Lemma": "Lemma", "Corollary": "Corollary", "Corollaries": "Corollary",
    "Proposition": "Proposition", "Observation": "Observation", "Definition": "Definition", "Condition": "Condition",
    "Assumption": "Assumption", "Fact": "Fact", "Claim": "Claim", "Remark": "Remark", "Algorithm": "Algorithm",
    "Eq": "Eq.", "Equation": "Eq.", "Fig": "Fig.", "Figure": "Fig.", "Sec": "Sec.", "Section": "Sec.",
    "Appendix": "Appendix", "App": "Appendix", "Table": "Table",
}  # fmt: skip
_NUMBER = r"\(?(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*[a-z]?)\)?(?![A-Za-z\d])"
_KIND = "|".join(sorted(_KINDS, key=len, reverse=True))
_PLACE = re.compile(rf"({_KIND})s?\.? ({_NUMBER}(?:(?:, (?:and )?| and |[-–]){_NUMBER})*)")


@dataclass(frozen=True)
class Statement:
    """What a place of the paper says in one line; `reason` if no claim checks it."""

    text: str
    reason: str = ""


@dataclass(frozen=True)
class Covered:
    """A numbered statement with the claims that check it; `key` names the entry of the list that it comes from."""

    place: str
    key: str
    statement: Statement
    claims: tuple[Claim, ...]


def places(text: str) -> tuple[str, ...]:
    """("Lemma C.2", "Lemma C.3", "Eq. 11") from "Lemmas C.2–C.3, Eq. (11)"."""
    found = []
    for kind, numbers in _PLACE.findall(text):
        for part in re.split(r", (?:and )?| and ", numbers.strip(" ,-–")):
            found += [f"{_KINDS[kind]} {number}" for number in _expanded(part)]
    return tuple(dict.fromkeys(found))


def _expanded(part: str) -> list[str]:
    """["D.1", "D.2", "D.3"] from "D.1–D.3"."""
    ends = [end.strip("()") for end in re.split(r"[-–]", part)]
    if len(ends) == 1:
        return [ends[0]] if ends[0] else []
    first, last = (re.fullmatch(r"(.*?)(\d+)", end) for end in ends)
    if not first or not last:
        raise ValueError(f"{part} is not a range of numbers")
    return [f"{first[1]}{n}" for n in range(int(first[2]), int(last[2]) + 1)]


def statements(system: System) -> Mapping[str, Statement]:
    """What a system's package lists of its paper; nothing if it has no `statements.py`."""
    is_listed = system.package and find_spec(f"{system.package}.statements")
    return import_module(f"{system.package}.statements").STATEMENTS if is_listed else {}


def coverage(system: System) -> list[Covered]:
    """Every numbered statement of the paper, in its order, with the claims that check it."""
    by_place: dict[str, list[Claim]] = {}
    for claim in system.claims:
        for place in places(claim.ref.place):
            by_place.setdefault(place, []).append(claim)
    return [
        Covered(place, key, statement, tuple(by_place.get(place, ())))
        for key, statement in statements(system).items()
        for place in places(key)
    ]


def shortened(found: Sequence[str]) -> str:
    """ "Lemma B.1–B.3, Lemma B.5" from the four places."""
    runs: list[tuple[str, int, int]] = []
    for place in found:
        stem, number = re.fullmatch(r"(.*?)(\d*)[a-z]?", place).groups()
        if runs and number and runs[-1][0] == stem and runs[-1][2] == int(number) - 1:
            runs[-1] = (stem, runs[-1][1], int(number))
        else:
            runs.append((stem, int(number or 0), int(number or 0)))
    return ", ".join(
        f"{stem}{first}" if first == last else f"{stem}{first}–{stem.split()[-1]}{last}" for stem, first, last in runs
    )


def summary(system: System, covered: Sequence[Covered]) -> str:
    """How much of the paper is checked, and what is not, with reasons."""
    checked = [c for c in covered if any(claim.measure for claim in c.claims)]
    measured = [claim for claim in system.claims if claim.measure]
    ours = [claim for claim in measured if "[ours]" in claim.ref.place]
    counted = f"{len(checked)} of {len(covered)} numbered statements are checked" if covered else (
        "none of its paper's statements are listed (statements.py); it is checked"
    )  # fmt: skip
    lines = [f"{system.name}: {counted}, by {len(measured)} claims ({len(ours)} of them not in the paper)"]
    lines += [f"  not testable here: {c.ref.place}: {c.statement} ({c.reason})" for c in system.claims if c.reason]
    left: dict[str, list[Covered]] = {}
    for c in covered:
        if not c.claims:
            left.setdefault(c.key, []).append(c)
    for key, group in left.items():
        named = key if len(group) == len(places(key)) else shortened([c.place for c in group])
        statement = group[0].statement
        lines.append(f"  not checked: {named}: {statement.text} ({statement.reason or 'no reason is given'})")
    return "\n".join(lines)
