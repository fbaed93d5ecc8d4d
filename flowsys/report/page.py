"""The page: an overview, then each system with its statements, claims, ladder, diagrams and figures.

Claims are linked to the statements of the paper that they check, and back. Pictures are embedded, so that the file can
be sent as it is; nothing is fetched when it is opened.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path

from flowsys.claims import Checked, Claim, Recorded, Verdict, Word
from flowsys.claims.checking import check_systems, recorded
from flowsys.claims.statements import Covered, coverage, places
from flowsys.report import pictures
from flowsys.report.parts import Part, made
from flowsys.report.style import SCRIPT, STYLE
from flowsys.report.tables import Cell, table, text
from flowsys.system import System
from flowsys.version import VERSION

_CLASS = {Word.HOLDS: "holds", Word.IN_PART: "part", Word.FAILS: "fails", Word.NOT_TESTABLE: "untested"}


def report(
    systems: Sequence[System],
    measure: bool = False,
    directory: Path | None = None,
    workers: int = 1,
    on_progress: Callable[[Part], None] | None = None,
) -> str:
    """The page as HTML: the verdicts on record, or with `measure` all of them measured now.

    Ladders, diagrams and figures are kept in `directory` and made again, by so many workers, when the code has changed.
    """
    pictured = made(systems, directory, workers, on_progress or (lambda part: None))
    measured = partial(check_systems, everything=True, workers=workers, journal=directory)
    claims = measured(systems) if measure else {system.name: on_record(system) for system in systems}
    body = "".join(_section(system, claims[system.name], pictured) for system in systems)
    how = "measured for this page" if measure else "on record; <code>flowsys check</code> measures them again"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>flowsys report</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>flowsys report</h1><p>flowsys {VERSION}. Verdicts are {how}.</p>{_overview(systems, claims)}{body}"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def on_record(system: System) -> list[Checked]:
    """The claims of a system with the verdicts on record."""
    record = recorded(system)
    return [Checked(claim, _read(claim, record.get(claim.id)), record.get(claim.id), False) for claim in system.claims]


def _read(claim: Claim, found: Recorded | None) -> Verdict:
    if claim.measure is None:
        return claim.check()
    if found is None:
        return Verdict(Word.NOT_TESTABLE, "", "", "no verdict is on record")
    return Verdict(Word(found.verdict), found.predicted, found.measured, found.note)


def _overview(systems: Sequence[System], claims: dict[str, list[Checked]]) -> str:
    rows = []
    for system in systems:
        words = Counter(c.verdict.word for c in claims[system.name])
        covered = coverage(system)
        checked = sum(any(claim.measure for claim in c.claims) for c in covered)
        name = Cell(f'<a href="#{system.name}">{escape(system.name)}</a>')
        counts = [text(str(words[word]), _CLASS[word]) for word in Word]
        rows.append(("", [name, text(system.paper.title), *counts, text(f"{checked} of {len(covered)}")]))
    return table(("system", "paper", *Word, "statements checked"), rows)


def _section(system: System, claims: Sequence[Checked], pictured: Mapping[Part, str]) -> str:
    parts = [
        f'<section id="{system.name}"><h2>{escape(system.name)}: {escape(system.summary)}</h2>',
        f"<p><cite>{escape(system.paper.title)}</cite> ({escape(system.paper.venue)})</p>",
    ]
    if system.ladder is not None:
        parts.append("<h3>Ladder</h3>" + pictured[Part(system.name, "ladder")])
    covered = coverage(system)
    parts.append(_claims(system, claims, {c.place: c for c in covered}))
    parts.append(_statements(system, claims, covered))
    parts.append(_fits(claims))
    for title, kind, names in (
        ("Phase diagrams", "diagram", system.diagrams),
        ("Figures of the paper", "figure", system.figures),
    ):
        if names:
            shown = "".join(pictured[Part(system.name, kind, name)] for name in names)
            parts.append(f'<h3>{title}</h3><div class="{kind}s">{shown}</div>')
    return "".join(parts) + "</section>"


def _claims(system: System, claims: Sequence[Checked], known: dict[str, Covered]) -> str:
    rows = []
    for c in claims:
        changed = f" (on record: {c.recorded.verdict})" if c.recorded and not c.is_as_recorded else ""
        found = c.verdict
        cells = [
            Cell(_linked(system, c.claim.ref.place, known)), text(c.claim.statement), text(found.predicted),
            text(found.measured), text(f"{found.word}{changed}", _CLASS[found.word]), text(found.note),
        ]  # fmt: skip
        rows.append((f"{system.name}-claim-{c.claim.id}", cells))
    return "<h3>Claims</h3>" + table(("place", "claim", "predicted", "measured", "verdict", "note"), rows)


def _linked(system: System, place: str, known: dict[str, Covered]) -> str:
    """A claim's place with links to the statements it names; where the links say all, the place is not repeated."""
    links = ", ".join(f'<a href="#{_anchor(system, p)}">{escape(p)}</a>' for p in places(place) if p in known)
    plain = place.removesuffix(" [ours]").replace("(", "").replace(")", "")
    if plain == ", ".join(places(place)) and links:
        return links + (" [ours]" if place.endswith(" [ours]") else "")
    return escape(place) + (f"<br>{links}" if links else "")


def _statements(system: System, claims: Sequence[Checked], covered: Sequence[Covered]) -> str:
    """Every numbered statement, with links to the claims that check it."""
    word = {c.claim.id: c.verdict.word for c in claims}
    rows = []
    for c in covered:
        links = [
            f'<a class="{_CLASS[word[claim.id]]}" href="#{system.name}-claim-{escape(claim.id)}">{escape(claim.id)}</a>'
            for claim in c.claims
        ]
        checked = Cell(", ".join(links)) if links else text(f"not checked: {c.statement.reason}", "untested")
        rows.append((_anchor(system, c.place), [text(c.place), text(c.statement.text), checked]))
    folded = table(("place", "the paper says", "checked by"), rows)
    return f"<details><summary>Statements of the paper ({len(covered)})</summary>{folded}</details>"


def _fits(claims: Sequence[Checked]) -> str:
    """The fits behind scaling claims that were measured now, with their residuals."""
    from flowsys.plot.residuals import residuals

    fitted = [c for c in claims if c.verdict.fits]
    if not fitted:
        return ""
    drawn = (pictures.figure(residuals(c.verdict), f"{c.claim.ref.place}: {c.claim.statement}") for c in fitted)
    return f"<details><summary>Fits and residuals ({len(fitted)})</summary>{''.join(drawn)}</details>"


def _anchor(system: System, place: str) -> str:
    return f"{system.name}-{place.replace('. ', '-').replace(' ', '-')}"
