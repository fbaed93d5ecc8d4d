"""The two-head softmax transformer of the paper and its logistic loss, written once (Sec. 2, Eq. (1)).

    H_h(X) = Σ_l Σ_i (w_hᵀ x_i) p_il,   p_·l = softmax_i(x_iᵀ S_h x_l),   S_h = W_Kᵀ W_Q  (key, query),
    f(X) = σ(H_+(X) + b) - σ(H_-(X) + b),   loss = log(1 + e^(-y f)).

A token is a signed basis vector: an index into w and into both sides of S, and a sign. `ops` is `flowsys.model.ops` for
JAX arrays or `flowsys.symbolic.primitives` for arrays of sympy symbols.
"""

from typing import Any, NamedTuple

import flowsys as fs

HEADS = ("plus", "minus")


class Sequence(NamedTuple):
    """Keys and queries of one or many samples; the last axis runs over them.

    A key of multiplicity n stands for n equal tokens, a query of multiplicity n contributes n times; counts of None
    mean that every token stands for itself.
    """

    keys: Any
    key_signs: Any
    queries: Any
    query_signs: Any
    key_counts: Any = None
    query_counts: Any = None


def attention_scores(S, sequence: Sequence):
    """x_iᵀ S x_l for every key i (second to last axis) and query l (last axis)."""
    signs = sequence.key_signs[..., :, None] * sequence.query_signs[..., None, :]
    return signs * S[sequence.keys[..., :, None], sequence.queries[..., None, :]]


def head_output(ops, w, S, sequence: Sequence):
    """H(X) = Σ_l Σ_i (wᵀ x_i) p_il: softmax over keys, sum over queries."""
    values = w[sequence.keys] * sequence.key_signs
    counts = None if sequence.key_counts is None else sequence.key_counts[..., :, None]
    means = ops.attend(values[..., :, None], attention_scores(S, sequence), counts, axis=-2)
    return (means if sequence.query_counts is None else means * sequence.query_counts).sum(axis=-1)


def network_output(ops, preactivation_plus, preactivation_minus):
    """f = σ(H_+ + b) - σ(H_- + b)."""
    return ops.relu(preactivation_plus) - ops.relu(preactivation_minus)


def logistic_loss(ops, label, output):
    """log(1 + e^(-y f))."""
    return ops.softplus(-label * output)


# -- declared: blocks of weights, and the loss of a sample -----------------------------------------------------------


def tokens(K: int) -> list[str]:
    """The orthonormal tokens: group signals, then classification signals."""
    return [f"c{k + 1}" for k in range(K)] + [f"v{k + 1}" for k in range(K)]


def blocks(p) -> dict[str, fs.Direct | fs.Pair]:
    """Neurons w_± from 0 (or Gaussian and frozen), keys and queries N(0, ω²/m) (Algorithm 1; App. A.2)."""
    frozen = p.mode == "attention_only"
    start = (lambda rng, σ=p.sigma_w, K=p.K: σ * rng.standard_normal((2, 2 * K))) if frozen else 0.0
    return {
        "w": fs.Direct(HEADS, tokens(p.K), start=start),
        "S": fs.Pair(tokens(p.K), tokens(p.K), scale=p.omega, heads=HEADS),
    }


def sequence_of(X) -> Sequence:
    """Declared samples: every token is a key and a query."""
    return Sequence(X.keys, X.signs, X.keys, X.signs)


def preactivations(ops, w, X, p) -> list:
    """H_h(X) + b of both heads."""
    return [head_output(ops, w.w[h], w.S[h], sequence_of(X)) + p.b for h in (0, 1)]


def sample_loss(ops, w, X, p):
    """log(1 + e^(-y f(X)))."""
    return logistic_loss(ops, X.y, network_output(ops, *preactivations(ops, w, X, p)))
