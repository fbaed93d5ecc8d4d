"""Gram blocks in matrix form: dS/dt = -c (KK G + G QQ) where the loss reads the product of two factors alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sympy as sp

from flowsys.symbolic.flow import Gram


@dataclass(frozen=True)
class Pair:
    """Two factors that share an inner width: M = [[A, S], [Sᵀ, B]], of which the loss reads S."""

    number: int
    left: sp.Matrix
    product: sp.Matrix
    right: sp.Matrix
    gradient: sp.Matrix
    factor: sp.Expr
    is_eliminated: bool

    @property
    def names(self) -> tuple[str, str, str]:
        """What the names of the entries of A, S and B have in common."""
        return shared_name(self.left), shared_name(self.product), shared_name(self.right)


def pair_of(block: Gram, gradient: Callable[[sp.Symbol], sp.Expr], number: int) -> Pair | None:
    """A Gram block read as a pair, where its slopes stand in one off-diagonal block."""
    M = block.matrix
    n = M.rows
    slopes = sp.Matrix(n, n, lambda i, j: gradient(M[i, j]) if M[i, j].is_Symbol else sp.S.Zero)
    for split in range(1, n):
        inside = [*slopes[:split, :split], *slopes[split:, split:]]
        if any(inside) or not any(slopes[:split, split:]):
            continue
        factor = sp.factor(sp.cancel(block.trains / block.multiplicity))
        parts = M[:split, :split], M[:split, split:], M[split:, split:]
        return Pair(number, *parts, slopes[:split, split:], factor, bool(block.eliminated))
    return None


def shared_name(entries: sp.Matrix) -> str:
    """S_mean of S_cc_mean … S_vv_mean: the beginning and the end that the names of entries share."""
    names = [str(x).split("_") for x in entries if sp.sympify(x).is_Symbol]
    if not names:
        return ""
    first = 0
    while all(len(name) > first and name[first] == names[0][first] for name in names):
        first += 1
    last = 0
    while all(len(name) > first + last and name[-1 - last] == names[0][-1 - last] for name in names):
        last += 1
    return "_".join([*names[0][:first], *(names[0][len(names[0]) - last :] if last else [])])


def written(pair: Pair, latex: Callable[[sp.Expr], str], spell: Callable[[str], str]) -> Iterator[str]:
    """The pair's matrices, its gradient, and its flow."""
    A, S, B = map(spell, pair.names)
    G = rf"\mathsf{{G}}_{{{pair.number}}}"
    yield rf"{S} = {_matrix(pair.product, latex)}"
    if not pair.is_eliminated:
        yield rf"{A} = {_matrix(pair.left, latex)}"
        yield rf"{B} = {_matrix(pair.right, latex)}"
    yield rf"{G} = {_matrix(pair.gradient, latex)}"
    front = latex(-pair.factor)
    front = front[:-1] if front in ("-1", "1") else front
    yield rf"\frac{{d {S}}}{{dt}} = {front} \left( {A} \, {G} + {G} \, {B} \right)"
    if not pair.is_eliminated:
        yield rf"\frac{{d {A}}}{{dt}} = {front} \left( {G} \, {{{S}}}^{{\top}} + {S} \, {G}^{{\top}} \right)"
        yield rf"\frac{{d {B}}}{{dt}} = {front} \left( {{{S}}}^{{\top}} {G} + {G}^{{\top}} {S} \right)"


def _matrix(entries: sp.Matrix, latex: Callable[[sp.Expr], str]) -> str:
    rows = (" & ".join(latex(x) for x in entries.row(i)) for i in range(entries.rows))
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"
