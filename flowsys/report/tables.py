"""Tables that fold: every cell knows its column, so that on a narrow screen a row becomes a card."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple


class Cell(NamedTuple):
    """Ready HTML with a class for its colour."""

    html: str
    css: str = ""


def text(content: str, css: str = "") -> Cell:
    return Cell(escape(content), css)


def table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]]) -> str:
    """An HTML table from column names and (anchor, cells); an empty anchor gives a row none."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{top}</tr>{''.join(_row(head, anchor, cells) for anchor, cells in rows)}</table>"


def _row(head: Sequence[str], anchor: str, cells: Sequence[Cell]) -> str:
    inside = "".join(
        f'<td data-label="{escape(name)}" class="{cell.css}">{cell.html}</td>'
        for name, cell in zip(head, cells, strict=True)
    )
    return f'<tr id="{escape(anchor)}">{inside}</tr>' if anchor else f"<tr>{inside}</tr>"
