r"""How the parts of a derivation look: a system's own symbols, and sans-serif letters for what the page names itself.

𝗉^(g)_j is the attention probability of key j in softmax g, 𝗁_k a mean over keys, 𝗓_k the argument of a kink, Λ_k a
log-sum-exp, 𝖿_k another function's value; a bar marks ∂L/∂ of a named part.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

import sympy as sp
from sympy.printing.latex import LatexPrinter

from flowsys.symbolic.primitives import AttentionMean, LogSumExp, Softmax
from flowsys.symbolic.written import Definition, Written

FUNCTIONS = {
    "Relu": (r"\sigma", r"\sigma(x) = \max(x, 0)", "ReLU"),
    "Step": (r"\dot{\sigma}", r"\dot{\sigma}(x) = 1 \text{ if } x > 0, \text{ else } 0", "its gate"),
    "Sigmoid": (r"\mathrm{sig}", r"\mathrm{sig}(x) = \frac{1}{1 + e^{-x}}", "slope of softplus"),
    "Softplus": (r"\mathrm{sp}", r"\mathrm{sp}(x) = \log(1 + e^{x})", "softplus"),
    "Magnitude": (r"\mathrm{abs}", r"\mathrm{abs}(x) = |x|", "magnitude"),
    "Positive": (r"\mathrm{pos}", r"\mathrm{pos}(x) = 1 \text{ if } x > 0, \text{ else } 0", "positive or not"),
    "PowerRelu": (
        r"\mathrm{s}",
        r"\mathrm{s}(x, \varrho, q) = 0, \; \frac{x^q}{q \varrho^{q-1}}, \; x - \varrho (1 - \frac{1}{q})",
        "smoothed ReLU: below 0, up to the width, above it",
    ),
    "PowerReluSlope": (
        r"\mathrm{s}'", r"\mathrm{s}'(x, \varrho, q) = \min(\max(x / \varrho, 0), 1)^{q-1}", "its slope",
    ),
    "Largest": (r"\max", r"\max(x, y)", "the largest"),
    "Smallest": (r"\min", r"\min(x, y)", "the smallest"),
}  # fmt: skip


_LARGEST_DENOMINATOR, _ROUNDING = 1000, Fraction(1, 10**13)


class _Printer(LatexPrinter):
    """LaTeX with the symbols of a page; opaque functions by their signs."""

    def _print_Function(self, expr, exp=None):
        name = type(expr).__name__
        if name not in FUNCTIONS:
            return super()._print_Function(expr, exp)
        inside = ", ".join(self._print(argument) for argument in expr.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"{FUNCTIONS[name][0]}{power}\left({inside}\right)"

    def _print_Float(self, expr):
        """A number that is a fraction but for rounding as that fraction: what is read of blocks is computed."""
        near = Fraction(float(expr)).limit_denominator(_LARGEST_DENOMINATOR)
        is_near = near != 0 and abs(near - Fraction(float(expr))) <= abs(near) * _ROUNDING
        return self._print(sp.Rational(near.numerator, near.denominator)) if is_near else super()._print_Float(expr)


class Notation:
    """The LaTeX of every symbol on a page; `spell` gives that of the system's names."""

    def __init__(self, written: Written, spell: Callable[[str], str]):
        self._spell = spell
        self._own: dict[sp.Symbol, str] = {}
        entries, state = written.statement.entries, written.statement.state
        shared = Counter(entries.values())
        for x, value in entries.items():
            name = str(x).removesuffix("_entry")
            if shared[value] == 1 and value in state:  # one name for what is the same
                self._own[x] = self._spell(str(value))
            elif name not in map(str, state):
                self._own[x] = self._spell(name)
        self.groups: dict[tuple, int] = {}
        counts = {"h": 0, "z": 0, "Λ": 0, "f": 0}
        for d in (*written.forward, *written.backward):
            self._name(d, counts)
        for link in written.links:
            if link.is_adjoint:
                self._own[link.symbol] = self._barred(str(link.symbol).removeprefix("spread_"))
        for x in written.terms:
            self._own[written.slope[x]] = rf"\partial_{{{self.of(x)}}}\mathcal{{L}}"
        for x in written.statement.state:
            self._own[sp.Symbol(f"total_gradient_{x}", real=True)] = rf"\partial_{{{self.of(x)}}}\mathcal{{L}}"

    def _name(self, d: Definition, counts: dict[str, int]) -> None:
        name, value = str(d.symbol), d.value
        if isinstance(value, Softmax):
            number = self.group(value.group)
            self._own[d.symbol] = rf"\mathsf{{p}}^{{({number})}}_{{{int(value.args[0]) + 1}}}"
        elif isinstance(value, AttentionMean):
            self.group(value.weight(0).group)
            counts["h"] += 1
            self._own[d.symbol] = rf"\mathsf{{h}}_{{{counts['h']}}}"
        elif isinstance(value, LogSumExp):
            counts["Λ"] += 1
            self._own[d.symbol] = rf"\Lambda_{{{counts['Λ']}}}"
        elif name.startswith("adjoint_mean_"):
            about = self.of(sp.Symbol(name.removeprefix("adjoint_mean_"), real=True))
            self._own[d.symbol] = (
                rf"\langle\bar{{\mathsf{{p}}}}\rangle^{{{about.partition('^{')[2].partition('}')[0]}}}"
            )
        elif name.startswith("adjoint_"):
            self._own[d.symbol] = self._barred(name.removeprefix("adjoint_"))
        elif name.startswith("slope_"):
            self._own[d.symbol] = rf"\partial_{{{self.of(sp.Symbol(name.removeprefix('slope_'), real=True))}}}\ell"
        elif "_kink_" in name or name.startswith("kink_"):
            counts["z"] += 1
            self._own[d.symbol] = rf"\mathsf{{z}}_{{{counts['z']}}}"
        elif type(value).__name__ in FUNCTIONS and name.endswith(tuple("0123456789")):
            counts["f"] += 1
            self._own[d.symbol] = rf"\mathsf{{f}}_{{{counts['f']}}}"

    def _barred(self, name: str) -> str:
        return rf"\bar{{{self.of(sp.Symbol(name, real=True))}}}"

    def group(self, group: tuple) -> int:
        """The number of a softmax."""
        return self.groups.setdefault(group, len(self.groups) + 1)

    def of(self, x: sp.Symbol) -> str:
        """The LaTeX of a symbol."""
        return self._own.get(x) or self._spell(str(x))

    def latex(self, expression: sp.Expr) -> str:
        """The LaTeX of an expression."""
        expression = sp.sympify(expression)
        names = {s: self.of(s) for s in expression.free_symbols}
        return _Printer({"symbol_names": names}).doprint(expression)


def functions_in(expressions: Iterable[sp.Expr]) -> list[str]:
    """The opaque functions that expressions use, by name."""
    used = {type(f).__name__ for e in expressions for f in sp.sympify(e).atoms(sp.Function)}
    return [name for name in FUNCTIONS if name in used]
