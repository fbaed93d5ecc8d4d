"""The tangent of a program: the program that carries a direction along, by forward differentiation line by line.

For every state x, and every parameter and column that moves, there is a `D_x` beside it: ds/dt = ∂f/∂y s + ∂f/∂p, and
an observable `D_NAME` for every observable. Kinks stay where they are: relu(x) has the tangent step(x) D_x, so frozen
gates freeze both; what a direction does at a switch is not in the program (`flowsys.derivatives.variational`).

The tangent has about as many operations as the program itself: functions inside an expression get a line of their own,
which value and derivative share, and the top of a softmax, on which nothing depends, has no derivative.
"""

import ast
from collections.abc import Collection
from functools import lru_cache

from flowsys.program import Program
from flowsys.program.parsing import called, number, parsed_expression
from flowsys.program.text import Block, Line
from flowsys.program.tops import free_tops

_ZERO = "D_nothing"
_TWO_OVER_ROOT_PI = 1.1283791670955126
_DEAR = {"exp", "log", "sqrt", "tanh", "sigmoid", "softplus", "sinh", "cosh", "sin", "cos", "asin", "erf", "max", "min"}


def of(name: str) -> str:
    """The name of a tangent."""
    return f"D_{name}"


def tangent(program: Program, moving: frozenset[str]) -> Program:
    """The program with a direction beside its state, which changes the parameters and table columns in `moving`."""
    return _tangent(str(program), moving)


@lru_cache(maxsize=32)
def _tangent(text: str, moving: frozenset[str]) -> Program:
    program = Program.parse(text)
    known = {*program.state, *moving}
    tops = free_tops(program, lambda expression, table: False)
    idle = frozenset().union(*tops.values())
    blocks = [Block("", (Line(_ZERO, f"0.0 * {program.state[0]}"),))]
    for block in program.blocks:
        lines = []
        for line in (part for whole in block.lines for part in _in_parts(whole)):
            lines.append(line)
            derivative = _Differentiation(known, line.name, idle).of(parsed_expression(line.expression), True)
            if derivative is not None and line.name not in tops:
                known.add(line.name)
                lines.append(Line(of(line.name), ast.unparse(derivative)))
        blocks.append(Block(block.over, tuple(lines)))
    moved = lambda name: of(name) if name in known else _ZERO
    return Program(
        state=(*program.state, *map(of, program.state)),
        parameters=(*program.parameters, *map(of, program.parameters)),
        blocks=tuple(blocks),
        derivatives=(*program.derivatives, *map(moved, program.derivatives)),
        observables={**program.observables, **{of(name): moved(line) for name, line in program.observables.items()}},
        tables={name: (*columns, *(of(c) for c in columns if c in moving)) for name, columns in program.tables.items()},
        links=program.links,
    )


def kink_tangents(program: Program, moving: frozenset[str]) -> tuple[str, ...]:
    """The names of the tangents of the switching functions, in their order."""
    lines = {line.name for block in tangent(program, moving).blocks for line in block.lines}
    return tuple(of(kink) if of(kink) in lines or kink in program.state else _ZERO for kink in program.kinks)


