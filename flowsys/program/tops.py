"""The tops of softmaxes: maxima that the results do not depend on.

A program writes a softmax as top = max(s_i where n_i > 0), e_i = n_i exp(min(s_i - top, 0)), p_i = e_i / Σ e_j, and a
log-sum-exp as top + log Σ e_j. As s_i ≤ top wherever n_i > 0, every min does nothing but where its product is 0 anyway;
without the mins, e_i is exp(-top) times something free of top, and the results are free of it. Both are proven here
from the text: a line's value is a·top plus (`shift a`) or e^(a·top) times (`scale a`) something free of top. Such a top
may then be any constant, and its maximum is no kink.
"""

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction

from flowsys.program import Program
from flowsys.program.parsing import called, number, parsed_expression

Form = dict[str, Fraction]  # a linear form over names; "" is the constant


class _Depends(Exception):
    """A value that depends on top in no simple way."""


def free_tops(program: Program, is_positive: Callable[[str, str], bool]) -> dict[str, frozenset[str]]:
    """The tops that nothing depends on, and the expressions (as text) of the mins that do nothing because of each.

    `is_positive` says of an expression on a table whether the data make it positive on every row.
    """
    lines = {line.name: line for block in program.blocks for line in block.lines}
    found = {}
    for name, line in lines.items():
        tree = line.tree
        if isinstance(tree, ast.Call) and called(tree) == "max":
            analysis = _Analysis(program, name, tree, lines, is_positive)
            if analysis.holds():
                found[name] = frozenset(analysis.idle_mins)
    return found


