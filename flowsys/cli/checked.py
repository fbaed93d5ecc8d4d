"""How `flowsys check` shows what it found: tables, Markdown, HTML, JSON; regimes, errata and maps."""

import io
import json
import sys
from collections import Counter
from collections.abc import Sequence

FORMATS = ("table", "json", "markdown", "html")
HEAD = ("id", "place", "source", "claim", "predicted", "measured", "verdict", "note")


def text_of(name: str, checked, conditions, format: str) -> str:
    """A system's checked claims."""
    if format == "json":
        content = {"system": name, "conditions": conditions.as_dict(), "claims": [c.as_dict() for c in checked]}
        return json.dumps(content, indent=2, ensure_ascii=False, default=str)
    if not checked and format == "table":
        return f"{name}: no claims were measured"
    title = name if conditions.is_default else f"{name}, {conditions} (elsewhere than on record)"
    rows = [_row(c, conditions.is_default) for c in checked]
    theorems = [f"{c.claim.id}: {' '.join(c.proof.theorem)}" for c in checked if c.proof]
    if format == "table":
        return "\n".join([formatted(title, HEAD, rows, format, counts(checked)), *theorems])
    return formatted(title, HEAD, rows, format, "\n".join([counts(checked), *theorems]))


def counts(checked) -> str:
    """Verdicts counted apart: the paper's claims and ours."""
    said = []
    for whose, name in (("paper", "of the paper"), ("ours", "ours")):
        words = Counter(str(c.verdict.word) for c in checked if c.claim.whose == whose)
        if words:
            said.append(f"{name}: " + ", ".join(f"{n} {word}" for word, n in words.items()))
    return "; ".join(said)


def _row(checked, is_compared: bool) -> tuple[str, ...]:
    claim, found = checked.claim, checked.verdict
    word = str(found.word)
    if is_compared and not checked.is_as_recorded:
        word += f" (on record: {checked.recorded.verdict if checked.recorded else 'nothing'})"
    if checked.proof:
        word += f"; {checked.proof.said}"
    source = claim.what if claim.whose == "paper" else "ours" + (f", under {claim.sharpens}" if claim.sharpens else "")
    id = f"↳ {claim.id}" if claim.sharpens else claim.id
    return id, claim.place, source, claim.statement, found.predicted, found.measured, word, found.note


def errata_text(found: Sequence, format: str) -> str:
    """What is wrong as printed, and its corrected form."""
    if format == "json":
        return json.dumps([erratum.as_dict() for erratum in found], indent=2, ensure_ascii=False, default=str)
    head = ("system", "id", "place", "printed", "measured", "corrected", "its word", "grade")
    rows = []
    for erratum in found:
        d = erratum.as_dict()
        grade = d["grade"] if d["confirmed"] else "not confirmed: the printed form holds"
        corrected = d["corrected_word"] or ""
        measured = f"{d['word']}: {d['measured']}"
        rows.append((d["system"], d["id"], d["place"], d["printed"], measured, d["corrected"], corrected, grade))
    return formatted("errata", head, rows, format) if rows else "no errata"


def regimes_text(systems: Sequence, ids: Sequence[str] | None) -> str:
    """Of every claim with a regime in numbers: its conditions, where the default set-up lies, the share inside."""
    lines = []
    for system in systems:
        for claim in system.claims:
            if not claim.regime or (ids and not any(claim.answers_to(id, by_section=True) for id in ids)):
                continue
            margins = claim.regime.margins(dict(system.setup(claim.mode)))
            share = claim.regime.share(system, claim.mode)
            said = "; ".join(f"{text}: margin {margin:.4g}" for text, margin in margins.items())
            side = "inside" if min(margins.values()) >= 1 else "outside"
            lines.append(f"{system.name} {claim.id}: {claim.regime}; the default set-up is {side} ({said}); "
                         f"{100 * share:.3g} % of the allowed box is inside")  # fmt: skip
    return "\n".join(lines) or "no claim here states a regime in numbers"


def formatted(title: str, head: Sequence[str], rows, format: str, foot: str = "") -> str:
    return {"markdown": _markdown, "html": _html, "table": _table}[format](title, head, rows, foot)


def _markdown(title: str, head, rows, foot: str) -> str:
    clean = lambda x: x.replace("|", "\\|").replace("\n", " ")
    lines = [f"## {title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(clean, row)) + " |" for row in rows]
    return "\n".join([*lines, *(["", foot] if foot else [])]) + "\n"


def _html(title: str, head, rows, foot: str) -> str:
    from html import escape

    body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows)
    below = f"<p>{escape(foot)}</p>" if foot else ""
    return f"<h2>{escape(title)}</h2><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{body}</table>{below}"


def _table(title: str, head, rows, foot: str) -> str:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*head, title=escape(title), caption=escape(foot) if foot else None)
    for row in rows:
        table.add_row(*map(escape, row))
    text = io.StringIO()
    console = Console(file=text, width=None if sys.stdout.isatty() else 220)
    console.print(table)
    return text.getvalue().rstrip("\n")
