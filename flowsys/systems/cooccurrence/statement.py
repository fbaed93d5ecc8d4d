"""The infinite-width limit of the co-occurrence transformer, stated for the derivation engine with n and L as symbols.

The loss reads G and S of the word classes (`model.limit_loss`); both are entries of small Gram blocks (`blocks`):

    values      [W_V | u/√m1] on the invariant words: VV, G/√m1 and c/m1;
    attention   [W_K | W_Q] on every sector: invariants once, sums to zero over samples n_T - 1 times, within a sample
                n_T (R_T - 1) times.

n enters through 1/n and the inverse multiplicities, so n = ∞ is allowed; a sector that does not occur (n_T = 1 or
R_T = 1) has inverse multiplicity 0 and rests. Two clocks ride along: tau = βt and clock = ∫(c + m1 α)dt.

With the start of the limit, VV = αI + GGᵀ/(c + m1 α) and c = ½[β - m1 α + √((β + m1 α)² + 4 m1 |G|²)] for all time,
because [W_V | u/√m1] keeps its spectrum: 88 variables instead of 113.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Gram, pair
from flowsys.systems.cooccurrence import sectors as bl
from flowsys.systems.cooccurrence.model import Scores, Sizes, limit_loss, limit_outputs, type_sizes
from flowsys.systems.cooccurrence.sectors import SCALARS, SECTORS

α, β, m1, s, L, inverse_n = map(symbol, ("alpha", "beta", "m1", "score_scale", "L", "inverse_n"))
TYPES = ("1", "2", "3", "4")
SPECIAL = ("1", "2", "3")
RANDOM = ("r1", "r2", "r3", "r4")


@dataclass(frozen=True)
class Symmetry:
    """How invariant matrices split: sectors with their basis (the first carries G), and the types told apart."""

    sectors: Mapping[str, tuple[str, ...]]
    types: tuple[str, ...]

    @property
    def share_of_type(self) -> tuple[sp.Symbol, ...]:
        """The share of each of the four types."""
        return tuple(symbol(f"share_{t}") for T in TYPES for t in self.types if T in t)

    @property
    def inverse_copies(self) -> dict[str, sp.Symbol]:
        """1/multiplicity of the scalar sectors, computed where n and L are numbers (0 for a sector that is absent)."""
        return {f"{kind}_{t}": symbol(f"per_{kind}_{t}") for kind in SCALARS for t in self.types}

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        shares = tuple(dict.fromkeys(self.share_of_type))
        return (α, β, m1, s, L, inverse_n, *shares, *self.inverse_copies.values())

    @property
    def sizes(self) -> Sizes:
        return type_sizes(1 / inverse_n, L, ops, self.share_of_type)._replace(
            shares=np.array(self.share_of_type), per_sample=np.array([inverse_n / p for p in self.share_of_type])
        )

    def matrix(self, name: str, sector: str, symmetric: bool = False) -> sp.Matrix:
        """The matrix of symbols `name_sector_row_column` of a sector (1 × 1 for a scalar sector)."""
        if sector in self.inverse_copies:
            return sp.Matrix([[symbol(f"{name}_{sector}")]])
        basis = self.sectors[sector]

        def entry(i, j):
            i, j = (min(i, j), max(i, j)) if symmetric else (i, j)
            return symbol(f"{name}_{sector}_{basis[i]}_{basis[j]}")

        return sp.Matrix(len(basis), len(basis), entry)

    def blocks(self, parts: Callable[[str], sp.Matrix]) -> bl.Blocks:
        """The 7 × 7 description of a matrix given sector by sector."""
        scalars = [np.array([parts(f"{kind}_{t}")[0] for t in self.types]) for kind in SCALARS]
        invariant = [np.array(parts(sector), dtype=object) for sector in self.sectors]
        if len(invariant) == 1:
            return bl.Blocks(invariant[0], *scalars)
        return bl.without_swap(bl.SwapBlocks(*invariant, *scalars), ops)

    def components(self, vector) -> np.ndarray:
        """A vector on the first sector, in the basis (μ1, μ2, μ3, f_1 … f_4)."""
        if len(self.sectors) == 1:
            return np.array(list(vector))
        return bl.swap_basis(ops)[:, :5] @ np.array(list(vector))


SWAP, PLAIN = (Symmetry(SECTORS[variant], bl.TYPES[variant]) for variant in ("88", "without_swap"))
VARIANTS = {"88": (SWAP, True), "113": (SWAP, False), "without_swap": (PLAIN, False)}


@dataclass(frozen=True)
class Clocks:
    """Passive coordinates with given rates."""

    rates: Mapping[sp.Symbol, sp.Expr]

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        return tuple(self.rates)

    def derivatives(self, gradient) -> dict[sp.Symbol, sp.Expr]:
        return dict(self.rates)


class Coordinates:
    """The symbols of one variant: its Gram matrices, and the word-class entries as functions of them."""

    def __init__(self, symmetry: Symmetry, eliminated: bool):
        self.symmetry, self.eliminated = symmetry, eliminated
        self.first = next(iter(symmetry.sectors))
        self.basis = symmetry.sectors[self.first]
        self.g = sp.Matrix([symbol(f"g_{x}") for x in self.basis])
        self.sizes = symmetry.sizes
        self.entries: dict[sp.Symbol, sp.Expr] = {}
        self._symbol_of: dict[sp.Expr, sp.Symbol] = {}
        if eliminated:
            self.entries[self.c] = self._eliminated_c()

    @property
    def all_sectors(self) -> tuple[str, ...]:
        return (*self.symmetry.sectors, *self.symmetry.inverse_copies)

    @cached_property
    def c(self) -> sp.Expr:
        return symbol("c") if self.eliminated else m1 * symbol("u_u")

    def _eliminated_c(self) -> sp.Expr:
        G_squared = m1 * sp.Add(*[x**2 for x in self.g])
        return (β - m1 * α + sp.sqrt((β + m1 * α) ** 2 + 4 * m1 * G_squared)) / 2

    def part(self, name: str, sector: str) -> sp.Matrix:
        """A sector of S, KK, QQ or VV."""
        if name != "VV" or not self.eliminated:
            return self.symmetry.matrix(name, sector, symmetric=name != "S")
        rows = self.symmetry.matrix("VV", sector).rows
        if sector != self.first:
            return α * sp.eye(rows)
        return α * sp.eye(rows) + m1 / (self.c + m1 * α) * self.g * self.g.T

    def blocks(self, name: str) -> bl.Blocks:
        return self.symmetry.blocks(lambda sector: self.part(name, sector))

    def gram_blocks(self) -> list[Gram | Clocks]:
        VV = self.part("VV", self.first)
        corner = sp.Matrix([[self.c / m1]])
        found: list[Gram | Clocks] = [Gram(sp.Matrix(sp.BlockMatrix([[VV, self.g], [self.g.T, corner]])))]
        if not self.eliminated:
            # the loss reads no value correlation outside the first sector: they rest, and are carried to be seen
            found += [Gram(self.part("VV", sector)) for sector in self.all_sectors[1:]]
        for sector in self.all_sectors:
            copies = 1 / self.symmetry.inverse_copies.get(sector, sp.S.One)
            found.append(Gram(pair(*(self.part(name, sector) for name in ("KK", "S", "QQ"))), copies))
        return [*found, Clocks({symbol("tau"): β, symbol("clock"): self.c + m1 * α})]

    def entry(self, name: str, value: sp.Expr) -> sp.Symbol:
        """The symbol of an entry; entries that are equal (by the swap) share the first name."""
        value = sp.expand(value)
        if value not in self._symbol_of:
            self._symbol_of[value] = symbol(name)
            self.entries[symbol(name)] = value
        return self._symbol_of[value]

    @cached_property
    def G(self) -> np.ndarray:
        """G of the 7 word classes."""
        values = bl.class_values(self.symmetry.components(sp.sqrt(m1) * self.g), self.sizes, ops)
        names = [f"G_mu{x}" for x in SPECIAL] + [f"G_{x}" for x in RANDOM]
        return np.array([self.entry(name, value) for name, value in zip(names, values)])

    @cached_property
    def S(self) -> Scores:
        """The scores within sentences."""
        values = bl.scores_within_sentences(self.blocks("S"), self.sizes, ops)
        names = Scores(
            [[f"S_{p}{q}" for q in SPECIAL] for p in SPECIAL],
            [[f"S_{p}_{r}" for r in RANDOM] for p in SPECIAL],
            [[f"S_{r}_{q}" for q in SPECIAL] for r in RANDOM],
            [f"S_{r}_same_word" for r in RANDOM],
            [f"S_{r}_same_sample" for r in RANDOM],
        )
        return Scores(*(np.vectorize(self.entry, otypes=[object])(n, v) for n, v in zip(map(np.array, names), values)))


def limit_statement(variant: str = "88") -> Statement:
    """The limit in one of its `VARIANTS`: 88 variables, 113 (VV and c carried), or without the swap μ1 ↔ μ2."""
    from flowsys.systems.cooccurrence.observed import observables

    coordinates = Coordinates(*VARIANTS[variant])
    model = (coordinates.G, coordinates.S, coordinates.sizes, s, ops)
    F = limit_outputs(*model)
    return Statement(
        blocks=coordinates.gram_blocks(),
        parameters=coordinates.symmetry.parameters,
        loss=limit_loss(*model),
        entries=coordinates.entries,
        totals={f"F_{T}": F[i] for i, T in enumerate(TYPES)},
        observables=observables(coordinates, F),
    )
