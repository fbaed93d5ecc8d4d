"""Formulas as a line of plain text, for terminals and captions."""

import re

from flowsys.typeset.tree import Node, parsed

_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ABOVE = str.maketrans("0123456789⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ")
_MARKS = {"˙": ("\u0307", "dot"), "^": ("\u0302", "hat"), "¯": ("\u0304", "bar"), "~": ("\u0303", "tilde")}

_STEP = r"d\w"  # of a clock


def plain(words: str) -> str:
    """Words without LaTeX: what stands between dollars is a formula."""
    return "".join(formula(part) if i % 2 else part for i, part in enumerate(pieces(words)))


def pieces(words: str) -> list[str]:
    """Words and formulas in turn; a dollar without its other one is a dollar."""
    found = words.split("$")
    return found if len(found) % 2 else ["$".join(found)]


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
            return f" {text} " if kind == "operator" and text in "=≤≥≫≪≈≠∼←→∝+−<>" else text
        case ("frac", above, below):
            over, under = _text(above).strip(), _text(below).strip()
            over = f"({over})" if _is_sum(over) else over
            return f"{over}/{under if below[0] != 'row' or re.fullmatch(_STEP, under) else f'({under})'}"
        case ("root", inside):
            return f"√({_text(inside).strip()})"
        case ("accent", mark, inside):
            text = _text(inside).strip()
            return (
                f"{text[0]}{_MARKS[mark][0]}{text[1:]}"
                if re.fullmatch(r"\w[\d₀-₉_⁽⁾⁰-⁹]*", text)
                else f"{_MARKS[mark][1]}({text})"
            )
        case ("style", "mathcal", ("atom", "L", _)):
            return "ℒ"
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
    """Factors with a space between them where they would run together; a fraction before a factor in parentheses."""
    text = ""
    for place, node in enumerate(nodes):
        following = _text(node)
        if node[0] == "frac" and nodes[place + 1 :] and not _ends(nodes[place + 1]):
            following = f"({following})"
        opens = node[0] == "fence" or following.startswith(("(", "[", ",", ")", "]", "⟩", "′", "|", "/"))
        apart = text and following and text[-1] not in " (⟨[|/∂" and following[0] != " " and not opens
        short = apart and len(following) == 1 and (len(text) == 1 or text[-2] == " " or text[-1].isdecimal())
        text += (" " if apart and not short else "") + following
    return text


def _ends(node: Node) -> bool:
    """Whether no factor follows with this node."""
    return node[0] == "atom" and ((node[2] == "operator" and node[1] not in "(⟨[") or node[1].isspace())


def _is_sum(text: str) -> bool:
    """Whether a sign stands outside of parentheses."""
    depths = [text[:place].count("(") - text[:place].count(")") for place in range(len(text))]
    return text.startswith("− ") or any(
        text[i : i + 3] in (" + ", " − ") and not depth for i, depth in enumerate(depths)
    )


def _script(node: Node | None, mark: str, small: dict[int, int]) -> str:
    if node is None:
        return ""
    text = _text(node).replace(" ", "")
    if text and all(ord(letter) in small for letter in text):
        return text.translate(small)
    return text if text in ("′", "⋆") else f"{mark}{text}" if len(text) == 1 or text.isalnum() else f"{mark}{{{text}}}"
