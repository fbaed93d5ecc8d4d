"""Gradient flow in reduced coordinates: direct coordinates with a metric, Gram blocks with multiplicities.

Direct coordinates θ with a constant symmetric metric P, and Gram blocks M_b = F_bᵀF_b, each standing for μ_b equal
copies in a symmetry-adapted basis, move as

    dθ/dt = -P ∂L/∂θ,        dM_b/dt = -(Γ_b M_b + M_b Γ_b),    Γ_b = (∂L/∂M_b + (∂L/∂M_b)ᵀ) / μ_b,

exactly, at every width. Time is gradient-flow time of the loss L as written. One gradient-descent step of rate η is
exactly M_b ← (I - ηΓ_b) M_b (I - ηΓ_b).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import sympy as sp


class Moving(Protocol):
    """Coordinates of the state and how they move."""

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]: ...

    def derivatives(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> dict[sp.Symbol, sp.Expr]: ...


@dataclass(frozen=True)
class Direct:
    """Coordinates used as they are. `metric` is P (a matrix), or the copies n_i each stands for: P = diag(1/n_i)."""

    coordinates: tuple[sp.Symbol, ...]
    metric: sp.Matrix | tuple[sp.Expr, ...]
    trains: sp.Expr = sp.S.One

    def derivatives(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        g = [gradient(x) for x in self.coordinates]
        if isinstance(self.metric, tuple):
            return {x: -self.trains * gi / n for x, gi, n in zip(self.coordinates, g, self.metric)}
        P = self.metric
        return {
            x: -self.trains * sp.Add(*[P[i, j] * g[j] for j in range(len(g))]) for i, x in enumerate(self.coordinates)
        }


@dataclass(frozen=True)
class Given:
    """Coordinates whose rates are given, whatever the loss: an integral in time, a bound of a paper."""

    rates: Mapping[sp.Symbol, sp.Expr]

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        return tuple(self.rates)

    def derivatives(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        return dict(self.rates)


@dataclass(frozen=True)
class Gram:
    """A symmetric matrix of inner products. Entries in `eliminated` are not state but known functions of the rest."""

    matrix: sp.Matrix
    multiplicity: sp.Expr = sp.S.One
    trains: sp.Expr = sp.S.One
    eliminated: frozenset[sp.Symbol] = frozenset()

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        """The distinct entries that are state."""
        upper = [self.matrix[i, j] for i in range(self.matrix.rows) for j in range(i, self.matrix.cols)]
        return tuple(dict.fromkeys(x for x in upper if self._is_state(x)))

    def _is_state(self, x: sp.Expr) -> bool:
        return x.is_Symbol and x not in self.eliminated

    def rate(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> sp.Matrix:
        """Γ: an off-diagonal symbol stands at (i, j) and (j, i), so its derivative is already the sum of both."""

        def entry(i, j):
            x = self.matrix[i, j]
            if not self._is_state(x):
                return sp.S.Zero
            return (2 if i == j else 1) * gradient(x) * self.trains / self.multiplicity

        return sp.Matrix(self.matrix.rows, self.matrix.cols, entry)

    def derivatives(self, gradient: Callable[[sp.Symbol], sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        Γ, M, D = self.rate(gradient), self.matrix, self.matrix.rows
        result: dict[sp.Symbol, sp.Expr] = {}
        for i in range(D):
            for j in range(i, D):
                if self._is_state(M[i, j]) and M[i, j] not in result:
                    terms = [Γ[i, k] * M[k, j] + M[i, k] * Γ[k, j] for k in range(D)]
                    result[M[i, j]] = -sp.Add(*terms)
        return result


def pair(keys: sp.Matrix, scores: sp.Matrix, queries: sp.Matrix) -> sp.Matrix:
    """The Gram matrix [[KK, S], [Sᵀ, QQ]] of two factors that share an inner width."""
    return sp.Matrix(sp.BlockMatrix([[keys, scores], [scores.T, queries]]))


def balanced_self_scores(S: sp.Matrix, scale: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """KK = (ω⁴I + SSᵀ)^½ and QQ = (ω⁴I + SᵀS)^½ of a 2×2 block that starts at S = 0, KK = QQ = ω²I.

    The loss reads only S, so N = [[KK, -S], [Sᵀ, -QQ]] keeps its spectrum: N² = ω⁴I for all time.
    """
    if S.shape != (2, 2):
        raise ValueError(f"self-scores are eliminated in closed form for 2×2 blocks only, not {S.shape}")

    # det(ω⁴I + SSᵀ) as a sum of squares: from the entries of M it is lost to cancellation where S is nearly singular
    ω4, squares = scale**4, sp.Add(*(entry**2 for entry in S))
    determinant = sp.sqrt(ω4**2 + ω4 * squares + (S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]) ** 2)

    def root(M: sp.Matrix) -> sp.Matrix:
        # √M = (M + √det M · I) / √(tr M + 2 √det M), for a positive definite 2×2 matrix
        return (M + determinant * sp.eye(2)) / sp.sqrt(M[0, 0] + M[1, 1] + 2 * determinant)

    return root(ω4 * sp.eye(2) + S * S.T), root(ω4 * sp.eye(2) + S.T * S)


def chain_rule(
    entries: Mapping[sp.Symbol, sp.Expr], entry_gradient: Mapping[sp.Symbol, sp.Expr]
) -> Callable[[sp.Symbol], sp.Expr]:
    """∂L/∂x of a state coordinate (or an entry), given L's gradient in entries that are functions of the state.

    An entry may be a function of earlier entries too.
    """
    in_state: dict[sp.Symbol, sp.Expr] = {}
    reads: dict[sp.Symbol, list[sp.Symbol]] = {}
    for entry, value in entries.items():
        in_state[entry] = value.xreplace(in_state)
    for entry in entry_gradient:
        for x in in_state.get(entry, entry).free_symbols:
            reads.setdefault(x, []).append(entry)

    @cache
    def gradient(x: sp.Symbol) -> sp.Expr:
        if x in entries:
            return entry_gradient.get(x, sp.S.Zero)
        return sp.Add(*[entry_gradient[e] * in_state.get(e, e).diff(x) for e in reads.get(x, ())])

    return gradient
