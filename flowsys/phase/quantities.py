"""What a sweep measures at every point.

T_2             the time of an event
T_2-T_1         the time between two
T_1:T_2         their ratio (a slash would be a path in the file)
w_c@T_2         an observable at an event
loss@t=300      an observable at a time
"""

from collections.abc import Mapping
from dataclasses import dataclass

from flowsys.errors import InputError


@dataclass(frozen=True)
class Term:
    """A time (`observable` is empty) or an observable, at an event or a time."""

    observable: str
    at: str | float

    def __str__(self) -> str:
        where = self.at if isinstance(self.at, str) else f"t={self.at:g}"
        return f"{self.observable}@{where}" if self.observable else str(where)


@dataclass(frozen=True)
class Quantity:
    """A term, or the difference or the ratio of two."""

    name: str
    first: Term
    minus: Term | None = None
    over: Term | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(term for term in (self.first, self.minus, self.over) if term is not None)

    def value(self, of: Mapping[Term, float]) -> float:
        if self.over is not None:
            return of[self.first] / of[self.over]
        return of[self.first] if self.minus is None else of[self.first] - of[self.minus]


def parse_quantity(text: str, events: tuple[str, ...]) -> Quantity:
    """The quantity a text describes, given the events there are."""
    text = text.strip()
    if ":" in text:
        left, right = text.split(":", 1)
        return Quantity(text, _term(left, events), over=_term(right, events))
    if "-" in text and text not in events:
        left, right = text.split("-", 1)
        if left.strip() in events or "@" in left:
            return Quantity(text, _term(left, events), _term(right, events))
    return Quantity(text, _term(text, events))


def _term(text: str, events: tuple[str, ...]) -> Term:
    observable, separator, at = text.strip().partition("@")
    if not separator:
        if observable in events:
            return Term("", observable)
        raise InputError(
            f"observable {text.strip()} needs a place: write {text.strip()}@EVENT or {text.strip()}@t=NUMBER "
            f"(events here: {', '.join(events) or 'none'})."
        )
    if at.startswith("t="):
        try:
            return Term(observable, float(at[2:]))
        except ValueError:
            raise InputError(f"observable {text} is not understood: after t= there must be a number.") from None
    if at not in events:
        raise InputError(f"observable {text}: {at} is not an event here; there are {', '.join(events) or 'none'}.")
    return Term(observable, at)
