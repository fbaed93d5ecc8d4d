r"""The LaTeX of formulas as a tree: the commands that symbols and sympy use, and no others.

A node is a tuple: ("row", nodes), ("atom", text, kind) with kind identifier, number, operator or text,
("frac", above, below), ("root", inside), ("scripts", base, below or None, above or None), ("accent", mark, inside),
("style", name, inside), ("fence", left, inside, right), ("matrix", rows, environment).
"""

import re
from typing import Any

from flowsys.errors import InputError

Node = tuple[Any, ...]

GREEK = dict(zip(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho "
    "sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split(),
    "α β γ δ ϵ ε ζ η θ ϑ ι κ λ μ ν ξ π ϖ ρ ϱ σ τ υ φ φ χ ψ ω Γ Δ Θ Λ Ξ Π Σ Υ Φ Ψ Ω".split(),
))  # fmt: skip
SIGNS = {
    "cdot": "·", "times": "×", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈", "sim": "∼",
    "leftarrow": "←", "to": "→", "rightarrow": "→", "infty": "∞", "partial": "∂", "sum": "∑", "star": "⋆",
    "prime": "′", "top": "⊤", "pm": "±", "in": "∈", "ldots": "…", "dots": "…", "cdots": "⋯", "ell": "ℓ", "mid": "|",
    "propto": "∝", "gg": "≫", "ll": "≪",
    "int": "∫", "langle": "⟨", "rangle": "⟩", "lbrace": "{", "rbrace": "}", "{": "{", "}": "}",
    "|": "‖", "dagger": "†", "lvert": "|", "rvert": "|", "%": "%", "#": "#", "_": "_", "&": "&",
}  # fmt: skip
OPERATORS = set("·×≤≥≫≪≠≈∼←→∂∑±∈∫∝⟨⟩|‖+-=<>/,;:()[]!*{}")
WORDS = (
    "log", "exp", "max", "min", "tanh", "sinh", "cosh", "sin", "cos", "asin", "arcsin", "erf", "sgn", "det", "tr", "Pr",
)  # fmt: skip
SPACES = {",": " ", ";": " ", "!": "", " ": " ", "quad": "  ", "qquad": "    ", ":": " "}
ACCENTS = {"dot": "˙", "hat": "^", "bar": "¯", "tilde": "~"}
STYLES = ("mathcal", "mathrm", "mathsf", "mathit", "mathbf", "text", "operatorname", "mathbb")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[a-zA-Z]|\d+(?:\.\d+)?|.", re.DOTALL)


def parsed(latex: str) -> Node:
    """The tree of a formula; what is not known is refused by its name."""
    reader = _Reader(_TOKEN.findall(latex))
    found = reader.row(None)
    if reader.tokens:
        raise InputError(f"LaTeX {latex!r} has {reader.tokens[-1]!r} without its beginning.")
    return found


class _Reader:
    def __init__(self, tokens: list[str]):
        self.tokens = tokens[::-1]

    def row(self, *ends: str | None) -> Node:
        """Nodes up to one of the ends, which is left there (None: the end of the text)."""
        nodes: list[Node] = []
        while self.tokens and self.tokens[-1] not in ends:
            if self.tokens[-1] in ("}", r"\right", r"\end"):
                break
            node = self.scripted(nodes)
            if node is not None:
                nodes.append(node)
        return nodes[0] if len(nodes) == 1 else ("row", nodes)

    def scripted(self, before: list[Node]) -> Node | None:
        """The next node with its indices."""
        token = self.tokens[-1]
        node = before.pop() if token in ("_", "^", "'") and before else ("row", []) if token in "_^'" else self.node()
        below: Node | None = None
        above: Node | None = None
        while self.tokens and self.tokens[-1] in ("_", "^", "'"):
            mark = self.tokens.pop()
            if mark == "'":
                prime = ("atom", "′", "operator")
                above = prime if above is None else ("row", [above, prime])
            elif mark == "_":
                below = self.group()
            else:
                above = self.group() if above is None else ("row", [above, self.group()])
        return node if below is above is None else ("scripts", node, below, above)

    def group(self) -> Node:
        """What stands in braces, or one token."""
        self.skip_spaces()
        if self.tokens and self.tokens[-1] == "{":
            self.tokens.pop()
            found = self.row("}")
            self.expect("}")
            return found
        return self.node() or ("row", [])

    def skip_spaces(self) -> None:
        while self.tokens and self.tokens[-1].isspace():
            self.tokens.pop()

    def expect(self, token: str) -> None:
        if not self.tokens or self.tokens.pop() != token:
            raise InputError(f"LaTeX lacks {token!r}.")

    def raw(self) -> str:
        """The text in braces as it stands."""
        self.expect("{")
        depth, text = 1, ""
        while self.tokens:
            token = self.tokens.pop()
            depth += (token == "{") - (token == "}")
            if not depth:
                return text
            text += token
        raise InputError("LaTeX lacks '}'.")

    def node(self) -> Node | None:
        token = self.tokens.pop()
        if token == "{":
            found = self.row("}")
            self.expect("}")
            return found
        if token.isspace():
            return None
        if not token.startswith("\\") or len(token) == 1:
            return _atom(token)
        return self.command(token[1:])

    def command(self, name: str) -> Node | None:
        if name in GREEK:
            return "atom", GREEK[name], "identifier"
        if name in SIGNS:
            return "atom", SIGNS[name], "operator" if SIGNS[name] in OPERATORS else "identifier"
        if name in WORDS:
            return "atom", name, "text"
        if name in SPACES:
            return "atom", SPACES[name], "space"
        if name in ("frac", "dfrac", "tfrac"):
            return "frac", self.group(), self.group()
        if name == "sqrt":
            return "root", self.group()
        if name in ACCENTS:
            return "accent", ACCENTS[name], self.group()
        if name in ("text", "mathrm", "operatorname", "mathsf") and self.tokens[-1] == "{":
            return "style", name, ("atom", _unescaped(self.raw()), "text")
        if name in STYLES:
            return "style", name, self.group()
        if name == "left":
            left = self._fence()
            inside = self.row(r"\right")
            self.expect(r"\right")
            return "fence", left, inside, self._fence()
        if name == "begin":
            return self.matrix(self.raw())
        raise InputError(f"LaTeX command \\{name} is not known here.")

    def _fence(self) -> str:
        token = self.tokens.pop()
        return "" if token == "." else SIGNS.get(token.removeprefix("\\"), token.removeprefix("\\"))

    def matrix(self, environment: str) -> Node:
        rows: list[list[Node]] = [[]]
        while True:
            rows[-1].append(self.row("&", r"\\"))
            token = self.tokens.pop() if self.tokens else ""
            if token == r"\\":
                rows.append([])
            elif token == r"\end":
                self.raw()
                return "matrix", [row for row in rows if row != [("row", [])]], environment
            elif token != "&":
                raise InputError(f"LaTeX environment {environment} is not closed.")


def _atom(token: str) -> Node:
    kind = "number" if token[0].isdigit() else "operator" if token in OPERATORS else "identifier"
    return "atom", "−" if token == "-" else token, kind


def _unescaped(text: str) -> str:
    return text.replace("\\ ", " ").replace("\\_", "_").replace("\\,", " ")
