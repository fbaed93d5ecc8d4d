"""Reverse-mode differentiation of sympy expressions whose opaque calls have names.

`record` walks an expression from the inside out and gives every opaque call (softmax average, ReLU, softplus, a
`Named` part) a symbol of its own: a tape. `gradient` then runs the chain rule backwards over the tape, so each local
derivative is taken of a small expression and nothing is ever expanded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy as sp

from flowsys.symbolic.primitives import OPAQUE, Named, Relu, Step


@dataclass
class Tape:
    """Definitions in order; each may use the symbols of those before it."""

    prefix: str
    definitions: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    symbol_of: dict[sp.Expr, sp.Symbol] = field(default_factory=dict)

    def record(self, expression: sp.Expr) -> sp.Expr:
        """The expression with every opaque call replaced by its tape symbol."""
        expression = sp.sympify(expression)
        if expression in self.symbol_of:
            return self.symbol_of[expression]
        if not expression.args:
            return expression
        if isinstance(expression, Named):
            inner = self.record(expression.args[1])
            return self._define(expression, inner, preferred=str(expression.args[0]))
        rebuilt = expression.func(*[self.record(a) for a in expression.args])
        if isinstance(rebuilt, (Relu, Step)) and not rebuilt.args[0].is_Symbol:
            rebuilt = rebuilt.func(self._define(rebuilt.args[0], rebuilt.args[0], kind="kink"))
        if isinstance(rebuilt, OPAQUE):
            return self._define(expression, rebuilt, kind=type(rebuilt).__name__.lower())
        return rebuilt

    def _define(self, original: sp.Expr, value: sp.Expr, kind: str = "", preferred: str = "") -> sp.Symbol:
        if value in self.symbol_of:
            self.symbol_of[original] = self.symbol_of[value]
            return self.symbol_of[value]
        symbol = sp.Symbol(preferred or f"{self.prefix}{kind}_{len(self.definitions)}", real=True)
        if symbol in self.definitions:
            raise ValueError(f"two different expressions are named {symbol}")
        self.definitions[symbol] = value
        self.symbol_of[original] = self.symbol_of[value] = symbol
        return symbol

    def gradient(self, seeds: dict[sp.Expr, sp.Expr], wanted: Iterable[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
        """Σ_k seed_k ∂value_k/∂x for each wanted x, as expressions on the tape's symbols.

        `seeds` maps recorded values to their adjoints. Adjoints of tape symbols become definitions of their own.
        """
        wanted = list(wanted)
        adjoint: dict[sp.Symbol, list[sp.Expr]] = {}

        def push(value: sp.Expr, seed: sp.Expr) -> None:
            for x in sorted(value.free_symbols, key=str):
                if (x in self.definitions or x in wanted) and (local := self.record(value.diff(x))) != 0:
                    adjoint.setdefault(x, []).append(seed * local)

        for value, seed in seeds.items():
            push(value, sp.sympify(seed))
        for symbol in reversed(list(self.definitions)):
            if symbol not in adjoint:
                continue
            value = self.definitions[symbol]
            if isinstance(value, Step):
                continue
            total = sp.Add(*adjoint[symbol])
            name = sp.Symbol(f"adjoint_{symbol}", real=True)
            self.definitions[name] = total
            push(value, name)
        return {x: sp.Add(*adjoint.get(x, [])) for x in wanted}
