"""One function of the compiled subset, statement by statement, as LLVM assembly.

Variables live in memory slots that the optimiser turns into registers, so that control flow needs no bookkeeping.
"""

import ast
from typing import NoReturn

from flowsys.kernels.restricted import Compiler, text_type
from flowsys.kernels.writer import Writer, bits
from flowsys.program.parsing import number

_RELATIONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_OPERATIONS = {
    ast.Add: ("fadd", "add"),
    ast.Sub: ("fsub", "sub"),
    ast.Mult: ("fmul", "mul"),
    ast.Div: ("fdiv", None),
    ast.FloorDiv: (None, "sdiv"),
    ast.Mod: (None, "srem"),
}
Typed = tuple[str, str]


class Lowering:
    """A function under way."""

    def __init__(self, compiler: Compiler, node: ast.FunctionDef):
        self.c, self.node = compiler, node
        self.w = Writer(1, compiler.fused)
        self.variables: dict[str, Typed] = {}
        self.loops: list[tuple[str, str]] = []
        self.kinds, self.result = compiler.signatures[node.name]

    def text(self, linkage: str) -> str:
        names = [a.arg for a in self.node.args.args]
        for name, kind in zip(names, self.kinds):
            self._assign(name, (kind, f"%{name}"))
        self._block(self.node.body)
        ends = {"void": "ret void", "double": "ret double 0.0", "i64": "ret i64 0"}
        self.w.do(ends[self.result])
        arguments = ", ".join(f"{text_type(k)} %{n}" for n, k in zip(names, self.kinds))
        return self.w.function(self.node.name, arguments, f"{linkage}{text_type(self.result)}", "nounwind")

    def _refuse(self, node: ast.AST) -> NoReturn:
        raise SyntaxError(f"{self.node.name}: not in the compiled subset: {ast.unparse(node)!r}")

    # -- statements ---------------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call()):
                self._expression(node.value)
            case ast.Assign(targets=[target]):
                self._store(target, self._expression(node.value))
            case ast.AugAssign():
                combined = ast.BinOp(node.target, node.op, node.value)
                self._store(node.target, self._expression(combined))
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Return():
                self._return(node)
            case ast.Break():
                self._jump(self.loops[-1][1])
            case ast.Continue():
                self._jump(self.loops[-1][0])
            case _:
                self._refuse(node)

    def _jump(self, label: str) -> None:
        """Leave the present block; what follows textually is unreachable and gets a block of its own."""
        self.w.do(f"br label %{label}")
        self.w.label(self.w.fresh("after"))

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            self.w.do("ret void")
        else:
            _, value = self._converted(self._expression(node.value), self.result)
            self.w.do(f"ret {text_type(self.result)} {value}")
        self.w.label(self.w.fresh("after"))

    def _if(self, node: ast.If) -> None:
        w = self.w
        then, otherwise, end = (w.fresh(x) for x in ("then", "else", "end"))
        w.do(f"br i1 {self._condition(node.test)}, label %{then}, label %{otherwise}")
        for label, body in ((then, node.body), (otherwise, node.orelse)):
            w.label(label)
            self._block(body)
            w.do(f"br label %{end}")
        w.label(end)

    def _while(self, node: ast.While) -> None:
        w = self.w
        head, body, end = (w.fresh(x) for x in ("head", "body", "end"))
        w.do(f"br label %{head}")
        w.label(head)
        w.do(f"br i1 {self._condition(node.test)}, label %{body}, label %{end}")
        w.label(body)
        self.loops.append((head, end))
        self._block(node.body)
        self.loops.pop()
        w.do(f"br label %{head}")
        w.label(end)

    def _for(self, node: ast.For) -> None:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds)):
                pass
            case _:
                self._refuse(node)
        w = self.w
        start = self._expression(bounds[0]) if len(bounds) == 2 else ("i64", "0")
        _, stop = self._expression(bounds[-1])
        self._assign(name, start)
        head, body, step, end = (w.fresh(x) for x in ("head", "body", "step", "end"))
        w.do(f"br label %{head}")
        w.label(head)
        more = w.value(f"icmp slt i64 {self._read(name)[1]}, {stop}")
        w.do(f"br i1 {more}, label %{body}, label %{end}")
        w.label(body)
        self.loops.append((step, end))
        self._block(node.body)
        self.loops.pop()
        w.do(f"br label %{step}")
        w.label(step)
        self._assign(name, ("i64", w.value(f"add i64 {self._read(name)[1]}, 1")))
        w.do(f"br label %{head}")
        w.label(end)

    # -- variables and memory -----------------------------------------------------------------------------------

    def _assign(self, name: str, value: Typed) -> None:
        if name not in self.variables:
            kind = "i64" if value[0] == "i1" else value[0]
            self.variables[name] = (kind, self.w.local(text_type(kind)))
        kind, place = self.variables[name]
        _, text = self._converted(value, kind)
        self.w.do(f"store {text_type(kind)} {text}, ptr {place}")

    def _read(self, name: str) -> Typed:
        if name in self.variables:
            kind, place = self.variables[name]
            return kind, self.w.value(f"load {text_type(kind)}, ptr {place}")
        if name in self.c.constants:
            return self._constant(self.c.constants[name])
        raise NameError(f"{self.node.name}: {name!r} is neither a variable nor a constant")

    def _constant(self, x: float) -> Typed:
        return ("i64", str(int(x))) if isinstance(x, int) else ("double", bits(x))

    def _address(self, node: ast.expr) -> Typed:
        """(type of the value there, address) of an indexed or attribute expression."""
        match node:
            case ast.Subscript():
                kind, pointer = self._expression(node.value)
                _, index = self._converted(self._expression(node.slice), "i64")
                element = {"doubles": "double", "integers": "i64"}.get(kind) or self._refuse(node)
                return element, self.w.value(f"getelementptr inbounds {element}, ptr {pointer}, i64 {index}")
            case ast.Attribute():
                kind, pointer = self._expression(node.value)
                position, field = self.c.records[kind.removeprefix("record ")][node.attr]
                return field, self.w.value(f"getelementptr inbounds i64, ptr {pointer}, i64 {position}")
        self._refuse(node)

    def _store(self, target: ast.expr, value: Typed) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value)
            return
        kind, address = self._address(target)
        _, text = self._converted(value, kind)
        self.w.do(f"store {text_type(kind)} {text}, ptr {address}")

    # -- expressions --------------------------------------------------------------------------------------------

    def _converted(self, value: Typed, kind: str) -> Typed:
        if value[0] == kind:
            return value
        if (value[0], kind) == ("i64", "double"):
            return kind, self.w.value(f"sitofp i64 {value[1]} to double")
        if (value[0], kind) == ("double", "i64"):
            return kind, self.w.value(f"fptosi double {value[1]} to i64")
        if (value[0], kind) == ("i1", "i64"):
            return kind, self.w.value(f"zext i1 {value[1]} to i64")
        raise TypeError(f"{self.node.name}: {value[0]} where {kind} is expected")

    def _condition(self, node: ast.expr) -> str:
        kind, value = self._expression(node)
        return value if kind == "i1" else self.w.value(f"icmp ne i64 {value}, 0")

    def _expression(self, node: ast.expr) -> Typed:
        match node:
            case ast.Constant(value=int() | float()):
                return self._constant(int(node.value) if isinstance(node.value, bool) else number(node.value))
            case ast.Name():
                return self._read(node.id)
            case ast.Subscript() | ast.Attribute():
                kind, address = self._address(node)
                return kind, self.w.value(f"load {text_type(kind)}, ptr {address}")
            case ast.UnaryOp(op=ast.USub()):
                kind, value = self._expression(node.operand)
                return kind, self.w.value(f"fneg double {value}" if kind == "double" else f"sub i64 0, {value}")
            case ast.UnaryOp(op=ast.Not()):
                return "i1", self.w.value(f"xor i1 {self._condition(node.operand)}, true")
            case ast.BinOp():
                return self._binary(node)
            case ast.Compare(ops=[operator], comparators=[right]):
                return self._compare(operator, self._expression(node.left), self._expression(right))
            case ast.BoolOp():
                return self._boolean(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, node)
        self._refuse(node)

    def _binary(self, node: ast.BinOp) -> Typed:
        a, b = self._expression(node.left), self._expression(node.right)
        if a[0] in ("doubles", "integers"):
            return a[0], self.w.value(f"getelementptr inbounds i64, ptr {a[1]}, i64 {b[1]}")
        for_doubles, for_integers = _OPERATIONS[type(node.op)]
        if a[0] == b[0] == "i64" and for_integers:
            return "i64", self.w.value(f"{for_integers} i64 {a[1]}, {b[1]}")
        (_, x), (_, y) = self._converted(a, "double"), self._converted(b, "double")
        return "double", self.w.value(f"{for_doubles} double {x}, {y}")

    def _compare(self, operator: ast.cmpop, a: Typed, b: Typed) -> Typed:
        relation = _RELATIONS[type(operator)]
        a, b = (self._converted(x, "i64") if x[0] == "i1" else x for x in (a, b))
        if a[0] == b[0] == "i64":
            signed = relation if relation in ("eq", "ne") else f"s{relation}"
            return "i1", self.w.value(f"icmp {signed} i64 {a[1]}, {b[1]}")
        (_, x), (_, y) = self._converted(a, "double"), self._converted(b, "double")
        prefix = "u" if relation == "ne" else "o"
        return "i1", self.w.value(f"fcmp {prefix}{relation} double {x}, {y}")

    def _boolean(self, node: ast.BoolOp) -> Typed:
        """`and` and `or` that evaluate no further than Python would."""
        w, is_and = self.w, isinstance(node.op, ast.And)
        place, end = w.local("i1"), w.fresh("decided")
        for operand in node.values:
            value, more = self._condition(operand), w.fresh("more")
            w.do(f"store i1 {value}, ptr {place}")
            taken = (more, end) if is_and else (end, more)
            w.do(f"br i1 {value}, label %{taken[0]}, label %{taken[1]}")
            w.label(more)
        w.do(f"br label %{end}")
        w.label(end)
        return "i1", w.value(f"load i1, ptr {place}")

    def _choice(self, node: ast.IfExp) -> Typed:
        """`a if c else b`: as in Python, only the side that is chosen is evaluated."""
        w = self.w
        then, otherwise, from_then, from_other, end = (w.fresh(x) for x in ("then", "else", "then", "else", "end"))
        w.do(f"br i1 {self._condition(node.test)}, label %{then}, label %{otherwise}")
        w.label(then)
        a = self._expression(node.body)
        w.do(f"br label %{from_then}")
        w.label(otherwise)
        b = self._expression(node.orelse)
        w.do(f"br label %{from_other}")
        kind = a[0] if a[0] == b[0] else "double"
        name, place = text_type(kind), w.local(text_type(kind))
        for label, value in ((from_then, a), (from_other, b)):
            w.label(label)
            w.do(f"store {name} {self._converted(value, kind)[1]}, ptr {place}")
            w.do(f"br label %{end}")
        w.label(end)
        return kind, w.value(f"load {name}, ptr {place}")

    def _call(self, name: str, node: ast.Call) -> Typed:
        w, arguments = self.w, [self._expression(a) for a in node.args]
        if name in ("sqrt", "fabs"):
            w.declared.add(f"declare double @llvm.{name}.f64(double)")
            _, x = self._converted(arguments[0], "double")
            return "double", w.value(f"call double @llvm.{name}.f64(double {x})")
        if name in ("fmax", "fmin"):
            (_, x), (_, y) = (self._converted(a, "double") for a in arguments)
            first = w.value(f"fcmp o{'gt' if name == 'fmax' else 'lt'} double {x}, {y}")
            return "double", w.value(f"select i1 {first}, double {x}, double {y}")
        if name == "take_next":
            return "i64", w.value(f"atomicrmw add ptr {arguments[0][1]}, i64 1 monotonic")
        if name == "invoke":
            pointers = ", ".join(f"ptr {value}" for _, value in arguments[1:])
            w.do(f"call void {arguments[0][1]}({pointers})")
            return "void", ""
        if name not in self.c.signatures:
            self._refuse(node)
        kinds, result = self.c.signatures[name]
        if len(kinds) != len(arguments):
            raise TypeError(f"{self.node.name}: {name} takes {len(kinds)} arguments, not {len(arguments)}")
        converted = [self._converted(a, k)[1] for a, k in zip(arguments, kinds)]
        written = ", ".join(f"{text_type(k)} {x}" for k, x in zip(kinds, converted))
        call = f"call {text_type(result)} @{name}({written})"
        if result == "void":
            w.do(call)
            return "void", ""
        return result, w.value(call)
