"""A page written down: readable text, LaTeX, Markdown, and HTML that fetches nothing."""

import re
from collections.abc import Callable, Mapping
from html import escape
from textwrap import fill

from flowsys.equations.page import Page, Section
from flowsys.typeset import formula as in_a_line
from flowsys.typeset import mathml, pieces, plain
from flowsys.typeset.tree import GREEK

_FOLD = 12  # rows of a kind that a terminal shows of a section
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2rem; border-bottom: 1px solid #ccc; }
.formula { overflow-x: auto; overflow-y: hidden; padding: .5rem 0; } math { font-size: 1.05em; }
table { border-collapse: collapse; } td { padding: .15rem .8rem .15rem 0; vertical-align: top; }
"""


def text(page: Page) -> str:
    """For a terminal: formulas on a line each, long lists folded."""
    lines = [page.title, "=" * len(page.title)]
    for section in page.sections:
        lines += ["", section.title, "-" * len(section.title)]
        lines += [fill(plain(t.replace(r"\_", "_")), 110) for t in section.texts]
        rows = [f"  {in_a_line(symbol):16} {plain(words)}" for symbol, words in section.symbols]
        lines += _folded(rows) + _folded([f"  {in_a_line(formula)}" for formula in section.formulas])
    return "\n".join(lines)


def _folded(rows: list[str]) -> list[str]:
    if len(rows) <= _FOLD + 2:
        return rows
    return [*rows[:_FOLD], f"  … and {len(rows) - _FOLD} more: --format latex, markdown or html has them all"]


def markdown(page: Page) -> str:
    """For notebooks and repositories that set LaTeX between dollars."""
    lines = [f"# {page.title}"]
    for section in page.sections:
        lines += ["", f"## {section.title}"]
        lines += [f"\n{_as_markdown(t)}" for t in section.texts]
        if section.symbols:
            lines += ["", "| symbol | meaning |", "|---|---|"]
            lines += [f"| ${symbol}$ | {_as_markdown(words)} |" for symbol, words in section.symbols]
        lines += [f"\n$${formula}$$" for formula in section.formulas]
    return "\n".join(lines)


def _as_markdown(words: str) -> str:
    """Words whose stars, bars and single dollars are no signs of Markdown."""
    words = words.replace("|", "∣").replace("*", r"\*")
    return words if words.count("$") % 2 == 0 else words.replace("$", r"\$")


def latex(page: Page) -> str:
    """A document that compiles by itself."""
    lines = [
        r"\documentclass{article}", r"\usepackage{amsmath,amssymb}", r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{longtable}", r"\allowdisplaybreaks", r"\begin{document}", rf"\section*{{{_escaped(page.title)}}}",
    ]  # fmt: skip
    for section in page.sections:
        lines.append(rf"\subsection*{{{_escaped(section.title)}}}")
        lines += [f"{_escaped(t)}\n" for t in section.texts]
        if section.symbols:
            lines.append(r"\begin{longtable}{lp{12cm}}")
            lines += [rf"${symbol}$ & {_escaped(words)} \\" for symbol, words in section.symbols]
            lines.append(r"\end{longtable}")
        lines += [rf"\[ {formula} \]" for formula in section.formulas]
    return "\n".join([*lines, r"\end{document}"])


_LETTERS = {
    "²": "^2", "√": r"\surd", "ᵀ": r"^\top", "∈": r"\in", "≥": r"\geq", "≤": r"\leq", "×": r"\times", "·": r"\cdot",
    "∫": r"\int", "∞": r"\infty", "±": r"\pm", "…": r"\dots", "−": "-", "⟨": r"\langle", "⟩": r"\rangle",
    "⊕": r"\oplus", "Ġ": r"\dot{G}", "Ṡ": r"\dot{S}", "→": r"\to", "½": r"\tfrac12", "∂": r"\partial", "ϱ": r"\varrho",
} | {letter: f"\\{name}" for name, letter in GREEK.items() if name not in ("varepsilon", "varphi")}  # fmt: skip


def _escaped(words: str) -> str:
    """Words for LaTeX; what stands between dollars stays."""
    parts = pieces(words.replace(r"\_", "_"))
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([_&%#^$])", r"\\\1", parts[i])
        parts[i] = "".join(f"${_LETTERS[c]}$" if c in _LETTERS else c for c in parts[i])
    return "$".join(parts)


def html(page: Page) -> str:
    """One page whose formulas browsers set by themselves."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(page.title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(page.title)}</h1>{sections(page)}</body></html>"
    )


def sections(page: Page) -> str:
    """The sections in HTML, to stand within another page."""
    return "".join(map(_html_section, page.sections))


def _html_section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>", *(f"<p>{inline(t)}</p>" for t in section.texts)]
    if section.symbols:
        rows = (f"<tr><td>{mathml(symbol)}</td><td>{inline(words)}</td></tr>" for symbol, words in section.symbols)
        parts.append(f"<table>{''.join(rows)}</table>")
    parts += [f'<div class="formula">{mathml(formula, display=True)}</div>' for formula in section.formulas]
    return "".join(parts)


def inline(words: str) -> str:
    """Text with formulas between dollars as HTML."""
    parts = pieces(words.replace(r"\_", "_"))
    return "".join(mathml(part) if i % 2 else escape(part) for i, part in enumerate(parts))


FORMATS: Mapping[str, Callable[[Page], str]] = {"text": text, "latex": latex, "markdown": markdown, "html": html}
