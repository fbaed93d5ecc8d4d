"""The infinite-width limit of the co-occurrence transformer, stated for the derivation engine with n and L as symbols.

The loss reads G and S of the kinds of words (`kinds`); both are entries of small Gram blocks (`sectors`):

    values      [W_V | u/√m1] on the invariant words: VV, G/√m1 and c/m1;
    attention   [W_K | W_Q] on every sector: invariants once, sums to zero over samples n_T - 1 times, within a sample
                n_T (R_T - 1) times.

n enters through 1/n and the inverse multiplicities, so n = ∞ is allowed; a sector that does not occur (n_T = 1 or
R_T = 1) has inverse multiplicity 0 and rests. Two clocks ride along: tau = βt and clock = ∫(c + m1 α)dt.

With the start of the limit, VV = αI + GGᵀ/(c + m1 α) and c = ½[β - m1 α + √((β + m1 α)² + 4 m1 |G|²)] for all time,
because [W_V | u/√m1] keeps its spectrum: 88 variables instead of 113. With attention and c frozen too, G alone is left:
the bag of words, dG/dt = (β + m1 α) r and F_T the sum of G over the words of a sentence.
"""

from functools import cached_property
from itertools import product

import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement, symbol
from flowsys.symbolic.flow import Direct, Given, Gram, Moving, pair
from flowsys.systems.cooccurrence import kinds
from flowsys.systems.cooccurrence.kinds import KINDS, TYPES, L, inverse_n, m1, s, sizes_of, α, β
from flowsys.systems.cooccurrence.sectors import SCALARS, SECTORS, bases
from flowsys.systems.cooccurrence.sectors import TYPES as TOLD_APART

SPECIAL, RANDOM = ("1", "2", "3"), ("r1", "r2", "r3", "r4")


