"""Formulas as a line of plain text, for terminals and captions."""

import re

from flowsys.typeset.tree import Node, parsed

_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ABOVE = str.maketrans("0123456789⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ")
_MARKS = {"˙": ("\u0307", "dot"), "^": ("\u0302", "hat"), "¯": ("\u0304", "bar"), "~": ("\u0303", "tilde")}


def plain(words: str) -> str:
    """Words without LaTeX: what stands between dollars is a formula."""
    return "".join(formula(part) if i % 2 else part for i, part in enumerate(words.split("$")))


def formula(latex: str) -> str:
    """A formula in one line."""
    text = re.sub(r"\s+", " ", _text(parsed(latex))).strip()
    return re.sub(r"(^|[(\[=;,] ?)− ", r"\1−", re.sub(r" ([,;)\]])", r"\1", text))


def _text(node: Node) -> str:
    match node:
        case ("row", nodes):
            return _joined(nodes)
        case ("atom", ",", _):
            return ", "
        case ("atom", text, kind):
            return f" {text} " if kind == "operator" and text in "=≤≥≈≠∼←→∝+−<>" else text
        case ("frac", above, below):
            over = _text(above).strip()
            over = f"({over})" if re.search(r" [+−] ", over) or over.startswith("− ") else over
            under = _text(below).strip()
            return f"{over}/{under if below[0] != 'row' or len(under) <= 2 or under == 'dt' else f'({under})'}"
        case ("root", inside):
            return f"√({_text(inside).strip()})"
        case ("accent", mark, inside):
            text = _text(inside).strip()
            return (
                f"{text[0]}{_MARKS[mark][0]}{text[1:]}"
                if re.fullmatch(r"\w[\d₀-₉_⁽⁾⁰-⁹]*", text)
                else f"{_MARKS[mark][1]}({text})"
            )
        case ("style", _, inside):
            return _text(inside)
        case ("scripts", base, below, above):
            return _text(base).rstrip() + _script(below, "_", _BELOW) + _script(above, "^", _ABOVE)
        case ("fence", left, inside, right):
            return f"{left}{_text(inside).strip()}{right}"
        case ("matrix", rows, _):
            return "[" + "; ".join(", ".join(_text(cell).strip() for cell in row) for row in rows) + "]"
    raise ValueError(f"no such node: {node!r}")


def _joined(nodes: list[Node]) -> str:
    """Factors with a space between them where they would run together."""
    text = ""
    for node in nodes:
        following = _text(node)
        opens = node[0] == "fence" or following.startswith(("(", "[", ",", ")", "]", "⟩", "′", "|", "/"))
        apart = text and following and text[-1] not in " (⟨[|/∂" and following[0] != " " and not opens
        short = apart and len(following) == 1 and (len(text) == 1 or text[-2] == " " or text[-1].isdigit())
        text += (" " if apart and not short else "") + following
    return text


def _script(node: Node | None, mark: str, small: dict[int, int]) -> str:
    if node is None:
        return ""
    text = _text(node).replace(" ", "")
    if text and all(ord(letter) in small for letter in text):
        return text.translate(small)
    return text if text in ("′", "⋆") else f"{mark}{text}" if len(text) == 1 or text.isalnum() else f"{mark}{{{text}}}"
