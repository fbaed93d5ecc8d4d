"""Maxima and minima in a vector field as ReLUs, so that one machinery proves gates constant or crossed.

max(a, b) = b + relu(a - b) and min(a, b) = a - relu(a - b): clips and the joints of power-ReLUs become kinks like any
other. Tops of softmaxes that nothing depends on, choices among data alone, masked scores and what only observables read
stay as they are.
"""

import ast
import copy
from collections.abc import Mapping

from flowsys.program import Block, Line, Program
from flowsys.program.parsing import called


def with_gates(program: Program, tops: Mapping[str, frozenset[str]]) -> Program:
    """The same program with its choices written as ReLUs; `tops` are those of `flowsys.program.tops.free_tops`."""
    in_field = {line.name for block in program.needed_for(program.derivatives) for line in block.lines}
    idle = frozenset().union(*tops.values())
    moves = set(program.state)
    blocks: list[Block] = []
    count = 0
    for block in program.blocks:
        lines: list[Line] = []
        for line in block.lines:
            if line.reads & moves and line.name not in tops:
                moves.add(line.name)
            if line.name in in_field and line.name not in tops and line.name in moves:
                rewriting = _Rewriting(moves, idle, count)
                tree = rewriting.visit(copy.deepcopy(line.tree))
                count = rewriting.count
                if rewriting.lines:
                    lines += rewriting.lines
                    moves |= {new.name for new in rewriting.lines}
                    line = Line(line.name, ast.unparse(tree))
            lines.append(line)
        blocks.append(Block(block.over, tuple(lines)))
    if not count:
        return program
    return Program(
        program.state, program.parameters, tuple(blocks), program.derivatives, program.observables, program.tables,
        program.links,
    )  # fmt: skip


class _Rewriting(ast.NodeTransformer):
    """Rewrites the choices of one line; the arguments of their gates are lines of their own."""

    def __init__(self, moves: set[str], idle: frozenset[str], count: int):
        self.moves, self.idle, self.count = moves, idle, count
        self.lines: list[Line] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = ast.unparse(node)
        if called(node) not in ("max", "min") or text in self.idle or "masked(" in text:
            return self.generic_visit(node)
        if not any(isinstance(n, ast.Name) and n.id in self.moves for n in ast.walk(node)):
            return node
        self.generic_visit(node)
        chosen = node.args[0]
        for other in node.args[1:]:
            kink = f"choice_{self.count}"
            self.count += 1
            self.lines.append(Line(kink, ast.unparse(ast.BinOp(chosen, ast.Sub(), other))))
            self.moves.add(kink)
            gate = ast.Call(ast.Name("relu"), [ast.Name(kink)], [])
            is_max = called(node) == "max"
            chosen = ast.BinOp(other, ast.Add(), gate) if is_max else ast.BinOp(chosen, ast.Sub(), gate)
        return chosen
