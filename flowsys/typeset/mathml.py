"""Formulas as MathML, which browsers set by themselves."""

import re
from html import escape

from flowsys.typeset.tree import Node, parsed

_VARIANT = {"mathcal": "script", "mathsf": "sans-serif", "mathbf": "bold", "mathbb": "double-struck"}
_SCRIPT = {"L": "ℒ", "O": "𝒪", "D": "𝒟"}
_FENCES = {"bmatrix": "[]", "pmatrix": "()", "matrix": ("", ""), "cases": ("{", ""), "aligned": ("", "")}


def mathml(latex: str, display: bool = False) -> str:
    """A formula in a `math` element."""
    block = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{block}>{_element(parsed(latex))}</math>'


def _element(node: Node) -> str:
    match node:
        case ("row", nodes):
            return f"<mrow>{''.join(map(_element, nodes))}</mrow>"
        case ("atom", text, kind):
            return _atom(text, kind)
        case ("frac", above, below):
            return f"<mfrac>{_element(above)}{_element(below)}</mfrac>"
        case ("root", inside):
            return f"<msqrt>{_element(inside)}</msqrt>"
        case ("accent", mark, inside):
            return f'<mover accent="true">{_element(inside)}<mo>{mark}</mo></mover>'
        case ("style", "mathcal", ("atom", text, _)):
            return f"<mi>{_SCRIPT.get(text, escape(text))}</mi>"
        case ("style", name, inside) if name in _VARIANT:
            return f'<mstyle mathvariant="{_VARIANT[name]}">{_element(inside)}</mstyle>'
        case ("style", _, inside):
            return _element(inside)
        case ("scripts", base, below, above):
            return _scripts(base, below, above)
        case ("fence", left, inside, right):
            return f"<mrow>{_fence(left)}{_element(inside)}{_fence(right)}</mrow>"
        case ("matrix", rows, environment):
            cells = "".join(f"<mtr>{''.join(f'<mtd>{_element(c)}</mtd>' for c in row)}</mtr>" for row in rows)
            left, right = _FENCES.get(environment, ("", ""))
            return f"<mrow>{_fence(left)}<mtable>{cells}</mtable>{_fence(right)}</mrow>"
    raise ValueError(f"no such node: {node!r}")


def _atom(text: str, kind: str) -> str:
    if kind == "space":
        return f'<mspace width="{0.17 * len(text) + 0.05:.2f}em"/>' if text else ""
    text = re.sub(r"^ | $", "\u00a0", text)
    tag = {"identifier": "mi", "number": "mn", "operator": "mo", "text": "mi"}[kind]
    upright = ' mathvariant="normal"' if kind == "text" and len(text) == 1 else ""
    return f"<{tag}{upright}>{escape(text)}</{tag}>"


def _fence(sign: str) -> str:
    return f'<mo fence="true">{escape(sign)}</mo>' if sign else ""


def _scripts(base: Node, below: Node | None, above: Node | None) -> str:
    is_sum = base[:2] in (("atom", "∑"), ("atom", "max"), ("atom", "min"))
    there = [script for script in (below, above) if script is not None]
    if len(there) == 2:
        tag = "munderover" if is_sum else "msubsup"
    else:
        tag = "msup" if below is None else "munder" if is_sum else "msub"
    return f"<{tag}>{''.join(map(_element, [base, *there]))}</{tag}>"
