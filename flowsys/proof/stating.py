"""Statements to be proven, as text: `S_cv_same > 0 on (T_1, T_2]`, `loss < 1/2 at T_2`, `u = v within 1e-15 on [0, 9]`.

Sides are expressions in a program's observables and parameters; ends of a window are events, marks or numbers. At an
open end of an inequality both sides may be equal: the leading derivative decides there.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flowsys.errors import InputError
from flowsys.program import FUNCTIONS, Block, Line, Program
from flowsys.program.parsing import parsed_expression

_FORM = re.compile(
    r"(.+?)\s*(<|>|=)\s*(.+?)(?:\s+within\s+(\S+))?\s+(?:on\s*([\[(])\s*(\S+)\s*,\s*(\S+?)\s*\]|at\s+(\S+))"
)
_ALLOWED = FUNCTIONS - {"relu", "step", "masked", "total", "linked", "spread", "positive"}


@dataclass(frozen=True)
class Stated:
    """left > right (sign +1), left < right (-1) or |left - right| < within (0), from `low` to `high`.

    An inequality's `low` is left out if `is_open`.
    """

    text: str
    left: str
    right: str
    sign: int
    low: str
    high: str
    is_open: bool
    within: Fraction = Fraction(0)

    def margins(self, difference: Any, number: Callable[[Fraction], Any]) -> list:
        """What is positive where the statement holds, of left - right."""
        if self.sign:
            return [self.sign * difference]
        return [number(self.within) - difference, number(self.within) + difference]

    @classmethod
    def parse(cls, text: str) -> "Stated":
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise InputError(
                f"the statement {text!r} is not understood: it must read like 'w_v > 2*w_c on [T_1, T_2]', with < or "
                ">, and 'on (FROM, TO]', 'on [FROM, TO]' or 'at EVENT'."
            )
        left, relation, right, within, bracket, low, high, at = found.groups()
        if (relation == "=") != (within is not None) or (relation == "=" and bracket == "("):
            raise InputError(
                f"the statement {text!r} is not understood: an identity reads 'left = right within 1e-9 on [0, 1]'."
            )
        if at is not None:
            low = high = at
        sign = {">": 1, "<": -1, "=": 0}[relation]
        return cls(text.strip(), left, right, sign, low, high, bracket == "(", _positive(within, text))


def _positive(within: str | None, text: str) -> Fraction:
    try:
        found = Fraction(within or 0)
    except ValueError:
        found = Fraction(-1)
    if found < 0 or (within and not found):
        raise InputError(f"the statement {text!r} has a tolerance that is no positive number.")
    return found


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
