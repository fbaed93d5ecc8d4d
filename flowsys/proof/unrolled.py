"""A program at given data as one straight-line Python function on any kind of numbers.

Blocks that run for each row of a table are written out row by row; tops of softmaxes that nothing depends on
(`flowsys.program.tops`) are 0 (balls do not overflow), and the mins that do nothing because of them are left away.
ReLUs and steps read their gates: 0, 1, or a ball.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint

from flowsys.program import Block, Line, Program
from flowsys.program.parsing import called, number, variable
from flowsys.program.tops import free_tops
from flowsys.proof.exact import Exact
from flowsys.proof.numbers import FUNCTIONS


@dataclass(frozen=True, eq=False)
class Data:
    """What a program reads besides its state, exactly."""

    parameters: tuple[Exact, ...]
    tables: dict[str, tuple[tuple[Exact, ...], ...]]  # by column, then by row
    links: dict[str, tuple[tuple[Exact, ...], ...]]  # parent rows, child columns

    def rows(self, table: str) -> int:
        return len(self.tables[table][0])


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A program written out row by row at given data."""

    program: Program
    data: Data

    @cached_property
    def tops(self) -> dict[str, frozenset[str]]:
        return free_tops(self.program, self._is_positive)

    def _is_positive(self, expression: str, over: str) -> bool:
        """Whether the data alone make an expression positive, on every row of a table."""
        asked = replace(self.program, blocks=(*self.program.blocks, Block(over, (Line("asked_count", expression),))))
        values = Unrolled(asked, self.data)._compiled(("asked_count",), {})(
            [flint.arb.nan()] * len(self.program.state), (), self.constants()
        )
        return all(flint.arb(value) > 0 for value in values)

    @cached_property
    def gates(self) -> tuple[tuple[str, int], ...]:
        """Every kink with its row: the order of gates."""
        return tuple((kink, row) for kink in self.program.kinks for row in range(self._rows(kink)))

    def function(self, outputs: Sequence[str], functions: Mapping[str, Callable] = FUNCTIONS) -> Callable[..., list]:
        """f(y, gates, constants) -> the named scalar values; `constants` come from `constants()`."""
        return self._compiled(tuple(outputs), functions=functions)

    @cached_property
    def field(self) -> Callable[..., list]:
        return self._compiled(self.program.derivatives)

    @cached_property
    def switching(self) -> Callable[..., list]:
        return self._compiled(tuple(dict.fromkeys(self.program.kinks)))

    @cached_property
    def numbers(self) -> list[Exact]:
        """All data, in the order of `constants`."""
        found = list(self.data.parameters)
        for name in self.program.tables:
            found += [x for column in self.data.tables[name] for x in column]
        for link in self.program.links:
            found += [x for row in self.data.links[link.name] for x in row]
        return found

    def constants(self) -> list[flint.arb]:
        """All data as balls at the current precision."""
        return [number.arb() for number in self.numbers]

    # -- the text --------------------------------------------------------------------------------------------------

    def _rows(self, name: str) -> int:
        table = self.program.table_of.get(name)
        return self.data.rows(table) if table else 1

    def _at(self, name: str, row: int) -> str:
        return f"{name}__{row}" if name in self.program.table_of else name

    def _compiled(
        self,
        outputs: tuple[str, ...],
        tops: Mapping[str, frozenset[str]] | None = None,
        functions: Mapping[str, Callable] = FUNCTIONS,
    ) -> Callable[..., list]:
        tops = self.tops if tops is None else tops
        idle = frozenset().union(*tops.values())
        text, program, count = ["def evaluate(_y, _gates, _constants):"], self.program, 0
        blocks = program.needed_for(outputs)
        text += [f"    {name} = _y[{i}]" for i, name in enumerate(program.state)]
        for i, name in enumerate(program.parameters):
            text.append(f"    {name} = _constants[{i}]")
        count = len(program.parameters)
        for table, columns in program.tables.items():
            for column in columns:
                for row in range(self.data.rows(table)):
                    text.append(f"    {column}__{row} = _constants[{count}]")
                    count += 1
        gate_of = {gate: i for i, gate in enumerate(self.gates)}
        for block in blocks:
            for row in range(self.data.rows(block.over) if block.over else 1):
                for line in block.lines:
                    name = self._at(line.name, row)
                    written = (
                        "0" if line.name in tops else _Writing(self, block.over, row, gate_of, idle).text(line.tree)
                    )
                    text.append(f"    {name} = {written}")
        values = [self._at(name, row) for name in outputs for row in range(self._rows(name))]
        text.append(f"    return [{', '.join(values)}]")
        namespace = dict(functions)
        exec(compile("\n".join(text), f"<proof {program.digest}>", "exec"), namespace)
        return namespace["evaluate"]

    def link(self, name: str) -> tuple[int, tuple[tuple[Exact, ...], ...]]:
        """Where a link's entries start among the constants, and the entries."""
        start = len(self.data.parameters) + sum(len(c) * len(c[0]) for c in self.data.tables.values())
        for before in self.program.links:
            if before.name == name:
                break
            start += len(self.data.links[before.name]) * len(self.data.links[before.name][0])
        return start, self.data.links[name]


