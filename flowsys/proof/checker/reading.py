"""Exact numbers of a certificate, and a program's text read on balls and series, line by line."""

import ast
import copy
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb, arb_series

from flowsys.program import Block, Line, Program
from flowsys.program.parsing import variable
from flowsys.program.tops import free_tops
from flowsys.proof.algebra import Algebra
from flowsys.proof.exact import Exact


class Refused(Exception):
    """What is wrong with a certificate, in a sentence."""


def fraction(text: str) -> Fraction:
    """A dyadic, mantissa and exponent."""
    mantissa, _, exponent = text.partition("p")
    return Fraction(int(mantissa, 16)) * Fraction(2) ** int(exponent)


def rational(x: Fraction) -> arb:
    return arb(flint.fmpq(x.numerator, x.denominator))


def number(text: str) -> arb:
    """Data: a rational, a simple function of one, an interval."""
    if text.startswith("["):
        low, high = (Fraction(part) for part in text.strip("[]").split(","))
        if low > high:
            raise Refused(f"the interval {text} is empty")
        return rational(low).union(rational(high))
    found = re.fullmatch(r"(1/)?(log|sqrt)\((.*)\)", text)
    if not found:
        return rational(Fraction(text))
    inside = rational(Fraction(found[3]))
    value = inside.log() if found[2] == "log" else inside.sqrt()
    return 1 / value if found[1] else value


class Reading:
    """A program at a stage's data, as functions of states."""

    def __init__(self, program: Program, data: dict[str, Any]):
        self.program, self.data = program, data
        self.literal: Callable[[Fraction], Any] = rational
        self.given: dict[str, Any] = dict(zip(program.parameters, map(number, data["parameters"])))
        self.rows = {table: len(data["tables"][table][0]) for table in program.tables}
        for table, columns in program.tables.items():
            self.given |= {c: [number(x) for x in values] for c, values in zip(columns, data["tables"][table])}
        self.links: dict[str, list[list[Any]]]
        self.links = {name: [[number(x) for x in row] for row in matrix] for name, matrix in data["links"].items()}
        self.tops: dict[str, frozenset[str]] = {}
        self.idle: frozenset[str] = frozenset()
        self.tops = free_tops(program, self._is_positive)
        self.idle = frozenset().union(*self.tops.values())
        self.gates_at: dict[str, int] = {}
        count = 0
        for kink in program.kinks:
            self.gates_at[kink] = count
            count += self.rows.get(program.table_of.get(kink, ""), 1)
        self.n_gates = count
        self._blocks: dict[tuple[str, ...], tuple[Block, ...]] = {}

    def exactly(self, algebra: Algebra) -> "Reading":
        """The same, on series of the algebra."""
        other, data = copy.copy(self), self.data
        exact = lambda text, *name: algebra.number(Exact.parse(text), name)
        other.literal = algebra.lifted
        other.given = {name: exact(text, name) for name, text in zip(self.program.parameters, data["parameters"])}
        for table, columns in self.program.tables.items():
            for column, texts in zip(columns, data["tables"][table]):
                other.given[column] = [exact(text, column, row) for row, text in enumerate(texts)]
        other.links = {
            name: [[exact(text, name, i, j) for j, text in enumerate(row)] for i, row in enumerate(matrix)]
            for name, matrix in data["links"].items()
        }
        return other

    def _is_positive(self, expression: str, over: str) -> bool:
        """Whether data alone make an expression positive on every row of a table."""
        line, names = Line("asked", expression), dict(self.given)
        blocks = self.program.needed_for(set(line.reads))
        names |= {name: arb.nan() for name in self.program.state}
        self._run(blocks, names, ())
        self._run((Block(over, (line,)),), names, ())
        values = names["asked"] if over else [names["asked"]]
        return all(arb(value) > 0 for value in values)

    def __call__(self, outputs: Sequence[str], state: Sequence, gates: Sequence) -> list:
        """Named values, those on tables row after row."""
        key = tuple(outputs)
        if key not in self._blocks:
            self._blocks[key] = self.program.needed_for(key)
        names = dict(self.given)
        names.update(zip(self.program.state, state))
        self._run(self._blocks[key], names, gates)
        found: list = []
        for name in outputs:
            found += names[name] if name in self.program.table_of else [names[name]]
        return found

    def rates(self, state: Sequence, gates: Sequence) -> list:
        return self(self.program.derivatives, state, gates)

    def kinks(self, state: Sequence, gates: Sequence) -> list:
        return self(self.program.kinks, state, gates)

    def observed(self, name: str, state: Sequence, gates: Sequence) -> Any:
        return self([self.program.observables[name]], state, gates)[0]

    # -- the interpreter -------------------------------------------------------------------------------------------

    def _run(self, blocks: Sequence[Block], names: dict[str, Any], gates: Sequence) -> None:
        for block in blocks:
            for line in block.lines:
                if line.name in self.tops:
                    zero = arb(0)
                    names[line.name] = [zero] * self.rows[block.over] if block.over else zero
                elif block.over:
                    names[line.name] = [
                        self._value(line.tree, names, gates, block.over, row) for row in range(self.rows[block.over])
                    ]
                else:
                    names[line.name] = self._value(line.tree, names, gates, "", 0)

    def _value(self, node: ast.expr, names: dict[str, Any], gates: Sequence, over: str, row: int) -> Any:
        if isinstance(node, ast.Name):
            value = names[node.id]
            return value[row] if isinstance(value, list) else value
        if isinstance(node, ast.Constant):
            return self.literal(Fraction(str(node.value)))
        value = lambda inner: self._value(inner, names, gates, over, row)
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Pow):
                return raised(value(node.left), Fraction(str(eval_number(node.right))))
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            return left * right if isinstance(node.op, ast.Mult) else left / right
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        function = node.func.id
        if function in ("total", "linked", "spread"):
            return self._crossed(function, variable(node.args[0]), names, over, row)
        if function == "min" and ast.unparse(node) in self.idle:
            return value(node.args[0])
        if function in ("relu", "step"):
            kink = variable(node.args[0])
            gate = gates[self.gates_at[kink] + (row if isinstance(names[kink], list) else 0)]
            return value(node.args[0]) * gate if function == "relu" else arb(gate)
        return elementary(function, [value(argument) for argument in node.args])

    def _crossed(self, function: str, name: str, names: dict[str, Any], over: str, row: int) -> Any:
        values, other = names[name], self.program.table_of[name]
        if function == "total":
            factors = [arb(1)] * len(values)
        elif function == "linked":
            factors = self.links[f"{other}_to_{over}"][row]
        else:
            factors = [line[row] for line in self.links[f"{over}_to_{other}"]]
        total: Any = arb(0)
        for factor, value in zip(factors, values):
            if not factor.is_zero():
                total = total + factor * value
        return total


