"""Statements to be proven, as text: `S_cv_same > 0 on (T_1, T_2]`, `loss < 1/2 at T_2`, `w_v > 2*w_c on [0, 20]`.

Sides are expressions in a program's observables and parameters; ends of a window are events, marks or numbers. A side
that is open may have both sides equal at that end: the leading derivative decides there.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flowsys.errors import InputError
from flowsys.program import FUNCTIONS, Block, Line, Program
from flowsys.program.parsing import parsed_expression

_FORM = re.compile(r"(.+?)\s*(<|>)\s*(.+?)\s+(?:on\s*([\[(])\s*(\S+)\s*,\s*(\S+?)\s*\]|at\s+(\S+))")
_ALLOWED = FUNCTIONS - {"relu", "step", "masked", "total", "linked", "spread", "positive"}


@dataclass(frozen=True)
class Stated:
    """left > right (sign +1) or left < right (-1), from `low` (left out if `is_open`) to `high`."""

    text: str
    left: str
    right: str
    sign: int
    low: str
    high: str
    is_open: bool

    @classmethod
    def parse(cls, text: str) -> "Stated":
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise InputError(
                f"the statement {text!r} is not understood: it must read like 'w_v > 2*w_c on [T_1, T_2]', with < or "
                ">, and 'on (FROM, TO]', 'on [FROM, TO]' or 'at EVENT'."
            )
        left, relation, right, bracket, low, high, at = found.groups()
        sign = 1 if relation == ">" else -1
        if at is not None:
            low = high = at
        return cls(text.strip(), left, right, sign, low, high, bracket == "(")


def name_of(index: int) -> str:
    """The observable that a statement is about: its left side less its right one."""
    return f"statement_{index}"


def with_statements(program: Program, statements: Sequence[Stated]) -> Program:
    """The program that also observes left - right of every statement."""
    if not statements:
        return program
    lines, observed = [], {}
    for index, stated in enumerate(statements):
        try:
            tree = parsed_expression(f"({stated.left}) - ({stated.right})")
        except SyntaxError:
            raise InputError(f"the statement {stated.text!r} has sides that are no expressions.") from None
        lines.append(Line(name_of(index), ast.unparse(_Naming(program, stated.text).visit(tree))))
        observed[name_of(index)] = name_of(index)
    return replace(
        program, blocks=(*program.blocks, Block("", tuple(lines))), observables={**program.observables, **observed}
    )


class _Naming(ast.NodeTransformer):
    """Observables by the names of the lines that compute them; anything unknown is refused."""

    def __init__(self, program: Program, text: str):
        self.program, self.text = program, text

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.program.observables:
            return ast.Name(self.program.observables[node.id])
        if node.id in self.program.parameters or node.id in _ALLOWED:
            return node
        raise InputError(f"the statement {self.text!r} names {node.id}, which the program does not observe.")