class _Writing:
    """One line's expression as Python text, at one row."""

    def __init__(self, unrolled: Unrolled, over: str, row: int, gate_of: dict, idle: frozenset[str]):
        self.unrolled, self.over, self.row, self.gate_of, self.idle = unrolled, over, row, gate_of, idle

    def text(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.Name):
            return self.unrolled._at(node.id, self.row)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"(-{self.text(node.operand)})"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return f"power({self.text(node.left)}, {_exponent(node.right)!r})"
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div) and all(_is_whole(side) for side in (node.left, node.right)):
                return f"quotient({ast.unparse(node.left)}, {ast.unparse(node.right)})"
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
            return f"({self.text(node.left)} {sign} {self.text(node.right)})"
        if isinstance(node, ast.Call):
            return self._call(node)
        raise ValueError(f"not an expression of a program: {ast.unparse(node)}")

    def _call(self, node: ast.Call) -> str:
        name = called(node)
        if name == "min" and ast.unparse(node) in self.idle:
            return self.text(node.args[0])
        if name in ("total", "linked", "spread"):
            return self._crossing(name, variable(node.args[0]))
        arguments = [self.text(argument) for argument in node.args]
        if name in ("relu", "step"):
            kink = variable(node.args[0])
            gate = self.gate_of[kink, self.row if kink in self.unrolled.program.table_of else 0]
            arguments.append(f"_gates[{gate}]")
        return f"{name}({', '.join(arguments)})"

    def _crossing(self, kind: str, name: str) -> str:
        other = self.unrolled.program.table_of[name]
        rows = range(self.unrolled.data.rows(other))
        if kind == "total":
            return "(" + " + ".join(f"{name}__{row}" for row in rows) + ")"
        child, parent = (other, self.over) if kind == "linked" else (self.over, other)
        start, entries = self.unrolled.link(f"{child}_to_{parent}")
        width = len(entries[0])
        terms = []
        for row in rows:
            i, j = (self.row, row) if kind == "linked" else (row, self.row)
            if entries[i][j].low or entries[i][j].high:
                factor = "" if str(entries[i][j]) == "1" else f"_constants[{start + i * width + j}]*"
                terms.append(f"{factor}{name}__{row}")
        return "(" + (" + ".join(terms) or "quotient(0, 1)") + ")"


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _literal(value: Any) -> str:
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return str(exact) if exact.denominator == 1 else f"quotient({exact.numerator}, {exact.denominator})"


def _exponent(node: ast.expr) -> Fraction:
    """A literal exponent: a number, a negative one, or a quotient of such."""
    if isinstance(node, ast.Constant):
        return Fraction(repr(node.value)) if isinstance(node.value, float) else Fraction(int(number(node.value)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_exponent(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _exponent(node.left) / _exponent(node.right)
    raise ValueError(f"an exponent that is no number: {ast.unparse(node)}")
