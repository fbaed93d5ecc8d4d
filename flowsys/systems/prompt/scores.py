"""The score flow: gradient flow closed in the entries of W between tokens, for any number of patterns and any start.

The loss gradient is Σ_i g_i p̃_i p̃_queryᵀ with Σ_i g_i = 0, and every p̃ is a sum of frame vectors, so the (2M +
K)(M + K) frame entries S obey dS/dt = -∂L/∂S and nothing else of W moves. Each key has exactly one input, one
output and one step, hence 3(M + K) conserved sums. Patterns may be relabelled: averages of S over the orbits of
that action are the symmetric variables.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops

from .model import score_loss
from .orbits import Orbits, SymmetricScores


def field(t, scores, prompts):
    """dS/dt = -∂L/∂S."""
    del t
    return -jax.grad(lambda S: score_loss(ops, S, prompts))(scores)


def orbits(scores, K: int) -> Orbits:
    """Orbit means of S."""
    M = scores.shape[1] - K
    a, b, c = scores[:M], scores[M : 2 * M], scores[2 * M :]

    def same_and_other(block):
        same = jnp.trace(block) / M
        return same, (block.sum() - M * same) / (M * (M - 1))

    return Orbits(
        *same_and_other(a[:, :M]),
        *same_and_other(b[:, :M]),
        C=c[:, :M].mean(axis=1),
        D=a[:, M:].mean(axis=0),
        E=b[:, M:].mean(axis=0),
        G=c[:, M:],
    )


def symmetric_part(scores, K: int) -> SymmetricScores:
    """The symmetric variables of S."""
    mean = orbits(scores, K)
    return SymmetricScores(mean.A_s - mean.A_d, mean.B_s - mean.B_d, mean.C.reshape(K, 1) + mean.G)


def scores_from_orbits(mean: Orbits, M: int):
    """S (2M + K, M + K) with the given orbit values."""
    K = mean.C.shape[0]
    same = np.eye(M)
    ones = np.ones((M, 1))
    return jnp.concatenate(
        [
            jnp.concatenate([mean.A_d + (mean.A_s - mean.A_d) * same, ones * mean.D.reshape(1, K)], axis=1),
            jnp.concatenate([mean.B_d + (mean.B_s - mean.B_d) * same, ones * mean.E.reshape(1, K)], axis=1),
            jnp.concatenate([mean.C.reshape(K, 1) * ones.T, mean.G], axis=1),
        ]
    )
