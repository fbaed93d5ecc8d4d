"""What the flow of a Gram block keeps: monitors of a solver that cost nothing.

When the loss reads only the off-diagonal block S of M = [[KK, S], [Sᵀ, QQ]], Γ anticommutes with J = diag(I, -I), so
d(MJ)/dt = [·, MJ] and the whole spectrum of MJ is conserved. A program says which of its blocks have such a J.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from flowsys.program import Spectrum


def invariants(M: np.ndarray, signs: np.ndarray, powers: int = 4) -> np.ndarray:
    """tr (M·diag(signs))^k, k = 1 … powers: the conserved spectrum, through functions smooth where eigenvalues meet."""
    N = M * signs
    return np.stack([np.trace(np.linalg.matrix_power(N, k), axis1=-2, axis2=-1) for k in range(1, powers + 1)], axis=-1)


def pair_invariants(M: np.ndarray, n_keys: int) -> np.ndarray:
    """Those of a pair whose first rows are keys."""
    return invariants(M, np.where(np.arange(M.shape[-1]) < n_keys, 1.0, -1.0))


@lru_cache(maxsize=64)
def kept_by(state: tuple[str, ...], spectra: tuple[Spectrum, ...]) -> Callable[[np.ndarray], np.ndarray] | None:
    """The conserved spectra of a program, as a function of states (one a row); None if it has none."""
    index, places = {name: i for i, name in enumerate(state)}, []
    for spectrum in spectra:
        n = len(spectrum.signs)
        i, j = np.triu_indices(n)
        at = np.zeros((n, n), dtype=int)
        at[i, j] = at[j, i] = [index[name] for name in spectrum.entries]
        places.append((at, np.array(spectrum.signs, dtype=float)))
    if not places:
        return None
    return lambda states: np.concatenate([invariants(states[:, at], signs) for at, signs in places], axis=-1)
