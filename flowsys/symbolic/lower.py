"""From named sympy definitions to the lines of a program: stable softmax, shared subexpressions, readable order.

A softmax with multiplicities is written once for its whole group of entries, with the largest *present* score
subtracted, so that it is finite at any scores:

    top = max(s_i where n_i > 0),   e_i = n_i exp(min(s_i - top, 0)),   p_i = e_i / Σ_j e_j.
"""

from collections.abc import Collection, Mapping

import sympy as sp
from sympy.printing.str import StrPrinter
from sympy.simplify import cse_opts

from flowsys.program import FUNCTIONS, Line
from flowsys.symbolic.primitives import AttentionMean, LogSumExp, Magnitude, PowerRelu, PowerReluSlope, Softmax

_max, _min, _masked = (sp.Function(name) for name in ("max", "min", "masked"))
_SUBTRACTIONS = [(cse_opts.sub_pre, cse_opts.sub_post)]
_PROGRAM_NAME = {
    "Relu": "relu",
    "Step": "step",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Positive": "positive",
    "Largest": "max",
    "Smallest": "min",
}


class ProgramPrinter(StrPrinter):
    """Sympy expressions in the syntax of a program; refuses functions a program does not have."""

    def _print_Function(self, expr):
        name = type(expr).__name__
        name = _PROGRAM_NAME.get(name, name)
        if name not in FUNCTIONS:
            raise ValueError(f"the function {name} has no counterpart in a program")
        return f"{name}({self.stringify(expr.args, ', ')})"

    def _print_Float(self, expr):
        return repr(float(expr))

    def _print_NumberSymbol(self, expr):
        return repr(float(expr))

    _print_Pi = _print_Exp1 = _print_GoldenRatio = _print_EulerGamma = _print_Catalan = _print_NumberSymbol


def program_text(expression: sp.Expr) -> str:
    return ProgramPrinter().doprint(expression)


class Lowering:
    """Turns the definitions of one table (or of the scalars) into lines, remembering what it has written."""

    def __init__(self, table: str = "", taken: Collection[str] = ()):
        self._prefix, self._taken = f"{table}_" if table else "", frozenset(taken)
        self._groups: dict[tuple, tuple[tuple[sp.Symbol, ...], sp.Expr]] = {}
        self._alias: dict[sp.Symbol, sp.Expr] = {}
        self._shared = 0

    def lines(
        self, definitions: Mapping[sp.Symbol, sp.Expr], outputs: Mapping[sp.Symbol, sp.Expr] | None = None
    ) -> list[Line]:
        """Lines that compute definitions and outputs (in an order that works), sharing subexpressions among them.

        A definition may end up under another name (a softmax weight, a bare symbol); an output keeps its own.
        """
        flat: dict[sp.Symbol, sp.Expr] = {}
        for symbol, value in definitions.items():
            self._flatten(symbol, sp.sympify(value).xreplace(self._alias), flat)
        flat |= outputs or {}
        flat = {symbol: sp.sympify(value).xreplace(self._alias) for symbol, value in flat.items()}
        names = (f"{self._prefix}x{i}" for i in range(self._shared, 10**9))
        fresh = (sp.Symbol(name, real=True) for name in names if name not in self._taken)
        shared, values = sp.cse(
            list(flat.values()), symbols=fresh, optimizations=_SUBTRACTIONS, order="none", list=False
        )
        self._shared = max([self._shared, *(1 + int(str(s).removeprefix(f"{self._prefix}x")) for s, _ in shared)])
        return [Line(str(s), program_text(v)) for s, v in _in_order(dict(shared), dict(zip(flat, values)))]

    def _flatten(self, symbol: sp.Symbol, value: sp.Expr, flat: dict[sp.Symbol, sp.Expr]) -> None:
        if isinstance(value, Softmax):
            weights, _ = self._group(value.group, flat)
            self._alias[symbol] = weights[int(value.args[0])]
        elif isinstance(value, AttentionMean):
            weights, _ = self._group(value.weight(0).group, flat)
            flat[symbol] = sp.Add(*[p * v for p, v in zip(weights, value.args)])
        elif isinstance(value, LogSumExp):
            _, log_total = self._group((value.args[: value.size], value.args[value.size :]), flat)
            flat[symbol] = log_total
        elif isinstance(value, Magnitude):
            flat[symbol] = _max(value.args[0], -value.args[0])
        elif isinstance(value, (PowerRelu, PowerReluSlope)):
            x, width, power = value.args
            inside = _min(_max(x / width, 0), 1)
            is_slope = isinstance(value, PowerReluSlope)
            flat[symbol] = inside ** (power - 1) if is_slope else width / power * inside**power + _max(x - width, 0)
        elif value.is_Symbol:
            self._alias[symbol] = value
        else:
            flat[symbol] = value

    def _group(self, group: tuple, flat: dict[sp.Symbol, sp.Expr]) -> tuple[tuple[sp.Symbol, ...], sp.Expr]:
        """The softmax weights of a group and its log Σ n e^s, written on first use."""
        if group in self._groups:
            return self._groups[group]
        scores, counts = group
        label = f"{self._prefix}softmax{len(self._groups)}"
        top, total = (sp.Symbol(f"{label}_{part}", real=True) for part in ("top", "total"))
        flat[top] = _max(*[s if n == 1 else _masked(s, n) for s, n in zip(scores, counts)])
        exponentials, weights = [], []
        for i, (s, n) in enumerate(zip(scores, counts)):
            e, p = (sp.Symbol(f"{label}_{part}{i}", real=True) for part in ("e", "p"))
            flat[e] = sp.exp(s - top) if n == 1 else n * sp.exp(_min(s - top, 0))
            exponentials.append(e)
            weights.append(p)
        flat[total] = sp.Add(*exponentials)
        for e, p in zip(exponentials, weights):
            flat[p] = e / total
        self._groups[group] = (tuple(weights), top + sp.log(total))
        return self._groups[group]


def _in_order(shared: dict[sp.Symbol, sp.Expr], wanted: dict[sp.Symbol, sp.Expr]) -> list[tuple[sp.Symbol, sp.Expr]]:
    """All definitions so that each comes after what it reads, shared ones as late as possible."""
    everything = shared | wanted
    done: dict[sp.Symbol, sp.Expr] = {}

    def visit(symbol: sp.Symbol) -> None:
        if symbol in done or symbol not in everything:
            return
        for read in sorted(everything[symbol].free_symbols, key=str):
            visit(read)
        done[symbol] = everything[symbol]

    for symbol in wanted:
        visit(symbol)
    return list(done.items())
