"""The right-hand side as C: one function without allocation, tables as constant arrays, a loop for each table."""

import ast

import numpy as np

from flowsys.equations.code import Exported, crossed
from flowsys.program.parsing import number, variable

_FUNCTIONS = {
    "sigmoid": "static double sigmoid(double x) { return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }",
    "softplus": "static double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }",
    "relu": "static double relu(double x) { return fmax(x, 0.0); }",
    "step": "static double step(double x) { return x > 0 ? 1.0 : 0.0; }",
    "positive": "static double positive(double x) { return x > 0 ? 1.0 : 0.0; }",
    "masked": "static double masked(double score, double count) { return count > 0 ? score : -INFINITY; }",
    "total": "static double total(const double *x, int n) "
    "{ double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
    "linked": "static double linked(const double *x, const double *row, int n) "
    "{ double s = 0; for (int i = 0; i < n; i++) s += row[i] * x[i]; return s; }",
    "spread": "static double spread(const double *x, const double *column, int n, int stride) "
    "{ double s = 0; for (int i = 0; i < n; i++) s += column[i * stride] * x[i]; return s; }",
}


def c(this: Exported) -> str:
    """C99; compile with `cc -O2 -shared -fPIC -lm`, or include it."""
    return _Writer(this).text()


class _Writer:
    def __init__(self, this: Exported):
        self.this, self.program = this, this.program
        self.rows = {table: len(np.asarray(this.arguments.tables[table])[0]) for table in self.program.tables}

    def text(self) -> str:
        this, program = self.this, self.program
        text = [f"/* {this.title}", "", "   Usage: double dy[N_STATE]; rhs(0.0, START, dy, PARAMETERS); */"]
        text += ["#include <math.h>", "", f"#define N_STATE {len(program.state)}"]
        text += [f"/* state: {', '.join(program.state)} */", f"/* parameters: {', '.join(program.parameters)} */"]
        text += [f"const double START[N_STATE] = {_array(this.start)};"]
        values = np.array(list(this.parameters.values()) or [0.0])
        text += [f"const double PARAMETERS[{len(values)}] = {_array(values)};"]
        text += [f"static const double {name}[{len(v)}] = {_array(v)};" for name, v in this.columns.items()]
        text += [f"static const double {n}[{m.size}] = {_array(m.ravel())};" for n, m in this.links.items()]
        text += [_FUNCTIONS[name] for name in _FUNCTIONS if name in this.functions]
        text += [
            "",
            "void rhs(double _t, const double *_y, double *_dy, const double *_p) {",
            "    (void)_t; (void)_p;",
        ]
        text += [f"    const double {name} = _y[{i}];" for i, name in enumerate(program.state) if name in this.read]
        text += [
            f"    const double {name} = _p[{i}];" for i, name in enumerate(program.parameters) if name in this.read
        ]
        for block in this.blocks:
            text += self._block(block)
        text += [f"    _dy[{i}] = {name};" for i, name in enumerate(program.derivatives)]
        return "\n".join([*text, "}"]) + "\n"

    def _block(self, block) -> list[str]:
        printed = lambda line: self._expression(crossed(self.program, block.over, line.expression))
        if not block.over:
            return [f"    const double {line.name} = {printed(line)};" for line in block.lines]
        n = self.rows[block.over]
        lines = [f"    double {line.name}[{n}];" for line in block.lines]
        lines.append(f"    for (int _r = 0; _r < {n}; _r++) {{")
        lines += [f"        {line.name}[_r] = {printed(line)};" for line in block.lines]
        return [*lines, "    }"]

    def _expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value):
                return repr(float(number(value)))
            case ast.Name(id):
                return f"{id}[_r]" if id in self.program.table_of else id
            case ast.UnaryOp(op, operand):
                return f"({'-' if isinstance(op, ast.USub) else '+'}{self._expression(operand)})"
            case ast.BinOp(left, ast.Pow(), right):
                return self._power(left, right)
            case ast.BinOp(left, op, right):
                sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(op)]
                return f"({self._expression(left)} {sign} {self._expression(right)})"
            case ast.Call(ast.Name(name), arguments):
                return self._call(name, arguments)
        raise ValueError(f"no such part of a program: {ast.dump(node)}")

    def _power(self, left: ast.expr, right: ast.expr) -> str:
        base = self._expression(left)
        if isinstance(right, ast.Constant) and right.value == 2:
            return f"({base} * {base})"
        return f"pow({base}, {self._expression(right)})"

    def _call(self, name: str, arguments: list[ast.expr]) -> str:
        if name == "total":
            return f"total({variable(arguments[0])}, {self.rows[self.program.table_of[variable(arguments[0])]]})"
        if name in ("linked", "spread"):
            x, link = variable(arguments[0]), variable(arguments[1])
            parent, child = self.this.links[link].shape
            if name == "linked":
                return f"linked({x}, {link} + _r * {child}, {child})"
            return f"spread({x}, {link} + _r, {parent}, {child})"
        printed = [self._expression(argument) for argument in arguments]
        if name in ("max", "min"):
            folded = printed[0]
            for other in printed[1:]:
                folded = f"f{name}({folded}, {other})"
            return folded
        return f"{name}({', '.join(printed)})"


def _array(values: np.ndarray) -> str:
    numbers = ("INFINITY" if v == np.inf else "-INFINITY" if v == -np.inf else repr(float(v)) for v in values)
    return "{" + ", ".join(numbers) + "}"
