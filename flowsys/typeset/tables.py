"""Small pieces of HTML and Markdown that values show themselves with in a notebook."""

from collections.abc import Iterable, Sequence
from typing import Any

_LEFT = "text-align:left;vertical-align:top"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are HTML already."""
    names = "".join(f"<th style='{_LEFT}'>{name}</th>" for name in head)
    lines = ["".join(f"<td style='{_LEFT}'>{cell}</td>" for cell in row) for row in rows]
    return f"<table><tr>{names}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def folded(summary: str, content: str) -> str:
    """What is shown when its summary is clicked."""
    return f"<details><summary>{summary}</summary>{content}</details>"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown."""
    line = lambda cells: "| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in cells) + " |"
    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])


def fold(summary: str, content: str) -> str:
    """The same in Markdown, whose text needs empty lines around it."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"