def _in_parts(line: Line) -> list[Line]:
    """A line, and before it one for every dear function inside its expression."""
    parts: list[Line] = []

    class Naming(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            if called(node) not in _DEAR:
                return node
            parts.append(Line(f"{line.name}_part{len(parts)}", ast.unparse(node)))
            return ast.Name(parts[-1].name)

    tree = parsed_expression(line.expression)
    if isinstance(tree, ast.Call):
        tree.args = [Naming().visit(argument) for argument in tree.args]
    else:
        tree = Naming().visit(tree)
    return [*parts, Line(line.name, ast.unparse(tree))] if parts else [line]


class _Differentiation:
    """Derivatives of expressions; None stands for 0.

    `name` is that of the line, a name for the whole expression; `idle` are the mins (as text) that do nothing.
    """

    def __init__(self, known: Collection[str], name: str, idle: Collection[str]):
        self._known, self._name, self._idle = known, name, idle

    def of(self, node: ast.expr, is_whole: bool = False) -> ast.expr | None:
        match node:
            case ast.Name(id=name):
                return ast.Name(of(name)) if name in self._known else None
            case ast.Constant():
                return None
            case ast.UnaryOp(op=op, operand=operand):
                inner = self.of(operand)
                return None if inner is None else ast.UnaryOp(op, inner)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, left, right, self.of(left), self.of(right))
            case ast.Call() if ast.unparse(node) in self._idle:
                return self.of(node.args[0])
            case ast.Call():
                value = ast.Name(self._name) if is_whole else node
                return self._call(called(node), node.args, value)
        raise ValueError(f"no derivative is known of {ast.unparse(node)!r}")

    def _operation(self, op, left, right, of_left, of_right) -> ast.expr | None:
        if of_left is None and of_right is None:
            return None
        match op:
            case ast.Add() | ast.Sub():
                if of_right is None:
                    return of_left
                if of_left is None:
                    return of_right if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), of_right)
                return ast.BinOp(of_left, op, of_right)
            case ast.Mult():
                return _sum(_product(of_left, right), _product(left, of_right))
            case ast.Div():
                whole = ast.BinOp(left, ast.Div(), right)
                return _sum(_quotient(of_left, right), _minus(_quotient(_product(whole, of_right), right)))
            case ast.Pow():
                less = ast.BinOp(left, ast.Pow(), ast.BinOp(right, ast.Sub(), ast.Constant(1)))
                if isinstance(right, ast.Constant):
                    less = ast.BinOp(left, ast.Pow(), ast.Constant(number(right.value) - 1))
                whole = ast.BinOp(left, ast.Pow(), right)
                grown = _product(_product(whole, _called("log", left)), of_right)
                return _sum(_product(_product(right, less), of_left), grown)
        raise ValueError(f"no derivative is known of the operation {type(op).__name__}")

    def _call(self, name: str, arguments: list[ast.expr], value: ast.expr) -> ast.expr | None:
        if name in ("step", "positive"):
            return None
        if name in ("max", "min"):
            return self._chosen(name, arguments, value)
        x, inner = arguments[0], self.of(arguments[0])
        if inner is None:
            return None
        if name in ("total", "linked", "spread"):
            return _called(name, inner)
        if name == "masked":
            return _product(_called("positive", arguments[1]), inner)
        if name in ("log", "sqrt"):
            return _quotient(inner, x if name == "log" else _product(ast.Constant(2.0), value))
        if name == "asin":
            return _quotient(inner, _called("sqrt", _text("1.0 - ({0}) * ({0})", x)))
        slope = {
            "exp": lambda: value,
            "tanh": lambda: _text("1.0 - ({0}) * ({0})", value),
            "sigmoid": lambda: _product(value, _called("sigmoid", ast.UnaryOp(ast.USub(), x))),
            "softplus": lambda: _called("sigmoid", x),
            "relu": lambda: _called("step", x),
            "sinh": lambda: _called("cosh", x),
            "cosh": lambda: _called("sinh", x),
            "sin": lambda: _called("cos", x),
            "cos": lambda: ast.UnaryOp(ast.USub(), _called("sin", x)),
            "erf": lambda: _text(f"{_TWO_OVER_ROOT_PI!r} * exp(-(({{0}}) * ({{0}})))", x),
        }
        if name not in slope:
            raise ValueError(f"no derivative is known of the function {name!r}")
        return _product(slope[name](), inner)

    def _chosen(self, name: str, arguments: list[ast.expr], value: ast.expr) -> ast.expr | None:
        """Of the first argument that is the largest (smallest)."""
        chosen = self.of(arguments[-1])
        for x in reversed(arguments[:-1]):
            high, low = (value, x) if name == "max" else (x, value)
            is_other = _called("positive", ast.BinOp(high, ast.Sub(), low))
            is_this = ast.BinOp(ast.Constant(1.0), ast.Sub(), is_other)
            chosen = _sum(_product(is_this, self.of(x)), _product(is_other, chosen))
        return chosen


def _sum(a: ast.expr | None, b: ast.expr | None) -> ast.expr | None:
    if a is None or b is None:
        return a or b
    return ast.BinOp(a, ast.Add(), b)


def _product(a: ast.expr | None, b: ast.expr | None) -> ast.expr | None:
    return None if a is None or b is None else ast.BinOp(a, ast.Mult(), b)


def _quotient(a: ast.expr | None, b: ast.expr | None) -> ast.expr | None:
    return None if a is None or b is None else ast.BinOp(a, ast.Div(), b)


def _minus(a: ast.expr | None) -> ast.expr | None:
    return None if a is None else ast.UnaryOp(ast.USub(), a)


def _called(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name), list(arguments), [])


def _text(form: str, x: ast.expr) -> ast.expr:
    return parsed_expression(form.format(ast.unparse(x)))
