"""What the flow of a Gram pair keeps: monitors of a solver that cost nothing.

When the loss reads only the off-diagonal block S of M = [[KK, S], [Sᵀ, QQ]], Γ anticommutes with J = diag(I, -I), so
d(MJ)/dt = [·, MJ] and the whole spectrum of MJ is conserved.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np


def pair_invariants(M: np.ndarray, n_keys: int, powers: int = 4) -> np.ndarray:
    """tr (M·diag(I, -I))^k, k = 1 … powers: the conserved spectrum, through functions smooth where eigenvalues meet."""
    signs = np.where(np.arange(M.shape[-1]) < n_keys, 1.0, -1.0)
    N = M * signs
    return np.stack([np.trace(np.linalg.matrix_power(N, k), axis1=-2, axis2=-1) for k in range(1, powers + 1)], axis=-1)


class NamedPair(NamedTuple):
    """A Gram pair whose entries are coordinates: `name(matrix, row, column)`, matrix one of `matrices`."""

    name: Callable[[str, str, str], str]
    keys: Sequence[str]
    queries: Sequence[str]
    matrices: tuple[str, str, str] = ("KK", "S", "QQ")

    def places(self, index: dict[str, int]) -> np.ndarray:
        """Where every entry of [[KK, S], [Sᵀ, QQ]] stands in the state; of a symmetric one either order may."""
        KK, S, QQ = self.matrices
        either = lambda M, a, b: index.get(self.name(M, a, b), index.get(self.name(M, b, a)))
        upper = [[*(either(KK, a, b) for b in self.keys), *(index[self.name(S, a, q)] for q in self.queries)]
                 for a in self.keys]  # fmt: skip
        lower = [[*(index[self.name(S, a, q)] for a in self.keys), *(either(QQ, q, r) for r in self.queries)]
                 for q in self.queries]  # fmt: skip
        return np.array([*upper, *lower])


def spectra_of(state: Sequence[str], pairs: Iterable[NamedPair]) -> Callable[[np.ndarray], np.ndarray]:
    """The conserved spectra of all pairs, as a function of states (one a row)."""
    index = {name: i for i, name in enumerate(state)}
    places = [(pair.places(index), len(pair.keys)) for pair in pairs]
    return lambda states: np.concatenate([pair_invariants(states[:, at], n) for at, n in places], axis=-1)
