"""Gram blocks in matrix form: dS/dt = -c (KK G + G QQ) where the loss reads the product of two factors alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sympy as sp

from flowsys.symbolic.flow import Gram
from flowsys.system.names import enclosed


@dataclass(frozen=True)
class Pair:
    """Two factors that share an inner width: M = [[A, S], [Sᵀ, B]], of which the loss reads S."""

    number: int
    left: sp.Matrix
    product: sp.Matrix
    right: sp.Matrix
    gradient: sp.Matrix
    factor: sp.Expr
    eliminated: frozenset[sp.Symbol]

    def symbols(self, spell: Callable[[str], str]) -> tuple[str, str, str]:
        """How A, S and B look: what the names of their entries have in common, a letter where nothing is."""
        parts = zip("ASB", (self.left, self.product, self.right))
        named = ((letter, shared_name(part)) for letter, part in parts)
        return tuple(  # type: ignore[return-value]
            enclosed(spell(name)) if name else rf"\mathsf{{{letter}}}_{{{self.number}}}" for letter, name in named
        )

    def is_carried(self, part: sp.Matrix) -> bool:
        """Whether A or B are variables, and not known functions of them."""
        return all(x.is_Symbol and x not in self.eliminated for x in part)


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
        return Pair(number, *parts, slopes[:split, split:], factor, block.eliminated)
    return None


def shared_name(entries: sp.Matrix) -> str:
    """S_mean of S_cc_mean … S_vv_mean: the beginning and the end that the names of entries share."""
    if not all(sp.sympify(x).is_Symbol for x in entries):
        return ""
    names = [str(x).split("_") for x in entries]
    first = 0
    while all(len(name) > first and name[first] == names[0][first] for name in names):
        first += 1
    last = 0
    while all(len(name) > first + last and name[-1 - last] == names[0][-1 - last] for name in names):
        last += 1
    return "_".join([*names[0][:first], *(names[0][len(names[0]) - last :] if last else [])])


def written(
    pair: Pair, latex: Callable[[sp.Expr], str], spell: Callable[[str], str], clock: str = "t"
) -> Iterator[str]:
    """The pair's matrices, its gradient, and its flow."""
    A, S, B = pair.symbols(spell)
    G = rf"\mathsf{{G}}_{{{pair.number}}}"
    for symbol, part in ((S, pair.product), (A, pair.left), (B, pair.right), (G, pair.gradient)):
        if (entries := _matrix(part, latex)) != symbol:  # the one entry of a sector is its matrix
            yield f"{symbol} = {entries}"
    front = latex(-pair.factor)
    front = front[:-1] if front in ("-1", "1") else front
    rate = lambda symbol: rf"\frac{{d {symbol}}}{{d{clock}}} = {front}"
    yield rf"{rate(S)} \left( {A} \, {G} + {G} \, {B} \right)"
    if pair.is_carried(pair.left):
        yield rf"{rate(A)} \left( {G} \, {{{S}}}^{{\top}} + {S} \, {G}^{{\top}} \right)"
    if pair.is_carried(pair.right):
        yield rf"{rate(B)} \left( {{{S}}}^{{\top}} {G} + {G}^{{\top}} {S} \right)"


def _matrix(entries: sp.Matrix, latex: Callable[[sp.Expr], str]) -> str:
    if entries.shape == (1, 1):
        return latex(entries[0, 0])
    rows = (" & ".join(latex(x) for x in entries.row(i)) for i in range(entries.rows))
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"
