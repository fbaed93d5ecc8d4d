"""Checked claims as a list that shows itself: a line each, words in colour, and what one asks of it."""

from collections import Counter
from html import escape
from typing import Any

from flowsys.claims.record import Checked
from flowsys.claims.verdict import Word
from flowsys.typeset.tables import html_table

COLOURS = {
    Word.HOLDS: "#1b7a37",
    Word.REPRODUCED: "#1b7a37",
    Word.IN_PART: "#a36a00",
    Word.FAILS: "#b3261e",
    Word.NOT_REPRODUCED: "#b3261e",
    Word.OUTSIDE: "#666666",
    Word.NOT_TESTABLE: "#666666",
}
_ROOM = 110  # letters of what was measured, in a line


class Verdicts(list[Checked]):
    """Checked claims, in the order of the paper. `where` filters them; a notebook shows a table with coloured words."""

    def where(self, word: str | None = None, whose: str | None = None, kind: str | None = None) -> "Verdicts":
        """Those with this word (`holds`, `does not hold`, …), of the `paper` or `ours`, of this kind."""
        asked = (word, whose, kind)
        told = lambda c: (str(c.verdict.word), c.claim.whose, getattr(c.claim.kind, "name", None))
        return Verdicts(c for c in self if all(a in (None, b) for a, b in zip(asked, told(c))))

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have which word."""
        return dict(Counter(str(checked.verdict.word) for checked in self))

    def to_pandas(self) -> Any:
        """A table with a row a claim."""
        import pandas as pd

        return pd.DataFrame([checked.as_dict() for checked in self])

    def __repr__(self) -> str:
        lines = [
            f"{c.claim.id:<24} {c.verdict.word!s:<20} {_short(c.verdict.measured or c.verdict.note)}" for c in self
        ]
        return "\n".join([f"<{len(self)} claims: {self._summary()}>", *lines])

    def _summary(self) -> str:
        return ", ".join(f"{n} {word}" for word, n in self.counts.items()) or "none"

    def _repr_html_(self) -> str:
        table = html_table(("claim", "place", "statement", "verdict", "measured"), map(_row, self))
        return f"<p>{len(self)} claims: {escape(self._summary())}</p>{table}"


def _row(checked: Checked) -> tuple[str, ...]:
    claim, verdict = checked.claim, checked.verdict
    word = f"<b style='color:{COLOURS[verdict.word]}'>{verdict.word}</b>"
    note = f"<br><small>{escape(verdict.note)}</small>" if verdict.note else ""
    return escape(claim.id), escape(claim.place), escape(claim.statement), word, escape(verdict.measured) + note


def _short(text: str) -> str:
    return text if len(text) <= _ROOM else text[: _ROOM - 1].rstrip() + "…"