class Coordinates:
    """The symbols of one variant: its Gram matrices, and the entries of kinds of words as functions of them."""

    def __init__(self, variant: str):
        self.sectors, self.types, self.eliminated = SECTORS[variant], TOLD_APART[variant], variant == "88"
        self.bases = bases(variant, ops)
        self.first = next(iter(self.sectors))
        self.g = sp.Matrix([symbol(f"g_{x}") for x in self.sectors[self.first]])
        self.shares = tuple(symbol(f"share_{t}") for T in TYPES for t in self.types if T in t)
        self.sizes = sizes_of(self.shares)
        self.inverse_copies = {f"{kind}_{t}": symbol(f"per_{kind}_{t}") for kind in SCALARS for t in self.types}
        """1/multiplicity of the scalar sectors, computed where n and L are numbers (0 for a sector that is absent)."""
        self.entries: dict[sp.Symbol, sp.Expr] = {}
        self._symbol_of: dict[sp.Expr, sp.Symbol] = {}
        self.c = symbol("c") if self.eliminated else m1 * symbol("u_u")
        if self.eliminated:
            G_squared = m1 * sp.Add(*[x**2 for x in self.g])
            self.entries[self.c] = (β - m1 * α + sp.sqrt((β + m1 * α) ** 2 + 4 * m1 * G_squared)) / 2

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        return (α, β, m1, s, L, inverse_n, *dict.fromkeys(self.shares), *self.inverse_copies.values())

    def part(self, name: str, sector: str) -> sp.Matrix:
        """A sector of S, KK, QQ or VV: symbols `name_sector_row_column`, one for a scalar sector."""
        if name == "VV" and self.eliminated:
            found = α * sp.eye(len(self.sectors.get(sector, "1")))
            return found + m1 / (self.c + m1 * α) * self.g * self.g.T if sector == self.first else found
        if sector in self.inverse_copies:
            return sp.Matrix([[symbol(f"{name}_{sector}")]])
        basis = self.sectors[sector]
        order = lambda i, j: (i, j) if name == "S" else sorted((i, j))
        entry = lambda i, j: symbol("_".join((name, sector, *(basis[k] for k in order(i, j)))))
        return sp.Matrix(len(basis), len(basis), entry)

    def invariant(self, name: str) -> np.ndarray:
        """The 7 × 7 block of a matrix."""
        return sum(U @ np.array(self.part(name, sector), dtype=object) @ U.T for sector, U in self.bases.items())

    def gram_blocks(self) -> list[Moving]:
        first, *others = (*self.sectors, *self.inverse_copies)
        values = sp.BlockMatrix([[self.part("VV", first), self.g], [self.g.T, sp.Matrix([[self.c / m1]])]])
        found: list[Moving] = [Gram(sp.Matrix(values))]
        if not self.eliminated:
            # the loss reads no value correlation outside the first sector: they rest, and are carried to be seen
            found += [Gram(self.part("VV", sector)) for sector in others]
        for sector in (first, *others):
            copies = 1 / self.inverse_copies.get(sector, sp.S.One)
            found.append(Gram(pair(*(self.part(name, sector) for name in ("KK", "S", "QQ"))), copies))
        return [*found, Given({symbol("tau"): β, symbol("clock"): self.c + m1 * α})]

    def entry(self, name: str, value: sp.Expr) -> sp.Symbol:
        """The symbol of an entry; entries that are equal (by the swap) share the first name."""
        value = sp.expand(value)
        if value not in self._symbol_of:
            self._symbol_of[value] = symbol(name)
            self.entries[symbol(name)] = value
        return self._symbol_of[value]

    @cached_property
    def G(self) -> np.ndarray:
        """G of the kinds of words; components along f_T are spread over its words."""
        per_word = ops.sqrt(self.sizes.per_sample / self.sizes.random_slots)
        components = self.bases[self.first] @ np.array(list(sp.sqrt(m1) * self.g))
        names = [f"G_mu{x}" for x in SPECIAL] + [f"G_{x}" for x in RANDOM]
        values = [*components[:3], *components[3:] * per_word]
        G = [self.entry(name, value) for name, value in zip(names, values)]
        return np.array([*G, *G[3:], sp.S.Zero])

    @cached_property
    def S(self) -> np.ndarray:
        """The scores of kinds of words that occur within sentences (key, query)."""
        M, R, ε = self.invariant("S"), self.sizes.random_slots, self.sizes.per_sample
        per_word = ops.sqrt(ε / R)
        across, within = (
            np.array([self.part("S", f"{kind}_{t}")[0] for T in TYPES for t in self.types if T in t])
            for kind in SCALARS
        )
        same_sample = (ε * np.diag(M)[3:] + (1 - ε) * across - within) / R
        S, words, share = np.full((KINDS, KINDS), sp.S.Zero), (*SPECIAL, *RANDOM), [1, 1, 1, *per_word]
        for i, j in product(range(7), repeat=2):
            if min(i, j) < 3:
                between = "" if max(i, j) < 3 else "_"
                S[i, j] = self.entry(f"S_{words[i]}{between}{words[j]}", M[i, j] * share[i] * share[j])
        for T, r in enumerate(RANDOM):
            S[3 + T, 3 + T] = self.entry(f"S_{r}_same_word", same_sample[T] + within[T])
            S[7 + T, 3 + T] = self.entry(f"S_{r}_same_sample", same_sample[T])
        S[7:11, :3] = S[3:7, :3]
        return S

    def rate(self, entry: sp.Expr) -> sp.Expr:
        """d/dt of an entry, which is linear in the state: the program's own derivatives d_<state>, so it is exact."""
        value = self.entries.get(entry, sp.S.Zero)
        state = sorted((x for x in value.free_symbols if str(x).startswith(("S_", "g_"))), key=str)
        return sp.Add(*[value.diff(x) * symbol(f"d_{x}") for x in state])

    @property
    def weights(self):
        """What the declared functions see."""
        selfs = {name: np.vectorize(sp.expand, otypes=[object])(self.invariant(name)) for name in ("VV", "KK", "QQ")}
        return kinds.weights(self.G, self.S, self.rate, UU=np.array([[self.c]]), **selfs)


def limit_statement(variant: str = "88") -> Statement:
    """The limit: 88 variables, 113 (VV and c carried), or without the swap μ1 ↔ μ2 (173)."""
    coordinates = Coordinates(variant)
    declared = kinds.declared(coordinates.weights, coordinates.sizes)
    blocks, parameters = coordinates.gram_blocks(), coordinates.parameters
    return Statement(blocks, parameters, entries=coordinates.entries, **declared)


def bag_of_words_statement() -> Statement:
    """The flow of the 7 word classes under uniform attention: each coordinate stands for the words of its class."""
    sizes, speed = sizes_of(tuple(symbol(f"share_{T}") for T in TYPES)), β + m1 * α
    G = np.array([symbol(f"G_{x}") for x in ("mu1", "mu2", "mu3", *RANDOM)])
    copies = (1, 1, 1, *(R / ε for R, ε in zip(sizes.random_slots, sizes.per_sample)))
    rate = lambda x: symbol(f"d_{x}") if x in G else sp.S.Zero
    alike, frozen = np.diag([α] * 3), {"S": np.full((KINDS, KINDS), sp.S.Zero), "UU": np.array([[β]])}
    w = kinds.weights(np.array([*G, *G[3:], sp.S.Zero]), rate=rate, **frozen, VV=alike, KK=alike, QQ=alike)
    return Statement(
        blocks=[Direct(tuple(G), copies, speed), Given({symbol("tau"): β, symbol("clock"): speed})],
        parameters=(α, β, m1, L, inverse_n, *sizes.shares),
        **kinds.declared(w, sizes),
    )
