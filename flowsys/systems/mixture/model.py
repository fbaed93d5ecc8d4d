"""The two-head softmax transformer of the paper and its logistic loss, written once (Sec. 2, Eq. (1)).

    H_h(X) = Σ_l Σ_i (w_hᵀ x_i) p_il,   p_·l = softmax_i(x_iᵀ S_h x_l),   S_h = W_Kᵀ W_Q  (key, query),
    f(X) = σ(H_+(X) + b) - σ(H_-(X) + b),   loss = log(1 + e^(-y f)).

A token is a signed basis vector: an index into w and into both sides of S, and a sign. `ops` is `flowsys.model.ops` for
JAX arrays or `flowsys.symbolic.primitives` for arrays of sympy symbols; X are the declared samples, or an `Orbit`.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import flowsys as fs

HEADS = ("plus", "minus")


def tokens(K: int) -> list[str]:
    """The orthonormal tokens: group signals, then classification signals."""
    return [f"{x}{k + 1}" for x in "cv" for k in range(K)]


def blocks(p) -> dict[str, fs.Direct | fs.Pair]:
    """Neurons w_± from 0 (or Gaussian and frozen), keys and queries N(0, ω²/m) (Algorithm 1; App. A.2)."""
    frozen = p.mode == "attention_only"
    start = (lambda rng, σ=p.sigma_w, K=p.K: σ * rng.standard_normal((2, 2 * K))) if frozen else 0.0
    return {
        "w": fs.Direct(HEADS, tokens(p.K), start=start),
        "S": fs.Pair(tokens(p.K), tokens(p.K), scale=p.omega, heads=HEADS),
    }


class Sequence(NamedTuple):
    """Keys and queries of one or many samples, on the last axis; `counts`: how many equal tokens a key stands for."""

    keys: Any
    signs: Any
    queries: Any
    query_signs: Any
    counts: Any = None


class Orbit(SimpleNamespace):
    """A sample of the limit up to symmetry, label +1: `sequence` holds the queries of its own group.

    What is summed over its distractors' queries is known: `preactivations` and `output`, `distractors_on[head][key]`.
    """


def sequence_of(X) -> Sequence:
    """In declared samples every token is a key and a query."""
    return X.sequence if isinstance(X, Orbit) else Sequence(X.keys, X.signs, X.keys, X.signs)


def attention_scores(S, sequence: Sequence):
    """x_iᵀ S x_l for every key i (second to last axis) and query l (last axis)."""
    signs = sequence.signs[..., :, None] * sequence.query_signs[..., None, :]
    return signs * S[sequence.keys[..., :, None], sequence.queries[..., None, :]]


def attention(ops, S, sequence: Sequence):
    """p_il: softmax over keys."""
    counts = None if sequence.counts is None else sequence.counts[:, None]
    return ops.softmax(attention_scores(S, sequence), counts, axis=-2)


def head_output(ops, w, S, sequence: Sequence):
    """H(X) = Σ_l Σ_i (wᵀ x_i) p_il: softmax over keys, sum over queries."""
    values, counts = w[sequence.keys] * sequence.signs, sequence.counts
    means = ops.attend(values[..., :, None], attention_scores(S, sequence),
                       None if counts is None else counts[:, None], axis=-2)  # fmt: skip
    return means.sum(axis=-1)


def preactivations(ops, w, X, p) -> list:
    """H_h(X) + b of both heads."""
    if isinstance(X, Orbit):
        return X.preactivations
    return [head_output(ops, w.w[h], w.S[h], sequence_of(X)) + p.b for h in (0, 1)]


def network_output(ops, preactivation_plus, preactivation_minus):
    """f = σ(H_+ + b) - σ(H_- + b)."""
    return ops.relu(preactivation_plus) - ops.relu(preactivation_minus)


def margins(ops, w, X, p):
    """y f of every sample."""
    return X.output if isinstance(X, Orbit) else X.y * network_output(ops, *preactivations(ops, w, X, p))


def sample_loss(ops, w, X, p):
    """log(1 + e^(-y f(X)))."""
    return ops.softplus(-margins(ops, w, X, p))
