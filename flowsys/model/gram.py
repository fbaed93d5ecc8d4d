"""Gram blocks in numbers: factors that share an inner width, seen through their inner products.

If the loss depends on F (m × D) only through M = FᵀF, then with Γ = ∂L/∂M + (∂L/∂M)ᵀ

    dF/dt = -F Γ        and therefore        dM/dt = -(Γ M + M Γ),

exactly, at every width m; and one gradient-descent step of rate η is exactly M ← (I - ηΓ) M (I - ηΓ). For a pair
[W_K | W_Q] whose loss reads only S = W_Kᵀ W_Q, Γ = [[0, G], [Gᵀ, 0]] with G = ∂L/∂S, and the spectrum of
N = [[KK, -S], [Sᵀ, -QQ]] is conserved.
"""

import jax.numpy as jnp
import numpy as np


def gram_flow(M, Γ):
    """dM/dt = -(ΓM + MΓ)."""
    return -(Γ @ M + M @ Γ)


def gram_step(M, Γ, η):
    """M after one gradient-descent step on the factors."""
    step = jnp.eye(M.shape[-1]) - η * Γ
    return step @ M @ step


def pair_rate(G):
    """Γ of a pair whose loss reads only S, from G = ∂L/∂S."""
    rows, columns = G.shape[-2:]
    zeros = lambda n: jnp.zeros((*G.shape[:-2], n, n))
    return jnp.block([[zeros(rows), G], [jnp.swapaxes(G, -1, -2), zeros(columns)]])


class SymmetricLayout:
    """The distinct entries of a symmetric D × D matrix as a vector, and back."""

    def __init__(self, D: int):
        self.rows, self.columns = np.triu_indices(D)
        self.position = np.zeros((D, D), dtype=int)
        self.position[self.rows, self.columns] = np.arange(len(self.rows))
        self.position = np.maximum(self.position, self.position.T)

    def __len__(self) -> int:
        return len(self.rows)

    def matrix(self, vector):
        return vector[..., self.position]

    def vector(self, matrix):
        return matrix[..., self.rows, self.columns]
