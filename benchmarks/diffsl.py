"""The written-out program in DiffSL, the language of diffsol: parameters in, states u, right-hand side F."""

import ast

from problem import WIDTH, problem
from scalar_code import scalar_program


def diffsl() -> str:
    """The smooth field; the last parameter is the initial value of the states that do not start at zero."""
    program, start = scalar_program(), problem().initial
    names = {name: f"q{i}" for i, name in enumerate((*program.state, *program.parameters))}
    lines = []
    for block in program.needed_for(program.derivatives):
        for line in block.lines:
            text = _Printer(names).visit(ast.parse(line.expression, mode="eval").body)
            names[line.name] = f"q{len(names)}"
            lines.append(f"{names[line.name]} {{ {text} }}")
    parameters = ", ".join(f"{names[p]} = 1" for p in program.parameters)
    states = ", ".join(f"{names[s]} = {'start' if y else '0.0'}" for s, y in zip(program.state, start))
    right = ", ".join(names[d] for d in program.derivatives)
    return "\n".join([f"in_i {{ {parameters}, start = 1 }}", f"u_i {{ {states} }}", *lines, f"F_i {{ {right} }}"])


class _Printer(ast.NodeVisitor):
    """An expression of the program as DiffSL text."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> str:
        return self.names[node.id]

    def visit_Constant(self, node: ast.Constant) -> str:
        return f"{float(node.value)!r}"

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        return self._sum(node)

    def visit_BinOp(self, node: ast.BinOp) -> str:
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._sum(node)
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return f"pow({left}, {right})"
        return f"({left} {'*' if isinstance(node.op, ast.Mult) else '/'} {right})"

    def _sum(self, node: ast.expr) -> str:
        """Positive terms first, then the others: the compiler of pydiffsol gives up on sums of negations."""
        added, taken = self._terms(node, True), self._terms(node, False)
        return "(" + " - ".join([" + ".join(added) or "0.0", *taken]) + ")"

    def _terms(self, node: ast.expr, positive: bool) -> list[str]:
        if isinstance(node, ast.UnaryOp):
            return self._terms(node.operand, not positive)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            other = positive if isinstance(node.op, ast.Add) else not positive
            return [*self._terms(node.left, positive), *self._terms(node.right, other)]
        return [self.visit(node)] if positive else []

    def visit_Call(self, node: ast.Call) -> str:
        arguments = [self.visit(a) for a in node.args]
        match node.func.id:
            case "sigmoid":
                return f"sigmoid({arguments[0]})"
            case "step":
                return f"sigmoid({arguments[0]} / {WIDTH})"
            case "relu":
                # δ log(1 + e^(x/δ)) without overflow
                x = f"({arguments[0]} / {WIDTH})"
                up = f"heaviside({x})"
                return f"({WIDTH} * ({x} * {up} + log(1.0 + exp({x} * (1.0 - 2.0 * {up})))))"
            case "max" | "min" as name:
                text = arguments[0]
                for other in arguments[1:]:
                    text = f"{name}({text}, {other})"
                return text
            case name:
                return f"{name}({', '.join(arguments)})"
