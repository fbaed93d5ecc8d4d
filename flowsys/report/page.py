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
from flowsys.claims.checking import check_systems, in_order, recorded
from flowsys.claims.errata import errata
from flowsys.claims.numbering import places
from flowsys.claims.statements import Covered, counted, coverage
from flowsys.claims.verdict import untested
from flowsys.equations.pages import inline
from flowsys.report import pictures
from flowsys.report.parts import Part, made, proofs
from flowsys.report.style import SCRIPT, STYLE
from flowsys.report.tables import Cell, table, text
from flowsys.system import System
from flowsys.system.names import in_symbols
from flowsys.version import VERSION

_CLASS = {
    Word.HOLDS: "holds", Word.IN_PART: "part", Word.FAILS: "fails", Word.OUTSIDE: "untested",
    Word.NOT_TESTABLE: "untested", Word.REPRODUCED: "holds", Word.NOT_REPRODUCED: "part",
}  # fmt: skip


def report(
    systems: Sequence[System],
    measure: bool = False,
    directory: Path | None = None,
    workers: int = 1,
    on_progress: Callable[[Part, int], None] | None = None,
) -> str:
    """The page as HTML: the verdicts on record, or with `measure` all of them measured now.

    Ladders, diagrams and figures are kept in `directory` and made again, by so many workers, when the code has changed.
    """
    pictured = made(systems, directory, workers, on_progress or (lambda part, done: None))
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
    return [Checked(claim, _read(claim, record.get(claim.id)), record.get(claim.id))
            for claim in in_order(system.claims)]  # fmt: skip


def _read(claim: Claim, found: Recorded | None) -> Verdict:
    if claim.measure is None:
        return untested(claim.reason)
    if found is None:
        return Verdict(Word.NOT_TESTABLE, "", "", "no verdict is on record")
    return Verdict(Word(found.verdict), found.predicted, found.measured, found.note)


def _overview(systems: Sequence[System], claims: dict[str, list[Checked]]) -> str:
    rows = []
    for system in systems:
        covered = coverage(system)
        checked = f"{sum(c.is_checked for c in covered)} of {len(covered)}"
        for whose in ("paper", "ours"):
            words = Counter(c.verdict.word for c in claims[system.name] if c.claim.whose == whose)
            name = Cell(f'<a href="#{system.name}">{escape(system.name)}</a>' if whose == "paper" else "")
            title = system.paper.title if whose == "paper" else "ours, not stated by the paper"
            counts = [text(str(words[word] or ""), _CLASS[word]) for word in Word]
            rows.append(("", [name, text(title), *counts, text(checked if whose == "paper" else "")]))
    return table(("system", "claims", *Word, "statements checked"), rows)


def _section(system: System, claims: Sequence[Checked], pictured: Mapping[Part, str]) -> str:
    parts = [f'<section id="{system.name}"><h2>{escape(system.name)}: {escape(system.summary)}</h2>']
    if system.paper.venue:
        parts.append(f"<p><cite>{escape(system.paper.title)}</cite> ({escape(system.paper.venue)})</p>")
    if system.ladder is not None:
        parts.append("<h3>Ladder</h3>" + pictured[Part(system.name, "ladder")])
    if proven := proofs(system):
        parts.append("<h3>Proven</h3>" + "".join(pictured[part] for part in proven))
    covered = coverage(system)
    parts.append(_claims(system, claims, {c.place: c for c in covered}) if claims else "<p>No claims.</p>")
    parts.append(_errata(system, claims))
    parts.append(_statements(system, claims, covered) if covered else "")
    parts.append(_fits(system, claims))
    for title, kind, names in (
        ("Phase diagrams", "diagram", system.diagrams),
        ("Figures of the paper", "figure", system.figures),
    ):
        if names:
            told = lambda name, kind=kind: _seen_in(system, claims, name) if kind == "figure" else ""
            shown = "".join(pictured[Part(system.name, kind, name)] + told(name) for name in names)
            parts.append(f'<h3>{title}</h3><div class="{kind}s">{shown}</div>')
    return "".join(parts) + "</section>"


def _seen_in(system: System, claims: Sequence[Checked], number: str) -> str:
    """What the paper says of a figure of its, and whether that is seen in ours."""
    said = [c for c in claims if c.claim.whose == "paper" and f"Fig. {number}" in places(c.claim.place)]
    return "".join(
        f'<p><a class="{_CLASS[c.verdict.word]}" href="#{system.name}-claim-{escape(c.claim.id)}">'
        f"{escape(c.verdict.word)}</a>: {inline(in_symbols(c.claim.statement, system.names))}</p>"
        for c in said
    )


def _claims(system: System, claims: Sequence[Checked], known: dict[str, Covered]) -> str:
    rows = []
    for c in claims:
        changed = f" (on record: {c.recorded.verdict})" if c.recorded and not c.is_as_recorded else ""
        found = c.verdict
        cells = [
            Cell(_linked(system, c.claim.place, known)), text(_source(c.claim)), text(c.claim.statement),
            text(found.predicted),
            text(found.measured), text(f"{found.word}{changed}", _CLASS[found.word]), text(found.note),
        ]  # fmt: skip
        rows.append((f"{system.name}-claim-{c.claim.id}", cells))
    head = ("place", "source", "claim", "predicted", "measured", "verdict", "note")
    measured = [c.claim for c in claims if c.claim.measure]
    return f"<h3>Claims</h3><p>{escape(counted(measured))}.</p>" + table(head, rows)


def _source(claim: Claim) -> str:
    return claim.what if claim.whose == "paper" else f"ours, sharpens {claim.sharpens}" if claim.sharpens else "ours"


def _errata(system: System, claims: Sequence[Checked]) -> str:
    """What is wrong as printed, with the measurements it rests on."""
    rows = []
    for found in errata(system, claims):
        claim, corrected = found.printed.claim, found.corrected
        if not found.is_confirmed or claim.erratum is None:
            continue
        measured = found.printed.verdict.measured
        after = f"{corrected.verdict.word}: {corrected.verdict.measured}" if corrected else ""
        cells = [claim.place, claim.erratum.printed, measured, claim.erratum.corrected, after, claim.erratum.grade]
        rows.append((f"{system.name}-erratum-{claim.id}", [text(cell) for cell in cells]))
    head = ("place", "as printed", "measured", "corrected", "the corrected form", "grade")
    return f'<h3 id="{system.name}-errata">Errata</h3>' + table(head, rows) if rows else ""


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
            for claim in (*c.claims, *c.ours)
        ]
        checked = Cell(", ".join(links)) if links else text(f"not checked: {c.statement.reason}", "untested")
        rows.append((_anchor(system, c.place), [text(c.place), text(c.statement.text), checked]))
    folded = table(("place", "the paper says", "checked by"), rows)
    return f"<details><summary>Statements of the paper ({len(covered)})</summary>{folded}</details>"


def _fits(system: System, claims: Sequence[Checked]) -> str:
    """The fits behind scaling claims that were measured now, with their residuals."""
    from flowsys.plot.residuals import residuals

    fitted = [c for c in claims if c.verdict.fits]
    if not fitted:
        return ""
    drawn = (
        pictures.figure(residuals(c.verdict, system.names), f"{c.claim.place}: {c.claim.statement}") for c in fitted
    )
    return f"<details><summary>Fits and residuals ({len(fitted)})</summary>{''.join(drawn)}</details>"


def _anchor(system: System, place: str) -> str:
    return f"{system.name}-{place.replace('. ', '-').replace(' ', '-')}"
