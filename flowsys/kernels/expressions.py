"""Expressions of a program on vectors, each value with its derivative along a direction where one is carried."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import pi, sqrt
from typing import NamedTuple

from flowsys.kernels import functions
from flowsys.kernels.writer import Writer
from flowsys.program.parsing import called, number

# calls whose meaning depends on where they stand: crossings between blocks, and kinks
SPECIAL = frozenset({"total", "linked", "spread", "relu", "step"})


class Value(NamedTuple):
    """A vector, its derivative along the direction (None is zero), and the number it is if it is a constant."""

    primal: str
    tangent: str | None = None
    number: float | None = None


_ARITHMETIC = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


class Expressions(ABC):
    """Writes expressions; what a name and a special call mean is known to the one who writes the whole function."""

    def __init__(self, w: Writer, directional: bool, outlined: bool):
        self.w, self.directional, self.outlined = w, directional, outlined
        self.values: dict[str, Value] = {}

    @abstractmethod
    def _special(self, node: ast.Call) -> Value: ...

    def _number(self, x: float) -> Value:
        return Value(self.w.constant(x), None, float(x))

    def expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return self._number(number(node.value))
            case ast.Name():
                return self.values[node.id]
            case ast.UnaryOp(op=ast.USub()):
                return self._negated(self.expression(node.operand))
            case ast.UnaryOp(op=ast.UAdd()):
                return self.expression(node.operand)
            case ast.BinOp():
                return self._binary(node)
            case ast.Call() if called(node) in SPECIAL:
                return self._special(node)
            case ast.Call():
                return self._call(node)
        raise ValueError(f"a native kernel cannot read {ast.unparse(node)!r}")

    def _negated(self, x: Value) -> Value:
        if x.number is not None:
            return self._number(-x.number)
        return Value(self.w.neg(x.primal), self.w.neg(x.tangent) if x.tangent else None)

    def _binary(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Pow):
            return self._power(self.expression(node.left), self.expression(node.right))
        if isinstance(node.op, (ast.Add, ast.Sub)) and (fused := self._fused(node)):
            return fused
        a, b = self.expression(node.left), self.expression(node.right)
        if a.number is not None and b.number is not None:
            return self._number(_ARITHMETIC[type(node.op)](a.number, b.number))
        match node.op:
            case ast.Add():
                return self._sum(a, b)
            case ast.Sub():
                return self._sum(a, b, "sub")
            case ast.Mult():
                return self._product(a, b)
            case ast.Div():
                return self._quotient(a, b)
        raise ValueError(f"a native kernel cannot read {ast.unparse(node)!r}")

    def _fused(self, node: ast.BinOp) -> Value | None:
        """a·b ± c and c ± a·b in one rounding, where no derivative is carried."""
        minus = isinstance(node.op, ast.Sub)
        if self.directional or not self.w.fused:
            return None
        if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult):
            c, (a, b) = self.expression(node.left), map(self.expression, (node.right.left, node.right.right))
            if c.number == 0:
                return None
            return Value(self.w.fma(self._negated(a).primal if minus else a.primal, b.primal, c.primal))
        if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Mult):
            (a, b), c = map(self.expression, (node.left.left, node.left.right)), self.expression(node.right)
            return Value(self.w.fma(a.primal, b.primal, self._negated(c).primal if minus else c.primal))
        return None

    def _sum(self, a: Value, b: Value, sign: str = "add") -> Value:
        w = self.w
        combine = w.add if sign == "add" else w.sub
        tangent: str | None
        if a.tangent and b.tangent:
            tangent = combine(a.tangent, b.tangent)
        elif b.tangent and sign == "sub":
            tangent = w.neg(b.tangent)
        else:
            tangent = a.tangent or b.tangent
        return Value(combine(a.primal, b.primal), tangent)

    def _product(self, a: Value, b: Value) -> Value:
        w, tangent = self.w, None
        if a.tangent:
            tangent = w.mul(a.tangent, b.primal)
        if b.tangent:
            tangent = w.fma(a.primal, b.tangent, tangent) if tangent else w.mul(a.primal, b.tangent)
        return Value(w.mul(a.primal, b.primal), tangent)

    def _quotient(self, a: Value, b: Value) -> Value:
        w = self.w
        result, tangent = w.div(a.primal, b.primal), a.tangent
        if b.tangent:
            change = w.mul(result, b.tangent)
            tangent = w.sub(tangent, change) if tangent else w.neg(change)
        return Value(result, w.div(tangent, b.primal) if tangent else None)

    def _power(self, base: Value, exponent: Value) -> Value:
        w, p = self.w, exponent.number
        if p is None:
            logarithm = self._unary("log", base)
            return self._unary("exp", self._product(exponent, logarithm))
        if base.number is not None:
            return self._number(base.number**p)
        if p < 0:
            return self._quotient(self._number(1.0), self._power(base, self._number(-p)))
        if p == int(p):
            return self._integer_power(base, int(p))
        if 2 * p == int(2 * p):
            root = self._unary("sqrt", base)
            return self._product(root, self._integer_power(base, int(p - 0.5))) if p > 0.5 else root
        result = self._applied("exp", w.mul(w.constant(p), self._applied("log", base.primal)))
        slope = w.div(w.mul(w.constant(p), result), base.primal)
        return Value(result, w.mul(slope, base.tangent) if base.tangent else None)

    def _integer_power(self, base: Value, n: int) -> Value:
        if n == 0:
            return self._number(1.0)
        if n == 1:
            return base
        half = self._integer_power(base, n // 2)
        square = self._product(half, half)
        return self._product(square, base) if n % 2 else square

    def _applied(self, name: str, x: str) -> str:
        """A function written here, or called where it is written once for all."""
        if self.outlined:
            return self.w.value(f"call {self.w.vector} @{name}_of({self.w.vector} {x})")
        return functions.UNARY[name](self.w, x)

    def _unary(self, name: str, x: Value) -> Value:
        w, result = self.w, self._applied(name, x.primal)
        if not x.tangent:
            return Value(result)
        one = w.constant(1.0)
        slopes: dict[str, Callable[[], str]] = {
            "exp": lambda: result,
            "log": lambda: w.div(one, x.primal),
            "sqrt": lambda: w.div(w.constant(0.5), result),
            "tanh": lambda: w.sub(one, w.mul(result, result)),
            "sinh": lambda: self._applied("cosh", x.primal),
            "cosh": lambda: self._applied("sinh", x.primal),
            "sin": lambda: self._applied("cos", x.primal),
            "cos": lambda: w.neg(self._applied("sin", x.primal)),
            "asin": lambda: w.div(one, self._applied("sqrt", w.mul(w.sub(one, x.primal), w.add(one, x.primal)))),
            "erf": lambda: w.mul(w.constant(2 / sqrt(pi)), self._applied("exp", w.neg(w.mul(x.primal, x.primal)))),
            "sigmoid": lambda: w.mul(result, w.sub(one, result)),
            "softplus": lambda: self._applied("sigmoid", x.primal),
        }
        return Value(result, w.mul(slopes[name](), x.tangent))

    def _call(self, node: ast.Call) -> Value:
        name, w = called(node), self.w
        arguments = [self.expression(a) for a in node.args]
        if name in functions.UNARY:
            return self._unary(name, arguments[0])
        zero = w.constant(0.0)
        if name == "positive":
            return Value(w.select(w.compare("ogt", arguments[0].primal, zero), w.constant(1.0), zero))
        if name == "masked":
            score, count = arguments
            return self._chosen(w.compare("ogt", count.primal, zero), score, self._number(-1e300))
        if name in ("max", "min"):
            result = arguments[0]
            for x in arguments[1:]:
                if not (result.tangent or x.tangent):
                    result = Value((w.maximum if name == "max" else w.minimum)(result.primal, x.primal))
                    continue
                is_first = w.compare("ugt" if name == "max" else "ult", result.primal, x.primal)
                result = self._chosen(is_first, result, x)
            return result
        raise ValueError(f"a native kernel does not know the function {name!r}")

    def _chosen(self, condition: str, a: Value, b: Value) -> Value:
        w, zero = self.w, self.w.constant(0.0)
        tangent = None
        if a.tangent or b.tangent:
            tangent = w.select(condition, a.tangent or zero, b.tangent or zero)
        return Value(w.select(condition, a.primal, b.primal), tangent)
