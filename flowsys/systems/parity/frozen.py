"""Forms of the block that infinite width has: frozen gates, and a finite design of neurons with live ones.

While no gate flips the network is linear given the query token, T = P + Σ_j s_j K_j, with K_{q,t} the output on key t
of the neurons active on query token q (the paper's Δ is -K). With Γ the overlap of the active neurons,

    dK/dt = -Γ ∂_K L,     dP/dt = -diag(Γ) ∂_P L,     da/dt = -∂_a L,

and the width enters through Γ alone; at infinite width Γ = (I + 11ᵀ)/(8m). There K = D + 1·Σ_query D splits into an
own part and a common mode, dD/dt = -∂_K L/(8m), and only own parts on tokens that tell about the label leave 0.

The balanced design has one neuron per sign pattern of ν on the 2k-1 query tokens that occur, and per sign of h, each
standing for all with that pattern: exact at infinite width with live gates, m being the ratio of time scales.
"""

from typing import Any

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model.starts import generator
from flowsys.systems.parity.data import all_bits
from flowsys.systems.parity.model import (
    Network,
    attention,
    draw_signs,
    embeddings,
    loss_of_margin,
    neuron_blocks,
    output_weights,
    parity_of,
)

LARGEST_BALANCED_K = 5


def gate_overlaps(signs: np.ndarray, h: np.ndarray, mobility: float = 1.0) -> np.ndarray:
    """Γ_{q,q'} = Σ_r h_r² 1(ν_{r,q} > 0) 1(ν_{r,q'} > 0)."""
    active = (signs > 0) * h[:, None]
    return mobility * active.T @ active


def root(Γ: np.ndarray) -> np.ndarray:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(Γ)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


class Frozen:
    """Outputs P, K of the neurons that were active at the start, and scores a; Γ is data, by its square root."""

    has_gates = False

    def scores(self, w: Any) -> Any:
        return w.a

    def frozen(self, ops: Any, w: Any, p: Any) -> tuple[Any, Any]:
        """P and K move with diag(Γ) and Γ: by gradient flow of what √Γ is applied to."""
        return w.P_0 + ops.sqrt((w.root**2).sum(axis=1)) * w.P, w.root @ w.theta

    def margins(self, ops: Any, w: Any, X: Any, p: Any) -> Any:
        P, K = self.frozen(ops, w, p)
        return -X.sign * (P[X.query] + (attention(ops, w.a, X) * K[X.query]).sum(axis=-1))

    def loss(self, ops: Any, w: Any, X: Any, p: Any) -> Any:
        return loss_of_margin(ops, self.margins(ops, w, X, p), p.loss).sum(axis=-1)


class Limit(Frozen):
    """The same at infinite width, in own parts: K = D + 1·Σ_query D; P stays 0 under the linear loss."""

    def frozen(self, ops: Any, w: Any, p: Any) -> tuple[Any, Any]:
        P = w.P if p.loss == "hinge" else 0 * w.D[:, 0]
        return P, w.D + w.D.sum(axis=0)


def sampled_start(p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Γ and P of the neurons that a run of this seed and width starts with."""
    if np.isfinite(p.d):
        raise InputError(f"d = {p.d} is not allowed with variant = frozen: it has orthonormal tokens, d = inf.")
    signs = draw_signs(generator(p.seed, "nu"), p.width, 2 * parity_of(p).n_queries)
    h = output_weights(p.width)
    return gate_overlaps(signs, h, p.width / p.m), p.epsilon * ((signs > 0) * h[:, None]).sum(axis=0)


def frozen_blocks(p: Any) -> dict[str, fs.Direct]:
    """√Γ and P of sampled neurons, which stay, and what moves: K = √Γ θ, P, and a."""
    E, (Γ, P) = embeddings(p), sampled_start(p)
    q = E.query_names
    return {
        "root": fs.Direct(q, q, start=root(Γ), trains=False),
        "P_0": fs.Direct(q, start=P, trains=False),
        "P": fs.Direct(q),
        "theta": fs.Direct(q, E.key_names, read=(None, E.keys)),
        "a": fs.Direct(E.key_names, q, read=(E.keys, None)),
    }


def limit_blocks(p: Any) -> dict[str, fs.Direct]:
    """Own parts D, whose metric undoes the common mode, and a; P moves under the hinge alone."""
    E = embeddings(p)
    q = len(E.query_names)
    found = {
        "D": fs.Direct(
            E.query_names, E.key_names, rate=1 / (8 * p.m), read=(root(np.linalg.inv(np.eye(q) + 1.0)), E.keys)
        ),
        "a": fs.Direct(E.key_names, E.query_names, read=(E.keys, None)),
    }
    return {"P": fs.Direct(E.query_names, rate=1 / (4 * p.m)), **found} if p.loss == "hinge" else found


def balanced_signs(n_query_tokens: int) -> np.ndarray:
    """Signs of ν (N × 2k), first for h > 0; token (n+1, 1) never occurs and gets the sign +1."""
    patterns = np.insert(2.0 * all_bits(n_query_tokens - 1) - 1.0, 1, 1.0, axis=1)
    return np.concatenate([patterns, patterns])


def balanced_blocks(p: Any) -> dict[str, fs.Direct]:
    """Assumption 1 on the balanced neurons."""
    if p.k > LARGEST_BALANCED_K:
        raise InputError(
            f"k = {p.k} is not allowed with variant = balanced: a neuron for each of 2^(2k-1) sign patterns, so "
            f"k <= {LARGEST_BALANCED_K}."
        )
    signs = balanced_signs(2 * parity_of(p).n_queries)
    return neuron_blocks(p, len(signs), p.epsilon * signs, len(signs) / (2 * p.m))


BALANCED = Network(lambda p: output_weights(2 ** (2 * parity_of(p).n_queries - 1)))
