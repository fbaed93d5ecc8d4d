"""The written-out program in DiffSL, the language of diffsol: parameters in, states u, right-hand side F."""

import ast

from problem import WIDTH, problem, scalar_program


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
        return f"(-{self.visit(node.operand)})"

    def visit_BinOp(self, node: ast.BinOp) -> str:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return f"pow({left}, {right})"
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
        return f"({left} {sign} {right})"

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
