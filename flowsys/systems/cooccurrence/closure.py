"""The exact reduced systems at finite width: inner products of weights and words, and their gradient flow.

With r = −∂L/∂G and M = −∂L/∂S (the loss reads nothing else), and A2 = |a|² (m1 for signs),

    dG/dt = c r + A2 VV r,     dc/dt = 2 A2 rᵀG,          dVV/dt = r Gᵀ + G rᵀ,
    dS/dt = KK M + M QQ,       dKK/dt = S Mᵀ + M Sᵀ,      dQQ/dt = Sᵀ M + Mᵀ S

exactly, at every width (`small_field`). The paper's six families (Appendix C) keep A = W W_V and B = W Wᵀ neuron by
neuron instead of G = Aᵀa and c = aᵀBa (`six_families_field`). Both are Gram flows: dΓ/dt = ΓN + NΓ, and since N
anticommutes with J = diag(I, −I) the traces of powers of ΓJ are constants of motion (`invariants`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from flowsys.model import ops
from flowsys.systems.cooccurrence.model import data_loss
from flowsys.systems.cooccurrence.weights import Problem, Weights


class Small(NamedTuple):
    """The small closure: G (d), c, and VV, S, KK, QQ (d × d)."""

    G: Array
    c: Array
    VV: Array
    S: Array
    KK: Array
    QQ: Array


class SixFamilies(NamedTuple):
    """The paper's variables: A[j, μ] = w_jᵀ W_V μ, B[j1, j2] = ⟨w_j1, w_j2⟩, and VV, S, KK, QQ."""

    A: Array
    B: Array
    VV: Array
    S: Array
    KK: Array
    QQ: Array


class SixFamiliesArgs(NamedTuple):
    """Arguments of `six_families_field`: the problem and the fixed output weights."""

    problem: Problem
    a: Array


def small_coordinates(weights: Weights, a) -> Small:
    """Weights -> the small closure's coordinates."""
    u, (_, V, K, Q) = a @ weights.W, weights
    return Small(u @ V, u @ u, V.T @ V, K.T @ Q, K.T @ K, Q.T @ Q)


def six_families(weights: Weights) -> SixFamilies:
    """Weights -> the paper's six families."""
    W, V, K, Q = weights
    return SixFamilies(W @ V, W @ W.T, V.T @ V, K.T @ Q, K.T @ K, Q.T @ Q)


def small_from_six(y: SixFamilies, a) -> Small:
    """G = Aᵀa, c = aᵀBa."""
    return Small(a @ y.A, a @ y.B @ a, y.VV, y.S, y.KK, y.QQ)


def symmetric_start(d: int, alpha: float, beta: float) -> Small:
    """The infinite-width initial values: VV = KK = QQ = alpha·I, c = beta, G = S = 0."""
    with jax.enable_x64(True):
        identity, zeros = jnp.eye(d, dtype=float), jnp.zeros((d, d), dtype=float)
        return Small(zeros[0], jnp.asarray(beta, float), alpha * identity, zeros, alpha * identity, alpha * identity)


def drives(G, S, args: Problem):
    """(r, M) = −(∂L/∂G, ∂L/∂S)."""
    words, labels, sample_weights, score_scale, _ = args
    dG, dS = jax.grad(data_loss, argnums=(0, 1))(G, S, words, labels, sample_weights, score_scale, ops)
    return -dG, -dS


def _attention_flow(S, KK, QQ, M):
    return KK @ M + M @ QQ, S @ M.T + M @ S.T, S.T @ M + M.T @ S


def _value_flow(VV, G, r):
    return jnp.outer(r, G) + jnp.outer(G, r)


def small_field(t, y: Small, args: Problem) -> Small:
    """Gradient flow of the small closure."""
    r, M = drives(y.G, y.S, args)
    A2 = args.output_norm
    dG = y.c * r + A2 * (y.VV @ r)
    dc = 2 * A2 * (r @ y.G)  # Eq. (5)
    return Small(dG, dc, _value_flow(y.VV, y.G, r), *_attention_flow(y.S, y.KK, y.QQ, M))


def six_families_field(t, y: SixFamilies, args: SixFamiliesArgs) -> SixFamilies:
    """Gradient flow of the six families (Eqs. 6 and 7, Lemmas C.1 to C.4)."""
    problem, a = args
    G = a @ y.A
    r, M = drives(G, y.S, problem)
    dA = jnp.outer(y.B @ a, r) + jnp.outer(a, y.VV @ r)
    Ar = y.A @ r
    dB = jnp.outer(Ar, a) + jnp.outer(a, Ar)
    return SixFamilies(dA, dB, _value_flow(y.VV, G, r), *_attention_flow(y.S, y.KK, y.QQ, M))


def invariants(y: Small, output_norm) -> dict[str, Array]:
    """Constants of motion, the first two traces of ΓJ for the value and for the attention Gram matrix."""
    A2 = output_norm
    return {
        "value_trace": y.c - A2 * jnp.trace(y.VV),
        "value_square": (y.VV**2).sum() - 2 * (y.G**2).sum() / A2 + y.c**2 / A2**2,
        "attention_trace": jnp.trace(y.KK) - jnp.trace(y.QQ),
        "attention_square": (y.KK**2).sum() + (y.QQ**2).sum() - 2 * (y.S**2).sum(),
    }


def value_gram(y: Small, output_norm):
    """Γ_V = [W_V, u/|a|]ᵀ[W_V, u/|a|]."""
    g = y.G / jnp.sqrt(output_norm)
    return jnp.block([[y.VV, g[:, None]], [g[None, :], (y.c / output_norm).reshape(1, 1)]])


def attention_gram(y: Small):
    """Γ_A = [W_K, W_Q]ᵀ[W_K, W_Q]."""
    return jnp.block([[y.KK, y.S], [y.S.T, y.QQ]])
