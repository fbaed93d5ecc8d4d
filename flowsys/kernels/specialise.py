"""A program with small tables written out: rows unrolled, known entries built in, what they make vanish left out.

With few distinct rows a loop over a table is dearer than its body written out: counts that are zero switch off whole
terms, and what reads the same on several rows is computed once. Columns that differ between stages or trajectories
become parameters `column__row`.

The result is again a program, without tables; values on rows are named `name__row`.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from flowsys.program import Block, Line, Program
from flowsys.program.parsing import called, number, variable

_MASKED = -1e300


@dataclass(frozen=True)
class Specialised:
    """The written-out program, and the table entries that follow its parameters: (table, column, row)."""

    program: Program
    entries: tuple[tuple[str, int, int], ...]
    gate_names: tuple[str, ...]


def on_row(name: str, row: int) -> str:
    return f"{name}__{row}"


def written_out(
    program: Program, rows: Mapping[str, int], known: Mapping[str, Mapping[str, np.ndarray]], links: Mapping
) -> Specialised:
    """The program on tables with these numbers of rows; `known` holds the columns that are the same everywhere."""
    entries = tuple(
        (table, index, row)
        for table, columns in program.tables.items()
        for index, column in enumerate(columns)
        if column not in known[table]
        for row in range(rows[table])
    )
    parameters = [on_row(program.tables[table][column], row) for table, column, row in entries]
    kept = {*program.kinks, *program.derivatives, *program.observables.values()}
    values: dict[str, ast.expr] = {}
    for columns in known.values():
        for column, numbers in columns.items():
            values |= {on_row(column, row): ast.Constant(float(x)) for row, x in enumerate(numbers)}
    lines: list[Line] = []
    computed: dict[str, str] = {}
    for block in program.blocks:
        for line in block.lines:
            for row in range(rows[block.over]) if block.over else (None,):
                name = line.name if row is None else on_row(line.name, row)
                tree = _Row(program, rows, links, values, block.over, row).visit(line.tree)
                is_trivial = isinstance(tree, ast.Constant | ast.Name) or (
                    isinstance(tree, ast.UnaryOp) and isinstance(tree.operand, ast.Name)
                )
                if line.name not in kept and is_trivial:
                    values[name] = tree
                    continue
                expression = ast.unparse(tree)
                if line.name not in kept and expression in computed:
                    values[name] = ast.Name(computed[expression])
                    continue
                computed.setdefault(expression, name)
                lines.append(Line(name, expression))
    gate_names: list[str] = []
    for kink in program.kinks:
        table = program.table_of.get(kink)
        gate_names += [on_row(kink, row) for row in range(rows[table])] if table else [kink]
    unrolled = Program(
        state=program.state,
        parameters=(*program.parameters, *parameters),
        blocks=(Block("", tuple(lines)),),
        derivatives=program.derivatives,
        observables=program.observables,
    )
    return Specialised(unrolled, entries, tuple(gate_names))


class _Row(ast.NodeVisitor):
    """One line on one row, simplified from the leaves up; returns a new expression."""

    def __init__(self, program: Program, rows: Mapping, links: Mapping, values: Mapping, over: str, row: int | None):
        self.program, self.rows, self.links, self.values = program, rows, links, values
        self.over, self.row = over, row

    def generic_visit(self, node: ast.AST):
        raise ValueError(f"not in a program: {ast.unparse(node)!r}")

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Constant(float(number(node.value)))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = self._here(node.id)
        return self.values.get(name, ast.Name(name))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        return negated(operand) if isinstance(node.op, ast.USub) else operand

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return combined(node.op, self.visit(node.left), self.visit(node.right))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = called(node)
        if function == "total":
            return self._sum(variable(node.args[0]), dict.fromkeys(range(self._rows_of(node)), 1.0))
        if function in ("linked", "spread"):
            other = self.program.table_of[variable(node.args[0])]
            child, parent = (other, self.over) if function == "linked" else (self.over, other)
            matrix = self.links[f"{child}_to_{parent}"]
            weights = matrix[self.row] if function == "linked" else matrix[:, self.row]
            return self._sum(variable(node.args[0]), {i: float(x) for i, x in enumerate(weights) if x != 0})
        if function in ("relu", "step"):
            return ast.Call(node.func, [ast.Name(self._here(variable(node.args[0])))], [])
        return simplified_call(function, [self.visit(a) for a in node.args])

    def _here(self, name: str) -> str:
        """What a name is called on this row."""
        if not self.program.table_of.get(name):
            return name
        assert self.row is not None
        return on_row(name, self.row)

    def _rows_of(self, node: ast.Call) -> int:
        return self.rows[self.program.table_of[variable(node.args[0])]]

    def _sum(self, name: str, weights: Mapping[int, float]) -> ast.expr:
        total: ast.expr = ast.Constant(0.0)
        for row, weight in weights.items():
            place = on_row(name, row)
            term = combined(ast.Mult(), ast.Constant(weight), self.values.get(place, ast.Name(place)))
            total = combined(ast.Add(), total, term)
        return total


def is_number(node: ast.expr, value: float | None = None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and (value is None or node.value == value)


def negated(x: ast.expr) -> ast.expr:
    if isinstance(x, ast.Constant):
        return ast.Constant(-number(x.value))
    if isinstance(x, ast.UnaryOp):
        return x.operand
    return ast.UnaryOp(ast.USub(), x)


def combined(op: ast.operator, a: ast.expr, b: ast.expr) -> ast.expr:
    """a op b, with what zeros and ones make of it (all values are finite)."""
    if is_number(a) and is_number(b):
        return ast.Constant(_NUMBERS[type(op)](number(a.value), number(b.value)))
    match op:
        case ast.Add():
            if is_number(a, 0):
                return b
            if is_number(b, 0):
                return a
        case ast.Sub():
            if is_number(a, 0):
                return negated(b)
            if is_number(b, 0):
                return a
        case ast.Mult():
            for x, y in ((a, b), (b, a)):
                if is_number(x, 0):
                    return ast.Constant(0.0)
                if is_number(x, 1):
                    return y
                if is_number(x, -1):
                    return negated(y)
        case ast.Div():
            if is_number(a, 0):
                return ast.Constant(0.0)
            if is_number(b, 1):
                return a
        case ast.Pow():
            if is_number(b, 1):
                return a
    return ast.BinOp(a, op, b)


def simplified_call(function: str, arguments: list[ast.expr]) -> ast.expr:
    if function == "masked" and is_number(arguments[1]):
        return arguments[0] if number(arguments[1].value) > 0 else ast.Constant(_MASKED)
    if function == "positive" and is_number(arguments[0]):
        return ast.Constant(1.0 if number(arguments[0].value) > 0 else 0.0)
    if function == "max":
        visible = [a for a in arguments if not is_number(a, _MASKED)]
        arguments = visible or arguments[:1]
        if len(arguments) == 1:
            return arguments[0]
    return ast.Call(ast.Name(function), arguments, [])


_NUMBERS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
