"""What the flow of a Gram pair keeps: monitors of a solver that cost nothing.

When the loss reads only the off-diagonal block S of M = [[KK, S], [Sᵀ, QQ]], Γ anticommutes with J = diag(I, -I), so
d(MJ)/dt = [·, MJ] and the whole spectrum of MJ is conserved.
"""

import numpy as np


def pair_invariants(M: np.ndarray, n_keys: int, powers: int = 4) -> np.ndarray:
    """tr (M·diag(I, -I))^k, k = 1 … powers: the conserved spectrum, through functions smooth where eigenvalues meet."""
    signs = np.where(np.arange(M.shape[-1]) < n_keys, 1.0, -1.0)
    N = M * signs
    return np.stack([np.trace(np.linalg.matrix_power(N, k), axis1=-2, axis2=-1) for k in range(1, powers + 1)], axis=-1)