def eval_number(node: ast.expr) -> Fraction:
    """A literal exponent."""
    if isinstance(node, ast.Constant):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp):
        return -eval_number(node.operand)
    assert isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    return eval_number(node.left) / eval_number(node.right)


def raised(x: Any, exponent: Fraction) -> Any:
    """x to a half-integer power, by products; to any other by logarithms."""
    if exponent < 0:
        return 1 / raised(x, -exponent)
    if exponent.denominator == 1:
        result: Any = arb(1)
        for _ in range(exponent.numerator):
            result = result * x
        return result
    if exponent.denominator == 2:
        return raised(x.sqrt(), 2 * exponent)
    return (x.log() * rational(exponent)).exp()


def elementary(name: str, x: list) -> Any:
    """An elementary function, each written by exp, log and sqrt where Arb's series have none."""
    if name in ("max", "min", "masked", "positive"):
        return _chosen(name, x)
    (a,) = x
    if name == "sigmoid":
        return 1 / (1 + (-a).exp())
    if name == "softplus":
        return (1 + a.exp()).log()
    if name == "tanh":
        return 1 - 2 / (1 + (2 * a).exp())
    if name in ("sinh", "cosh"):
        return (a.exp() + (1 if name == "cosh" else -1) * (-a).exp()) / 2
    return getattr(a, name)()


def _chosen(name: str, x: list) -> Any:
    """max, min and sign: of balls as balls, of series only where it is certain."""
    if name == "masked":
        if not (x[1] > 0 or x[1] <= 0):
            raise Refused("a count is neither positive nor 0")
        return x[0] if x[1] > 0 else None
    x = [value for value in x if value is not None]
    if name == "positive":
        value = constant(x[0])
        if isinstance(x[0], arb_series) and not (value > 0 or value <= 0):
            raise Refused("a sign that counts is not decided")
        return arb(1) if value > 0 else arb(0) if value <= 0 else arb(0.5, 0.5)
    best = x[0]
    for value in x[1:]:
        if not isinstance(value, arb_series) and not isinstance(best, arb_series):
            best = best.max(value) if name == "max" else best.min(value)
        elif constant(value) > constant(best):
            best = value if name == "max" else best
        elif constant(value) < constant(best):
            best = best if name == "max" else value
        else:
            raise Refused(f"a {name} is not decided")
    return best


def constant(x: Any) -> arb:
    return x[0] if isinstance(x, arb_series) else x