class _Analysis:
    """How every value of a program depends on one top."""

    def __init__(self, program: Program, top: str, tree: ast.Call, lines: Mapping, is_positive: Callable):
        self.program, self.top, self.lines, self.table_of = program, top, lines, program.table_of
        self.is_positive = is_positive
        self.kinds: dict[str, tuple[str, Fraction]] = {top: ("shift", Fraction(1))}
        self.idle_mins: set[str] = set()
        self.scores = [self._score(argument) for argument in tree.args]

    def holds(self) -> bool:
        """Whether no derivative, observable or kink depends on top."""
        begun = False
        for block in self.program.blocks:
            for line in block.lines:
                if line.name == self.top:
                    begun = True
                elif begun and any(name in self.kinds for name in line.reads):
                    try:
                        kind = self._kind(line.tree)
                    except _Depends:
                        return False
                    if kind[1]:
                        self.kinds[line.name] = kind
        outputs = {*self.program.derivatives, *self.program.observables.values(), *self.program.kinks}
        return not any(name in self.kinds for name in outputs)

    # -- how an expression depends on top ------------------------------------------------------------------------

    def _kind(self, node: ast.expr) -> tuple[str, Fraction]:
        free = ("free", Fraction(0))
        if isinstance(node, ast.Constant):
            return free
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, free)
        if isinstance(node, ast.UnaryOp):
            kind, a = self._kind(node.operand)
            return (kind, -a) if kind == "shift" else (kind, a)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        raise _Depends

    def _of_operation(self, node: ast.BinOp) -> tuple[str, Fraction]:
        (left, a), (right, b) = self._kind(node.left), self._kind(node.right)
        if not a and not b:
            return "free", Fraction(0)
        kinds = {left, right} - {"free"}
        if isinstance(node.op, ast.Add | ast.Sub):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            if kinds == {"shift"}:
                total = a + sign * b
                return ("shift", total) if total else ("free", Fraction(0))
            if kinds == {"scale"} and left == right and a == b:
                return "scale", a
        if isinstance(node.op, ast.Mult) and kinds == {"scale"}:
            return ("scale", a + b) if a + b else ("free", Fraction(0))
        if isinstance(node.op, ast.Div) and kinds == {"scale"}:
            return ("scale", a - b) if a - b else ("free", Fraction(0))
        if isinstance(node.op, ast.Pow) and left == "scale" and isinstance(node.right, ast.Constant):
            return "scale", a * int(number(node.right.value))
        raise _Depends

    def _of_call(self, node: ast.Call) -> tuple[str, Fraction]:
        name = called(node)
        kinds = [self._kind(argument) for argument in node.args]
        if not any(a for _, a in kinds):
            return "free", Fraction(0)
        kind, a = kinds[0]
        if name == "exp" and kind == "shift":
            return "scale", a
        if name == "log" and kind == "scale":
            return "shift", a
        if name == "min" and kinds[0] == ("shift", Fraction(-1)) and self._is_idle(node):
            return kinds[0]
        raise _Depends

    # -- mins that do nothing ------------------------------------------------------------------------------------

    def _is_idle(self, node: ast.Call) -> bool:
        """Whether min(s - top, 0) is s - top wherever it counts: s is one of top's scores, with its count as factor."""
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant) or node.args[1].value != 0:
            return False
        score = self._linear(node.args[0])
        score[self.top] = score.get(self.top, Fraction(0)) + 1
        score = _plain(score)
        counts = [count for candidate, count in self.scores if candidate == score]
        text = ast.unparse(node)
        if not counts:
            return False
        if None not in counts and not all(
            any(self._is_multiple(factor, count) for count in counts if count is not None)
            for factor in self._factors_of(node)
        ):
            return False
        self.idle_mins.add(text)
        return True

    def _factors_of(self, node: ast.Call) -> list[list[ast.expr]]:
        """What exp(min) is multiplied by, at each place where this min stands; a bare one has no factors."""
        text, found = ast.unparse(node), []
        for line in self.lines.values():
            if text in line.expression:
                inside = sum(ast.unparse(n) == text for n in ast.walk(line.tree) if isinstance(n, ast.Call))
                products = [] if not inside else _products(line.tree)
                holding = [p for p in products if any(ast.unparse(f) == f"exp({text})" for f in p)]
                found += [[f for f in p if ast.unparse(f) != f"exp({text})"] for p in holding]
                found += [[]] * (inside - len(holding))
        return found

    def _is_multiple(self, factors: list[ast.expr], count: Form) -> bool:
        """Whether one of the factors is a multiple of the count: the product is 0 where the count is."""
        for factor in factors:
            form = _plain(self._linear(factor))
            if form.keys() == count.keys() and len({form[n] / count[n] for n in form}) == 1:
                return True
        return False

    def _score(self, argument: ast.expr) -> tuple[Form, Form | None]:
        """A score of the maximum as a linear form, and its count if it is masked."""
        seen = argument
        while isinstance(seen, ast.Name) and seen.id in self.lines and self._is_here(seen.id):
            tree = self.lines[seen.id].tree
            if not isinstance(tree, ast.Name) and not (isinstance(tree, ast.Call) and called(tree) == "masked"):
                break
            seen = tree
        if isinstance(seen, ast.Call) and called(seen) == "masked":
            is_counted = self.is_positive(ast.unparse(seen.args[1]), self.table_of.get(self.top, ""))
            return _plain(self._linear(seen.args[0])), None if is_counted else _plain(self._linear(seen.args[1]))
        return _plain(self._linear(argument)), None

    def _is_here(self, name: str) -> bool:
        return self.table_of.get(name, "") in ("", self.table_of.get(self.top, ""))

    def _linear(self, node: ast.expr) -> Form:
        """An expression as a linear form over names, lines that are linear themselves read through."""
        if isinstance(node, ast.Constant):
            return {"": Fraction(str(node.value))}
        if isinstance(node, ast.Name):
            line = self.lines.get(node.id)
            if line is not None and node.id != self.top and isinstance(line.tree, ast.UnaryOp | ast.BinOp | ast.Name):
                return self._linear(line.tree)
            return {node.id: Fraction(1)}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return {name: -a for name, a in self._linear(node.operand).items()}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            total, sign = dict(self._linear(node.left)), 1 if isinstance(node.op, ast.Add) else -1
            for name, a in self._linear(node.right).items():
                total[name] = total.get(name, Fraction(0)) + sign * a
            return total
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = _plain(self._linear(node.left)), _plain(self._linear(node.right))
            for number, form in ((left, right), (right, left)):
                if number.keys() <= {""}:
                    return {name: a * number.get("", Fraction(0)) for name, a in form.items()}
        return {f"({ast.unparse(node)})": Fraction(1)}


def _plain(form: Form) -> Form:
    return {name: a for name, a in form.items() if a}


def _products(tree: ast.expr) -> list[list[ast.expr]]:
    """The factors of every largest product in an expression, signs left away."""
    found: list[list[ast.expr]] = []

    def visit(node: ast.AST) -> None:
        factors = _factors(node)
        if len(factors) > 1:
            found.append(factors)
        for child in factors if len(factors) > 1 else ast.iter_child_nodes(node):
            visit(child)

    visit(parsed_expression(ast.unparse(tree)))
    return found


def _factors(node: ast.AST) -> list:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.BinOp):
        return _factors(node.operand)
    return [node]
