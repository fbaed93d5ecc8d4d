"""Faults of one line: a sign, < for ≤, off by one, a line dropped, a constant × 1.01."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWAPPED = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True)
class Fault:
    """A line of a file as it stands and as it is made."""

    path: str
    line: int
    kind: str
    was: str
    becomes: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.was.strip()}  ->  {self.becomes.strip()}"


def faults(path: str) -> Iterator[Fault]:
    """All faults of a file that leave it a program."""
    text = (ROOT / "flowsys" / path).read_text()
    lines = text.splitlines()
    for line, kind, becomes in [*_of_tokens(text, lines), *_dropped(text, lines)]:
        changed = [*lines]
        changed[line - 1] = becomes
        try:
            ast.parse("\n".join(changed))
        except SyntaxError:
            continue
        yield Fault(path, line, kind, lines[line - 1], becomes)


def _of_tokens(text: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (row, start), (_, end) = token.start, token.end
        put = lambda new, row=row, start=start, end=end: lines[row - 1][:start] + new + lines[row - 1][end:]
        if token.type == tokenize.OP and token.string in SWAPPED:
            yield row, "sign" if token.string in "+-" else "comparison", put(SWAPPED[token.string])
        if token.type == tokenize.NUMBER and token.string.isdigit():
            yield row, "off by one", put(str(int(token.string) + 1))
        elif token.type == tokenize.NUMBER and not token.string.endswith("j") and float(token.string) != 0:
            yield row, "constant", put(f"({token.string} * 1.01)")


def _dropped(text: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)
            and node.lineno == node.end_lineno
            and node.col_offset
        ):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            line = lines[node.lineno - 1]
            yield node.lineno, "dropped", line[: len(line) - len(line.lstrip())] + "pass"


def statement(path: str, line: int) -> range:
    """The lines of the statement that a line belongs to; of one with a body, those before it."""
    spans = []
    for node in ast.walk(ast.parse((ROOT / "flowsys" / path).read_text())):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            spans.append(range(first, body[0].lineno if body else node.end_lineno + 1))
    return min((span for span in spans if line in span), key=len, default=range(line, line + 1))
