"""From a found lumping to its program: the enumerated loss on class symbols, and the flow of the classes.

With the classes known, the loss of all samples is written once on class symbols (samples whose expressions are equal
merge), and since every member of a class of n coordinates has the gradient ± (1/n) ∂L/∂z,

    direct class:   dz/dt = -(1/n) ∂L/∂z
    Gram classes:   Γ_ij = ± (1/n) ∂L/∂z (twice that on the diagonal),   dM/dt = -(ΓM + MΓ), read at one representative.

Such a program is for one size; it certifies the program that was stated with sizes as symbols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct
from flowsys.symbolic.lumping import Partition


@dataclass(frozen=True)
class Enumerated:
    """A system written out at one size: flat coordinates, which of them form Gram matrices, and the loss.

    `direct` are positions of direct coordinates, `grams` matrices of positions. `loss` takes the flat object array of
    coordinate expressions and returns the summands of the loss.
    """

    names: tuple[str, ...]
    direct: np.ndarray
    grams: tuple[np.ndarray, ...]
    loss: Callable[[np.ndarray], Sequence[sp.Expr]]


@dataclass(frozen=True)
class LumpedGram:
    """A Gram matrix of signed class symbols; `copies` counts how many coordinates each class stands for."""

    matrix: np.ndarray
    copies: Mapping[sp.Symbol, int]
    coordinates: tuple[sp.Symbol, ...] = field(default=())

    def derivatives(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        D = len(self.matrix)
        rates: dict[sp.Expr, sp.Expr] = {}

        def rate(i, j):
            entry = self.matrix[i, j]
            if entry == 0:
                return sp.S.Zero
            if entry not in rates:
                z, sign = (entry, 1) if entry.is_Symbol else (-entry, -1)
                rates[entry] = sign * gradient(z) / self.copies[z]
            return (2 if i == j else 1) * rates[entry]

        Γ = np.array([[rate(i, j) for j in range(D)] for i in range(D)], dtype=object)
        result: dict[sp.Symbol, sp.Expr] = {}
        for i in range(D):
            for j in range(i, D):
                z = self.matrix[i, j]
                if z in self.coordinates and z not in result:
                    terms = [Γ[i, k] * self.matrix[k, j] + self.matrix[i, k] * Γ[k, j] for k in range(D)]
                    result[z] = -sp.Add(*terms)
        return result


def class_symbols(partition: Partition, names: Sequence[str]) -> list[sp.Symbol]:
    """A class is called after its first coordinate."""
    return [symbol(names[i]) for i in partition.representatives]


def found_statement(enumerated: Enumerated, partition: Partition) -> Statement:
    """The lumped system as a statement for `assemble`."""
    symbols = class_symbols(partition, enumerated.names)
    padded = [*symbols, sp.S.Zero]
    flat = np.array([int(s) * padded[c] for s, c in zip(partition.signs, partition.labels)], dtype=object)
    copies = dict(zip(symbols, map(int, partition.sizes)))
    direct = tuple(dict.fromkeys(symbols[c] for c in partition.labels[enumerated.direct] if c >= 0))
    blocks: list = [Direct(direct, tuple(sp.Integer(copies[z]) for z in direct))]
    placed = set(direct)
    for positions in enumerated.grams:
        matrix = flat[positions]
        here = [z for z in dict.fromkeys(matrix.ravel()) if z in copies and z not in placed]
        if here:
            blocks.append(LumpedGram(matrix, copies, tuple(here)))
            placed |= set(here)
    summands: dict[sp.Expr, sp.Expr] = {}
    for summand in enumerated.loss(flat):
        weight, term = sp.sympify(summand).as_coeff_Mul()
        summands[term] = summands.get(term, 0) + weight
    return Statement(
        blocks=blocks,
        parameters=tuple(sorted(_free(summands) - set(symbols), key=str)),
        loss=sp.Add(*[weight * term for term, weight in summands.items()]),
        totals={},
        observables={"n_merged_samples": sp.Integer(len(summands))},
    )


def _free(summands) -> set[sp.Symbol]:
    return {x for term in summands for x in term.free_symbols}
