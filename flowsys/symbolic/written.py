"""A stated system written for readers: what the program computes, in the same steps, with every part named.

Attention probabilities, their means, gates and slopes keep names of their own; functions of one argument stand where
they are used. The steps are those of `assemble`, so that the page says what the program does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from flowsys.symbolic.assemble import LevelWriter, Statement, symbol
from flowsys.symbolic.flow import chain_rule
from flowsys.symbolic.primitives import OPAQUE, AttentionMean, LogSumExp, Named, Softmax
from flowsys.symbolic.reverse import Tape

_KEPT = (Softmax, AttentionMean, LogSumExp, Named)


@dataclass(frozen=True)
class Definition:
    """A named part; `over` is the table whose rows it is computed for, empty for what is computed once."""

    symbol: sp.Symbol
    value: sp.Expr
    over: str = ""


@dataclass(frozen=True)
class Linked:
    """A sum over the rows of one table for each row of another: `symbol` = Σ C · `of`, or with Cᵀ for an adjoint."""

    symbol: sp.Symbol
    of: sp.Symbol
    child: str
    parent: str
    is_adjoint: bool


class Written:
    """The definitions a statement's loss and slopes are made of."""

    def __init__(self, statement: Statement):
        self.statement = statement
        self.forward: list[Definition] = []
        self.backward: list[Definition] = []
        self.links: list[Linked] = []
        self.loss: list[tuple[str, sp.Expr]] = []
        self.terms: dict[sp.Symbol, list[tuple[str, sp.Expr]]] = {x: [] for x in statement.differentiable}
        if statement.levels:
            self._through_levels()
        else:
            self._once()
            for part in statement.parts:
                writer = LevelWriter(part.level)
                self._forward(writer)
                self._backward(writer, {writer.tape.record(part.loss): sp.S.One})
                self.loss.append((part.level.table, writer.tape.record(part.loss)))
        self._inline()

    def _once(self) -> None:
        loss = sp.sympify(self.statement.loss)
        if loss == 0 and self.statement.parts:
            return
        tape = Tape("loss_")
        value = tape.record(loss)
        self.forward += [Definition(s, v) for s, v in tape.definitions.items()]
        before = set(tape.definitions)
        slopes = tape.gradient({value: sp.S.One}, self.statement.differentiable)
        self.backward += [Definition(s, v) for s, v in tape.definitions.items() if s not in before]
        self.loss.append(("", value))
        for x, slope in slopes.items():
            if slope != 0:
                self.terms[x].append(("", slope))

    def _through_levels(self) -> None:
        levels = self.statement.levels
        writers = [LevelWriter(level) for level in levels]
        for place, writer in enumerate(writers):
            for input_, source in writer.level.linked.items():
                self.links.append(Linked(input_, symbol(source), levels[place - 1].table, writer.level.table, False))
            self._forward(writer)
        loss = writers[-1].tape.record(self.statement.loss)
        self.loss.append((levels[-1].table, loss))
        seeds: dict[sp.Expr, sp.Expr] = {loss: sp.S.One}
        for place in reversed(range(len(levels))):
            table = levels[place].table
            found = self._backward(writers[place], seeds)
            seeds = {}
            for input_, source in levels[place].linked.items():
                if found.get(input_, 0) != 0:
                    slope, passed = symbol(f"slope_{input_}"), symbol(f"spread_{source}")
                    self.backward.append(Definition(slope, found[input_], table))
                    self.links.append(Linked(passed, slope, levels[place - 1].table, table, True))
                    seeds[symbol(source)] = passed

    def _forward(self, writer: LevelWriter) -> None:
        writer.forward()
        self.forward += [Definition(s, v, writer.level.table) for s, v in writer.tape.definitions.items()]

    def _backward(self, writer: LevelWriter, seeds: Mapping[sp.Expr, sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        """Slopes of what the loss reads, over the rows of one table."""
        table = writer.level.table
        found = writer.tape.gradient(dict(seeds), [*self.statement.differentiable, *writer.level.linked])
        before = {d.symbol for d in (*self.forward, *self.backward)}
        self.backward += [Definition(s, v, table) for s, v in writer.tape.definitions.items() if s not in before]
        for x in self.statement.differentiable:
            if found.get(x, 0) != 0:
                self.terms[x].append((table, found[x]))
        return found

    def _inline(self) -> None:
        """Functions of one argument, aliases and factors stand where they are used; what is not used is left out.

        A function whose own slope has a name keeps its name.
        """
        everything = [*self.forward, *self.backward]
        barred = [str(d.symbol) for d in self.backward if sp.count_ops(d.value) > 1]
        sloped = {name.removeprefix("adjoint_") for name in barred if name.startswith("adjoint_")}
        named = {link.symbol for link in self.links} | {link.of for link in self.links}
        outputs = {symbol(name) for level in self.statement.tables for name in level.outputs}
        away: dict[sp.Symbol, sp.Expr] = {}
        kept: list[Definition] = []
        for d in everything:
            value = sp.sympify(d.value).xreplace(away)
            is_function = isinstance(value, OPAQUE) and not isinstance(value, _KEPT) and str(d.symbol) not in sloped
            is_short = not value.args or (value.is_Mul and sp.count_ops(value) <= 1)
            if d.symbol not in named and d.symbol not in outputs and (is_function or is_short):
                away[d.symbol] = value
            else:
                kept.append(Definition(d.symbol, value, d.over))
        replaced = lambda pairs: [(table, value.xreplace(away)) for table, value in pairs]
        self.loss = replaced(self.loss)
        self.terms = {x: replaced(pairs) for x, pairs in self.terms.items() if pairs}
        needed = {s for _, v in self.loss for s in v.free_symbols}
        needed |= {s for pairs in self.terms.values() for _, v in pairs for s in v.free_symbols}
        sums = {link.symbol: link.of for link in self.links}
        used: list[Definition] = []
        for d in reversed(kept):
            needed |= {sums[s] for s in needed if s in sums}
            if d.symbol in needed:
                needed |= d.value.free_symbols
                used.append(d)
        backward = {d.symbol for d in self.backward}
        self.forward = [d for d in reversed(used) if d.symbol not in backward]
        self.backward = [d for d in reversed(used) if d.symbol in backward]
        self.links = [link for link in self.links if link.symbol in needed]

    @cached_property
    def slope(self) -> dict[sp.Symbol, sp.Symbol]:
        """The symbol of ∂L/∂x for everything the loss moves with."""
        return {x: symbol(f"gradient_{x}") for x in self.terms}

    def chained(self) -> dict[sp.Symbol, sp.Expr]:
        """∂L/∂x of state that the loss sees only through entries, by the chain rule."""
        rule = chain_rule(self.statement.entries, self.slope)
        found = {x: rule(x) for x in self.statement.state}
        return {x: value for x, value in found.items() if value != 0 and value != self.slope.get(x)}

    def rates(self) -> Iterator[tuple[sp.Symbol, sp.Expr]]:
        """dx/dt of every coordinate in terms of slopes, coefficients reduced."""
        chained = self.chained()
        rule = lambda x: symbol(f"total_gradient_{x}") if x in chained else self.slope.get(x, sp.S.Zero)
        moving = {*self.statement.state, *self.statement.entries, *self.slope.values()}
        moving |= {symbol(f"total_gradient_{x}") for x in chained}
        for block in self.statement.blocks:
            for x, rate in block.derivatives(rule).items():
                yield x, reduced(sp.sympify(rate), moving)


def reduced(expression: sp.Expr, moving: set[sp.Symbol]) -> sp.Expr:
    """The same sum with the constant factor of every term in lowest terms, a common factor in front."""
    terms = []
    for term in sp.Add.make_args(expression):
        constant, rest = term.as_independent(*(moving & term.free_symbols), as_Add=False)
        terms.append((sp.factor(sp.cancel(constant)), rest))
    constants = {constant for constant, _ in terms}
    if len(terms) > 1 and len(constants) == 1 and constants != {sp.S.One}:
        return sp.Mul(constants.pop(), sp.Add(*[rest for _, rest in terms]), evaluate=False)
    return sp.Add(*[sp.Mul(constant, rest) for constant, rest in terms])
